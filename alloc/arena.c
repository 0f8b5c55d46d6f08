#include "alloc/arena.h"

#include "alloc/region.h"
#include "core/huge_pages.h"
#include "core/layout.h"
#include "core/log.h"
#include "core/os_number.h"
#include "node/memfd.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* narenas: the default arena is used for metadata only. lg_tcache_max, tcache_nslots_large:
 * allocations up to 1 MiB, or from jemalloc 5.3.1 on up to eight pages, come from the thread's
 * cache, which keeps two blocks of each size class from 16 KiB on, and so at most ARENA_CACHE
 * bytes. Another thread can neither use nor return these blocks. Allocating and freeing a larger
 * block takes 0.2 microseconds longer.
 * tcache_nslots_small_min: the cache may keep as few as two blocks of a small size class. With
 * pages of 64 KiB, as on other processors than x86, classes up to 224 KiB count as small.
 * tcache_gc_incr_bytes: the cache is scanned after a gibibyte instead of 64 KiB.
 * lg_extent_max_active_fit: a small block may be cut from any free extent. By default jemalloc
 * takes fresh memory rather than splitting an extent of more than 64 times the size, and page
 * faults cost more than an accelerated call. muzzy_decay_ms: purged memory is returned at once.
 * retain: address ranges come back to `unused`, where neighbours are joined; jemalloc never joins
 * extents that it has got at different times. */
const char *je(malloc_conf) = "narenas:1,lg_tcache_max:20,tcache_nslots_large:2,"
#ifndef __x86_64__
                              "tcache_nslots_small_min:2,"
#endif
                              "tcache_gc_incr_bytes:1073741824,"
                              "lg_extent_max_active_fit:40,"
                              "muzzy_decay_ms:0,dirty_decay_ms:10000,retain:false";

static struct region heap, control, symmetric, early;
static uint8_t *live_at; /* per grain of the heap: size_class_of() the allocation there, or 0 */
static _Atomic uint64_t live, peak, allocations;
static size_t smallest_extent; /* the smallest size for which jemalloc makes an extent of its own */
static _Atomic uint64_t control_live;    /* bytes of all allocations in the control part */
static _Atomic uint64_t control_written; /* see arena_control_free_written() */
enum { MALLOC_THRESHOLD_MIN = 128 << 10, MALLOC_THRESHOLD_MAX = 32 << 20 }; /* glibc's limits */
static _Atomic uint64_t malloc_threshold = MALLOC_THRESHOLD_MIN; /* see raise_malloc_threshold() */
static _Atomic uint64_t low_water;              /* give_back() when fewer bytes are live */
static _Atomic int64_t idle_limit = ARENA_KEEP; /* give_back() when more bytes are idle */
static _Atomic uint64_t high_water;             /* lower_limit() when more bytes are live */

/* ---- opening ---- */

/* Do not keep large free extents beyond ARENA_KEEP. */
static bool limit_kept(const struct region *r)
{
    size_t mib[3], depth = 3, most = ARENA_KEEP;
    if (je(mallctlnametomib)("arena.0.oversize_threshold", mib, &depth))
        return false;
    mib[1] = r->arena;
    return !je(mallctlbymib)(mib, depth, NULL, NULL, &most, sizeof most);
}

static bool open_arena_in(struct region *r, char *start, size_t size, size_t map_unit,
                          drop_pages *drop)
{
    if (!region_open(r, start, size, map_unit, drop))
        return false;
    if (region_create_arena(r))
        return limit_kept(r);
    region_close(r);
    return false;
}

static bool read_smallest_extent(void)
{
    size_t length = sizeof smallest_extent;
    return !je(mallctl)("arenas.lextent.0.size", &smallest_extent, &length, NULL, 0);
}

static void report_no_memory(void)
{
    log_message(1, "no memory for the shared heap's book-keeping: MPI_Alloc_mem is left to the "
                   "host; lower MPIACCEL_HEAP_SIZE or lift `ulimit -v` or `-d`");
}

