#include "heap/heap.h"

#include "core/config.h"
#include "core/huge_pages.h"
#include "core/layout.h"
#include "core/log.h"
#include "core/memory_left.h"
#include "core/os_number.h"
#include "heap/blocks.h"
#include "heap/interface.h"
#include "heap/limits.h"
#include "node/memfd.h"
#include "node/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define UPPER_HALF ((char *)(UINTPTR_MAX / 2 + 1)) /* addresses that no process has */
struct heap heap = {.start = UPPER_HALF, .minimum = SIZE_MAX};

static struct block_heap blocks;
static struct memfd file = {.file = -1};
static size_t page;    /* bytes */
static size_t longest; /* blocks are shorter */
static size_t keep = HEAP_KEEP, keep_most;
static uint32_t used; /* pages before this one have been in blocks */
static bool in_child, advise;
/* Recursive: hosts that watch the address space are called while it is locked, and may allocate
 * memory. */
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* During a fork no block is taken, grows, or gives its pages back to the OS. The mutex is not
 * locked meanwhile, since threads that hold locks for which fork() waits may allocate and free
 * memory, such as getline() in the lock of a stream. */
static bool forking;
static pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER; /* two threads may fork at once */
static struct {
    struct block_heap blocks;
    char *copy, *table; /* of all blocks; of the entries of their pages. NULL: none */
    size_t size, table_size;
} child; /* what a child gets */

static char *address_of_page(uint32_t at)
{
    return heap.start + at * page;
}

/* ---- the OS ---- */

enum { TABLE_STEP = 1 << 13 }; /* pages; their part of the table consists of whole pages */

/* Make the pages before `end` accessible. False: the OS refuses. */
static bool prepare_pages(uint32_t end)
{
    uint32_t from = blocks.ready;
    uint32_t to = (uint32_t)min_size(round_up(end, TABLE_STEP), heap.size / page);
    size_t bytes = (to - from) * page;
    if (mprotect(blocks.run + from, (to - from) * sizeof *blocks.run, PROT_READ | PROT_WRITE) ||
        mprotect(address_of_page(from), bytes, PROT_READ | PROT_WRITE))
        return false;
    madvise(address_of_page(from), bytes, MADV_DODUMP);
    if (advise)
        madvise(address_of_page(from), bytes, MADV_HUGEPAGE);
    blocks.ready = to;
    return true;
}

/* Free the pages of a block and give it back. The mutex is released meanwhile: a large block takes
 * milliseconds, and hosts that watch the address space are called. */
static bool drop_run(uint32_t at)
{
    size_t bytes = blocks_length(&blocks, at) * page;
    pthread_mutex_unlock(&mutex);
    bool dropped = memfd_punch(address_of_page(at), bytes);
    pthread_mutex_lock(&mutex);
    blocks_give(&blocks, at, dropped ? RUN_EMPTY : RUN_KEPT);
    return dropped;
}

/* Free the pages of unused runs until another `pages` pages may be kept. */
static void make_room(uint32_t pages)
{
    while (blocks.kept && (blocks.kept + pages) * page > keep)
        if (!drop_run(blocks_take_kept(&blocks)))
            break;
}

/* ---- blocks ---- */

static uint32_t pages_for(size_t bytes)
{
    return bytes ? (uint32_t)(round_up(bytes, page) / page) : 1;
}

/* Returns where in its first page the next block begins. The block has `room` bytes more than it
 * needs. Successive offsets are far from each other: a store shortly before a load from the same
 * offset in another page delays the load. */
static size_t next_offset(size_t room)
{
    enum { TURNS = 64, STEP = 23, LINE_BYTES = 64 };
    static unsigned turn;
    size_t lines = min_size(room, page - LINE_BYTES) / LINE_BYTES;
    turn = (turn + STEP) % TURNS;
    return turn * (lines + 1) / TURNS * LINE_BYTES;
}

static void raise_keep(size_t bytes)
{
    size_t wanted = min_size(bytes, keep_most);
    if (wanted > keep)
        keep = wanted;
}

/* Make room for a run behind all others. False: there is room already, or none can be made. */
static bool make_ready(uint64_t pages)
{
    uint64_t end = blocks.next + pages;
    return end > blocks.ready && end <= heap.size / page && prepare_pages((uint32_t)end);
}