bool arena_open(char *slice, size_t size, size_t control_size, size_t limit)
{
    char *start = (char *)round_up((uintptr_t)slice + control_size, LAYOUT_PAGE);
    size_t room = (size_t)(slice + size - LAYOUT_GAP - start);
    room = round_down(min_size(room, limit), LAYOUT_PAGE);
    if (!open_arena_in(&control, slice, control_size, 0, memfd_punch) || !read_smallest_extent() ||
        !region_open(&heap, start, room, ARENA_GRAIN, memfd_punch)) {
        report_no_memory();
        return false;
    }
    live_at = heap.map;
    return true;
}

/* Returns `at` if it lies in the region; otherwise frees it and returns NULL. In a thread that is
 * ending, whose data jemalloc has already destroyed, jemalloc allocates from its default arena,
 * whichever arena is requested. */
static inline void *in_region(const struct region *r, void *at)
{
    if (LIKELY((size_t)((char *)at - r->start) < (size_t)(r->end - r->start)))
        return at;
    je(free)(at);
    return NULL;
}

/* ---- the heap ---- */

static bool heap_is_ready;

static void create_heap_arena(void)
{
    heap.advises_huge_pages = huge_pages_of_shared_memory() == HUGE_PAGES_ADVISED;
    heap_is_ready = region_create_arena(&heap) && limit_kept(&heap);
    if (!heap_is_ready)
        report_no_memory();
}

/* Use the heap's arena for allocations of this thread. The first thread that allocates creates the
 * arena, because many programs never allocate here. */
static COLD bool bind_thread(struct thread *thread)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, create_heap_arena);
    if (!heap_is_ready || je(mallctl)("thread.arena", NULL, NULL, &heap.arena, sizeof heap.arena))
        return false;
    thread->heap_bound = true;
    return true;
}

/* The bytes that jemalloc has and the program does not use, if `used` bytes are live: ready for
 * other allocations, lost between live blocks, or in a thread's cache. An allocation is counted as
 * live before jemalloc performs it, so with several threads the result may be too low, but not too
 * high: set_limits() must not treat another thread's new block as memory that cannot be returned.
 */
static inline int64_t idle_bytes(uint64_t used)
{
    return (int64_t)(atomic_load_explicit(&heap.granted, memory_order_relaxed) +
                     atomic_load_explicit(&early.granted, memory_order_relaxed) - used);
}

/* Allow ARENA_KEEP more idle bytes than there are now. */
static int64_t limit_now(uint64_t used)
{
    int64_t now = idle_bytes(used);
    return (now > 0 ? now : 0) + (int64_t)ARENA_KEEP;
}

static void set_limits(void)
{
    const uint64_t little = 64 << 10;
    uint64_t used = atomic_load_explicit(&live, memory_order_relaxed);
    atomic_store_explicit(&low_water, used / 2 < little ? 0 : used / 2, memory_order_relaxed);
    atomic_store_explicit(&high_water, used + ARENA_KEEP, memory_order_relaxed);
    atomic_store_explicit(&idle_limit, limit_now(used), memory_order_relaxed);
}

/* Lower the limit of idle bytes, because new allocations may have used memory that could not be
 * returned. */
static COLD void lower_limit(void)
{
    uint64_t used = atomic_load_explicit(&live, memory_order_relaxed);
    int64_t limit = limit_now(used);
    atomic_store_explicit(&high_water, used + ARENA_KEEP, memory_order_relaxed);
    if (limit < atomic_load_explicit(&idle_limit, memory_order_relaxed))
        atomic_store_explicit(&idle_limit, limit, memory_order_relaxed);
}

/* Return all memory that can be returned. The rest lies between live blocks or in the caches of
 * other threads. It does not count towards ARENA_KEEP: otherwise every later MPI_Free_mem would try
 * again, and a program that allocates and frees in turn would get its pages from the OS each time.
 *
 * Memory that is freed in random order empties few pages at first and most of them at the end. So
 * a purge is repeated whenever the live memory has halved.
 *
 * A purge takes milliseconds. Because of the first set_limits(), other threads that free memory in
 * the meantime do not purge too. */
static COLD void give_back(void)
{
    set_limits();
    je(mallctl)("thread.tcache.flush", NULL, NULL, NULL, 0);
    region_purge(&heap);
    region_purge(&early);
    set_limits();
}

static void count_allocation(uint64_t now)
{
    counter_add(&allocations, 1);
    if (now > atomic_load_explicit(&peak, memory_order_relaxed))
        atomic_store_explicit(&peak, now, memory_order_relaxed);
    if (UNLIKELY(now > atomic_load_explicit(&high_water, memory_order_relaxed)))
        lower_limit();
}

static inline void count_free(size_t size)
{
    uint64_t left = counter_add(&live, -(uint64_t)size);
    if (UNLIKELY(idle_bytes(left) > atomic_load_explicit(&idle_limit, memory_order_relaxed) ||
                 left < atomic_load_explicit(&low_water, memory_order_relaxed)))
        give_back();
}

/* jemalloc's size classes, four per doubling, are (4 + m) << e. Computing them saves a call. The
 * class of a multiple of the grain is itself a multiple of the grain. */
static inline size_t class_size(size_t size)
{
    size_t step = (size_t)1 << (61 - __builtin_clzl(size - 1));
    return round_up(size, step);
}

static inline uint8_t size_class_of(size_t size)
{
    size_t e = 61 - (size_t)__builtin_clzl(size);
    return (uint8_t)(4 * e + (size >> e & 3));
}

static inline size_t size_of_class(uint8_t class)
{
    return (size_t)(4 + class % 4) << class / 4;
}

static COLD size_t aligned_size(size_t size, size_t align)
{
    size_t usable = je(nallocx)(size, MALLOCX_ALIGN(align));
    return usable ? usable : size; /* 0: too large, so je_aligned_alloc() will fail */
}

/* The size of the block that an allocation gets. */
static inline size_t usable_size(size_t size, size_t align)
{
    size_t usable = size > ARENA_GRAIN ? class_size(round_up(size, ARENA_GRAIN)) : ARENA_GRAIN;
    return LIKELY(align <= ARENA_GRAIN) ? usable : aligned_size(usable, align);
}

static inline char *take_block(size_t usable, size_t align)
{
    void *at = LIKELY(align <= ARENA_GRAIN) ? je(malloc)(usable) : je(aligned_alloc)(align, usable);
    return in_region(&heap, at);
}

/* Unused memory of other size classes may occupy the room. */
static COLD char *take_after_all(size_t usable, size_t align)
{
    give_back();
    char *at = take_block(usable, align);
    if (!at)
        counter_add(&live, -(uint64_t)usable);
    return at;
}

void *arena_alloc(size_t size, size_t align)
{
    struct thread *thread = thread_self();
    if (UNLIKELY(!live_at || size > (size_t)(heap.end - heap.start)))
        return NULL;
    if (UNLIKELY(!thread->heap_bound) && !bind_thread(thread))
        return NULL;
    size_t usable = usable_size(size, align);
    uint64_t now = counter_add(&live, usable);
    char *at = take_block(usable, align);
    if (UNLIKELY(!at) && !(at = take_after_all(usable, align)))
        return NULL;
    assert(usable == je(malloc_usable_size)(at));
    live_at[(at - heap.start) / ARENA_GRAIN] = size_class_of(usable);
    count_allocation(now);
    return at;
}

enum { CLEAR_BY_PAGES = 65536 };

void arena_clear(void *at, size_t size)
{
    char *start = at, *end = start + size;
    char *pages = (char *)round_up((uintptr_t)start, LAYOUT_PAGE);
    char *pages_end = end - (uintptr_t)end % LAYOUT_PAGE;
    if (size <= CLEAR_BY_PAGES || pages >= pages_end ||
        !region_drop(&heap, pages, (size_t)(pages_end - pages))) {
        memset(start, 0, size);
        return;
    }
    memset(start, 0, (size_t)(pages - start));
    memset(pages_end, 0, (size_t)(end - pages_end));
}

/* Freeing a large block makes glibc serve blocks of that size from its heap, and keep twice as much
 * free memory at the heap's end (M_MMAP_THRESHOLD and M_TRIM_THRESHOLD in mallopt(3)). The hosts'
 * MPI_Alloc_mem is malloc(), so a program that frees large buffers makes the host's temporary
 * buffers cheap. Without this they would be mapped, or given back, in every call: MPICH's
 * MPI_Ireduce of 256 KiB took 3 times as long. */