static uint32_t take_run(uint32_t pages, uint32_t align, bool *is_empty)
{
    uint32_t at = blocks_take(&blocks, pages, align, is_empty);
    if (at == BLOCKS_NONE && make_ready((uint64_t)align - 1 + pages))
        at = blocks_take(&blocks, pages, align, is_empty);
    if (at != BLOCKS_NONE && *is_empty && at < used)
        raise_keep(pages * page);
    if (blocks.next > used)
        used = blocks.next;
    return at;
}

static void *address_of_block(uint32_t at)
{
    return address_of_page(at) + blocks.run[at].offset;
}

enum { ROOM = 1024 }; /* bytes for the offset, at least */

void *heap_take(size_t size, size_t align, bool zeroed)
{
    enum { ANY_ALIGN = 64 };
    uint32_t at = BLOCKS_NONE;
    bool is_empty, any_offset = align <= ANY_ALIGN;
    char *block = NULL;
    atomic_thread_fence(memory_order_acquire); /* after the caller has read `minimum` */
    if (size >= longest || align > heap.size)
        return NULL;
    uint32_t pages = pages_for(any_offset ? size + ROOM : size);
    pthread_mutex_lock(&mutex);
    if (!forking && !in_child)
        at = take_run(pages, align > page ? (uint32_t)(align / page) : 1, &is_empty);
    if (at != BLOCKS_NONE) {
        blocks.run[at].offset = any_offset ? (uint16_t)next_offset(pages * page - size) : 0;
        block = address_of_block(at);
    }
    pthread_mutex_unlock(&mutex);
    return block && zeroed && !is_empty ? memset(block, 0, size) : block;
}

/* The page at which a block begins. As in glibc, the program ends if none does. */
static uint32_t page_of(const void *block)
{
    size_t offset = (size_t)((const char *)block - heap.start);
    uint32_t at = (uint32_t)(offset / page);
    if (!blocks_length(&blocks, at) || offset % page != blocks.run[at].offset) {
        log_message(0, "free or realloc: no block of malloc begins at %p", block);
        abort();
    }
    return at;
}

size_t heap_usable(const void *block)
{
    pthread_mutex_lock(&mutex);
    uint32_t at = page_of(block);
    size_t bytes = blocks_length(&blocks, at) * page - blocks.run[at].offset;
    pthread_mutex_unlock(&mutex);
    return bytes;
}

bool heap_resize(void *block, size_t size)
{
    pthread_mutex_lock(&mutex);
    uint32_t at = page_of(block), length = blocks_length(&blocks, at);
    size_t offset = blocks.run[at].offset;
    bool fits = size <= length * page - offset;
    bool resized = fits || (size < longest && heap_wants(size) && !forking && !in_child);
    if (resized)
        resized = blocks_resize(&blocks, at, pages_for(size + offset));
    if (!forking && !in_child)
        make_room(0);
    pthread_mutex_unlock(&mutex);
    return resized;
}

void heap_give(void *block)
{
    int error = errno;
    pthread_mutex_lock(&mutex);
    uint32_t at = page_of(block), pages = blocks_length(&blocks, at);
    if (in_child)
        madvise(address_of_page(at), pages * page, MADV_DONTNEED);
    else if (!forking && pages * page <= keep)
        make_room(pages);
    if (!in_child && !forking && pages * page > keep)
        drop_run(at);
    else
        blocks_give(&blocks, at, RUN_KEPT);
    pthread_mutex_unlock(&mutex);
    errno = error;
}

/* ---- growing ---- */

/* Copy part of a block to pages that read as zeroes, but not its holes. */
static void copy_data(char *to, const char *from, size_t size, struct snapshot_extent *extent)
{
    uint64_t position = (uint64_t)(from - heap.start);
    for (size_t start, end = 0;
         snapshot_next_data(file.file, extent, position, size, &start, &end);)
        memcpy(to + start, from + start, end - start);
}

#define STEP ((size_t)1 << 20)

/* Whether all pages are in memory, so that none is a hole. To ask for the next hole instead may
 * take long: the OS would go through all data in front of it, also those of other blocks. */
static bool are_resident(char *first, size_t bytes)
{
    unsigned char resident[STEP / 4096];
    size_t pages = round_up(bytes, page) / page, i = 0;
    if (mincore(first, bytes, resident))
        return false;
    while (i < pages && resident[i] & 1)
        i++;
    return i == pages;
}

/* Move the contents of a block to pages that read as zeroes, and free the old ones in steps, so
 * that old and new ones do not take memory at the same time. False: the OS did not free all. */
static bool move_data(char *to, char *from, size_t size)
{
    bool dropped = true, is_open = memfd_is_open(&file);
    struct snapshot_extent extent = {0};
    for (size_t done = 0; done < size;) {
        char *first = (char *)round_down((uintptr_t)from + done, page);
        size_t bytes = min_size(size - done, (size_t)(first + STEP - (from + done)));
        if (!is_open || are_resident(first, (size_t)(from + done + bytes - first)))
            memcpy(to + done, from + done, bytes);
        else
            copy_data(to + done, from + done, bytes, &extent);
        done += bytes;
        dropped &= memfd_punch(first, round_up((size_t)(from + done - first), page));
    }
    return dropped;
}

/* Take pages for a block that has grown and will probably grow again. */
static uint32_t take_growing(uint32_t pages, bool *is_empty)
{
    uint32_t at = blocks_take_growing(&blocks, pages, pages, is_empty);
    if (at == BLOCKS_NONE && make_ready((uint64_t)pages * 2))
        at = blocks_take_growing(&blocks, pages, pages, is_empty);
    if (blocks.next > used)
        used = blocks.next;
    return at;
}

/* Shorter blocks are copied by the caller, which takes less time than to free their pages. */
void *heap_grow(void *block, size_t size)
{
    const size_t least = (size_t)512 << 10;
    if (size < least || size >= longest)
        return NULL;
    bool is_empty;
    uint32_t at = BLOCKS_NONE, pages = pages_for(size + ROOM);
    size_t usable = heap_usable(block);
    char *moved = NULL;
    pthread_mutex_lock(&mutex);
    if (!forking && !in_child)
        at = take_growing(pages, &is_empty);
    if (at != BLOCKS_NONE) {
        blocks.run[at].offset = (uint16_t)next_offset(pages * page - size);
        moved = address_of_block(at);
    }
    pthread_mutex_unlock(&mutex);
    if (moved && is_empty) {
        bool dropped = move_data(moved, block, usable);
        pthread_mutex_lock(&mutex);
        blocks_give(&blocks, page_of(block), dropped ? RUN_EMPTY : RUN_KEPT);
        pthread_mutex_unlock(&mutex);
    } else if (moved) {
        memcpy(moved, block, usable);
        heap_give(block);
    }
    return moved;
}

/* ---- fork ---- */

/* The file says which pages are holes, which need not be copied. */
static void copy_blocks(void)
{
    bool is_open = memfd_is_open(&file);
    struct snapshot_extent extent = {0};
    for (uint32_t at = 0; at < blocks.next; at += blocks.run[at].pages) {
        size_t bytes = blocks_length(&blocks, at) * page;
        char *to = child.copy + at * page;
        if (bytes && is_open)
            snapshot_copy(file.file, &extent, at * page, to, address_of_page(at), bytes);
        else if (bytes)
            memcpy(to, address_of_page(at), bytes);
    }
}

/* An upper limit of the bytes in live blocks that have ever been written. */
static size_t bytes_to_copy(void)
{
    size_t bytes = blocks.live * page;
    return memfd_is_open(&file) ? snapshot_bytes(file.file, bytes) : bytes;
}

/* With huge pages, page faults take less time. But if there are few bytes in many places, they take
 * many times as much memory. */