static COLD void raise_malloc_threshold(size_t size)
{
    atomic_store_explicit(&malloc_threshold, size, memory_order_relaxed);
    void *volatile block = malloc(size); /* volatile: the compiler must keep the pair of calls */
    free(block);
}

enum arena_answer arena_free(void *at)
{
    char *p = at;
    if (!live_at || p < heap.start || p >= heap.end)
        return ARENA_FOREIGN;
    size_t offset = (size_t)(p - heap.start);
    if (offset % ARENA_GRAIN || p >= atomic_load_explicit(&heap.prepared, memory_order_relaxed))
        return ARENA_BAD;
    uint8_t class = live_at[offset / ARENA_GRAIN];
    if (!class)
        return ARENA_BAD;
    live_at[offset / ARENA_GRAIN] = 0;
    struct thread *thread = thread_self();
    if (UNLIKELY(!thread->heap_bound))
        bind_thread(thread);
    size_t size = size_of_class(class);
    je(sdallocx)(p, size, 0);
    count_free(size);
    if (UNLIKELY(size > atomic_load_explicit(&malloc_threshold, memory_order_relaxed)) &&
        size <= MALLOC_THRESHOLD_MAX)
        raise_malloc_threshold(size);
    return ARENA_FREED;
}

struct arena_use arena_use(void)
{
    return (struct arena_use){atomic_load(&live), atomic_load(&peak), atomic_load(&allocations)};
}

/* ---- the control part ---- */

static _Atomic(release_memory *) release_kept;

void arena_control_when_full(release_memory *release)
{
    atomic_store_explicit(&release_kept, release, memory_order_relaxed);
}

/* From this size on, a block gets an extent of its own, although a jemalloc for pages of 64 KiB
 * cuts blocks of up to 224 KiB from slabs. In an extent, only the pages that are used take memory.
 * A block of a slab is written to become zero, so all its pages take memory. */
enum { CONTROL_EXTENT = 16 << 10 };

static void *control_take(size_t size, int flags)
{
    if (size >= CONTROL_EXTENT && size < smallest_extent)
        size = smallest_extent;
    flags |= MALLOCX_ARENA(control.arena) | MALLOCX_TCACHE_NONE | MALLOCX_ALIGN(LINE);
    return in_region(&control, je(mallocx)(size, flags));
}

/* The memory that its users keep may fill the control part, in blocks of sizes that do not fit.
 * jemalloc needs a whole extent for the first small block of a size class, which with pages of 64
 * KiB is often longer than any hole. */
static COLD void *control_take_when_full(size_t size, int flags)
{
    region_purge(&control);
    void *at = control_take(size, flags);
    release_memory *release = atomic_load_explicit(&release_kept, memory_order_relaxed);
    if (!at && release) {
        release();
        region_purge(&control);
        at = control_take(size, flags);
    }
    return at;
}

static void *control_alloc(size_t size, int zero)
{
    if (!live_at)
        return NULL;
    void *at = control_take(size, zero);
    if (UNLIKELY(!at))
        at = control_take_when_full(size, zero);
    if (at)
        counter_add(&control_live, je(sallocx)(at, 0));
    return at;
}

void *arena_control_alloc(size_t size)
{
    return control_alloc(size, MALLOCX_ZERO);
}

void *arena_control_alloc_raw(size_t size)
{
    return control_alloc(size, 0);
}

void arena_control_free(void *at)
{
    counter_add(&control_live, -(uint64_t)je(sallocx)(at, 0));
    je(dallocx)(at, MALLOCX_TCACHE_NONE);
}

/* A program that creates and frees in turn uses the same memory again, so it has few unused bytes.
 */
void arena_control_free_written(void *at, size_t written)
{
    arena_control_free(at);
    uint64_t freed = counter_add(&control_written, written);
    uint64_t unused = atomic_load_explicit(&control.granted, memory_order_relaxed) -
                      atomic_load_explicit(&control_live, memory_order_relaxed);
    if (freed > ARENA_CONTROL_KEEP && unused > ARENA_CONTROL_KEEP) {
        atomic_store_explicit(&control_written, 0, memory_order_relaxed);
        region_purge(&control);
    }
}

/* ---- the symmetric heap ---- */

bool arena_symmetric_open(char *start, size_t size, bool (*drop)(char *at, size_t size))
{
    return open_arena_in(&symmetric, start, size, ARENA_GRAIN, drop);
}

static uint8_t *symmetric_live_at(const char *at)
{
    return &symmetric.map[(at - symmetric.start) / ARENA_GRAIN];
}

void *arena_symmetric_alloc(size_t size, size_t align)
{
    if (size > (size_t)(symmetric.end - symmetric.start))
        return NULL;
    size_t grain = align > ARENA_GRAIN ? align : ARENA_GRAIN;
    int flags = MALLOCX_ARENA(symmetric.arena) | MALLOCX_TCACHE_NONE | MALLOCX_ALIGN(grain);
    char *at = in_region(&symmetric, je(mallocx)(size, flags));
    if (!at) {
        region_purge(&symmetric);
        at = in_region(&symmetric, je(mallocx)(size, flags));
    }
    if (at)
        *symmetric_live_at(at) = 1;
    return at;
}

bool arena_symmetric_is_live(const char *at)
{
    return at >= symmetric.start && at < symmetric.prepared &&
           (at - symmetric.start) % ARENA_GRAIN == 0 && *symmetric_live_at(at);
}

bool arena_symmetric_resize(void *at, size_t size)
{
    return je(xallocx)(at, size, 0, MALLOCX_TCACHE_NONE) >= size;
}

size_t arena_symmetric_usable(void *at)
{
    return je(sallocx)(at, 0);
}

void arena_symmetric_free(void *at)
{
    static size_t ready; /* freed since the last purge */
    *symmetric_live_at(at) = 0;
    ready += arena_symmetric_usable(at);
    je(dallocx)(at, MALLOCX_TCACHE_NONE);
    if (ready > ARENA_KEEP) {
        ready = 0;
        region_purge(&symmetric);
    }
}

/* ---- the early heap ---- */

enum { EARLY_GIB_MAX = 16 };

/* Each member needs address space for the early heaps of all members. */
size_t arena_early_size(size_t limit)
{
    size_t size = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 8;
    size = min_size(size, min_size(limit, (size_t)EARLY_GIB_MAX << 30));
    size = min_size(size, min_size(os_limit(RLIMIT_AS) / 64, os_limit(RLIMIT_FSIZE) / 4));
    return round_down(size, LAYOUT_PAGE);
}

void arena_early_open(char *start, size_t size)
{
    open_arena_in(&early, start, size, ARENA_GRAIN, memfd_punch);
}

void *arena_early_alloc(size_t size, size_t align)
{
    if (!early.map || size > (size_t)(early.end - early.start))
        return NULL;
    size_t grain = align > ARENA_GRAIN ? align : ARENA_GRAIN;
    size_t usable = usable_size(size, grain);
    uint64_t now = counter_add(&live, usable);
    int flags = MALLOCX_ARENA(early.arena) | MALLOCX_TCACHE_NONE | MALLOCX_ALIGN(grain);
    char *at = in_region(&early, je(mallocx)(usable, flags));
    if (!at) {
        counter_add(&live, -(uint64_t)usable);
        return NULL;
    }
    assert(usable == je(sallocx)(at, 0));
    early.map[(at - early.start) / ARENA_GRAIN] = 1;
    count_allocation(now);
    return at;
}

enum arena_answer arena_early_free(void *at)
{
    char *p = at;
    if (!early.map || p < early.start || p >= early.end)
        return ARENA_FOREIGN;
    uint8_t *is_live = &early.map[(p - early.start) / ARENA_GRAIN];
    if ((p - early.start) % ARENA_GRAIN || p >= early.prepared || !*is_live)
        return ARENA_BAD;
    *is_live = 0;
    size_t size = je(sallocx)(p, 0);
    je(dallocx)(p, MALLOCX_TCACHE_NONE);
    count_free(size);
    return ARENA_FREED;
}