static void advise_copy(size_t bytes)
{
    madvise(child.copy, child.size, bytes >= child.size / 2 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

/* Without memory for a copy, the child gets a private mapping of the file: each page shows what the
 * parent writes until the child writes to it. This is right for a child that calls exec(). If the
 * program has closed the file, the child shares the blocks with its parent. */
static void copy_for_child(void)
{
    size_t bytes = bytes_to_copy();
    child.size = blocks.next * page;
    if (snapshot_has_room(bytes))
        child.copy = snapshot_map(-1, 0, child.size);
    if (child.copy) {
        advise_copy(bytes);
        copy_blocks();
        return;
    }
    if (memfd_is_open(&file))
        child.copy = snapshot_map(file.file, 0, child.size);
    log_once(
        0,
        "a child of fork sees what this process later writes to its large blocks of malloc, "
        "unless it calls exec: there is not enough memory for copies; run without --heap if that "
        "matters");
}

/* Other threads may free blocks while this one forks, so the child may find a table that is being
 * changed. */
static void copy_table(void)
{
    child.blocks = blocks;
    child.table_size = blocks.next * sizeof *blocks.run;
    child.table = child.table_size ? snapshot_map(-1, 0, child.table_size) : NULL;
    if (child.table)
        memcpy(child.table, blocks.run, child.table_size);
}

/* A thread that has been cancelled must not end here, with a mutex locked: fork() is no
 * cancellation point, but open() and read() are. */
static void heap_before_fork(void)
{
    int cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    pthread_mutex_lock(&fork_mutex);
    pthread_mutex_lock(&mutex);
    forking = true;
    copy_table();
    if (blocks.live && !in_child)
        copy_for_child();
    pthread_mutex_unlock(&mutex);
    pthread_setcancelstate(cancelling, NULL);
}

static void forget_copies(void)
{
    if (child.table)
        munmap(child.table, child.table_size);
    child.copy = child.table = NULL;
}

static void heap_in_parent(void)
{
    if (child.copy)
        munmap(child.copy, child.size);
    forget_copies();
    pthread_mutex_lock(&mutex);
    forking = false;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&fork_mutex);
}

static void heap_after_fork(void)
{
    if (child.copy && !snapshot_replace(heap.start, child.copy, child.size))
        log_message(0, "a child of fork shares large blocks of malloc with its parent: %m");
    if (child.table) {
        blocks = child.blocks;
        memcpy(blocks.run, child.table, child.table_size);
    }
    forget_copies();
    forking = false;
    in_child = true;
    heap.minimum = SIZE_MAX;
    mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    fork_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* ---- opening ---- */

/* Every member maps the heaps of all members. Usually there are as many members as processors. */
static size_t size_wanted(void)
{
    const size_t most = (size_t)64 << 30, most_in_all = (size_t)1 << 42;
    size_t processors = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * page;
    keep_most = min_size(memory, memory_left()) / processors / 8;
    size_t size = min_size(min_size(memory / 2, most), most_in_all / processors);
    size = min_size(size, os_limit(RLIMIT_FSIZE) / 4);
    if (config.heap_size)
        size = min_size(size, config.heap_size);
    return round_down(size, LAYOUT_PAGE);
}

/* Reserve addresses that begin where a huge page may begin. */
static char *reserve(size_t size)
{
    const size_t align = (size_t)2 << 20;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *all = mmap(NULL, size + align, PROT_NONE, flags, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    char *start = (char *)round_up((uintptr_t)all, align);
    if (start > all)
        munmap(all, (size_t)(start - all));
    munmap(start + size, (size_t)(all + align - start));
    return start;
}

static bool map(size_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    size_t table = size / page * sizeof(struct page_run);
    int new_file = memfd_out_of_way(memfd_create_growing(size));
    char *start = memfd_keep(&file, new_file) ? reserve(size) : NULL;
    struct page_run *run = start ? mmap(NULL, table, PROT_NONE, flags, -1, 0) : MAP_FAILED;
    if (run == MAP_FAILED || mmap(start, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                                  new_file, 0) == MAP_FAILED)
        return false;
    madvise(start, size, MADV_DONTDUMP);
    advise = huge_pages_of_shared_memory() == HUGE_PAGES_ADVISED;
    blocks_open(&blocks, run, (uintptr_t)start / page);
    __atomic_store_n(&heap.start, start, __ATOMIC_RELAXED);
    return true;
}

static void open_malloc_heap(void)
{
    config_read(environ, NULL);
    page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = size_wanted();
    const char *why_not = limits_obstacle();
    if (!why_not && !map(size))
        why_not = "there is no room for it";
    if (why_not) {
        log_message(1, "malloc does not use the shared heap: %s", why_not);
        return;
    }
    pthread_atfork(heap_before_fork, heap_in_parent, heap_after_fork);
    __atomic_store_n(&heap.size, size, __ATOMIC_RELAXED);
    longest = min_size(size, limits_block_length());
    if (longest < size)
        log_message(1,
                    "malloc takes only blocks of less than %zu bytes from the shared heap, because "
                    "longer ones have huge pages in private memory only",
                    longest);
    __atomic_store_n(&heap.minimum, config_heap_min(), __ATOMIC_RELEASE);
}

__attribute__((visibility("default"))) bool mpiaccel_malloc_heap_open_1(struct malloc_heap *opened)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_malloc_heap);
    *opened = (struct malloc_heap){file.file, heap.start, heap.size};
    return heap.size && !in_child && memfd_is_open(&file);
}

static int is_mpi(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash ? slash + 1 : object->dlpi_name;
    return !strncmp(name, "libmpi", 6) && strncmp(name, "libmpiaccel", 11) != 0;
}

/* A program that loads its MPI later, such as Python, gets the heap in MPI_Init. */
__attribute__((constructor)) static void begin(void)
{
    struct malloc_heap opened;
    if (dl_iterate_phdr(is_mpi, NULL))
        mpiaccel_malloc_heap_open_1(&opened);
}
