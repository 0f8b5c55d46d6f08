/* The heap: allocations do not overlap, freed memory is returned to the OS, and a pointer that must
 * not be freed is refused without corrupting anything (H22 and H26 to H29: metadata out of reach, a
 * full heap, bad pointers, memory that is returned, odd sizes). */
#include "alloc/arena.c"

#include "core/barrier.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
enum { SLICE_MIB = 1024, CONTROL_MIB = 16, LIMIT_MIB = 512 };

static char *slice;
static int file;

static void open_slice(void)
{
    if (slice)
        return;
    thread_concurrent = true;
    file = memfd_create("arena", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(file, (off_t)(SLICE_MIB * MIB)), 0);
    slice =
        mmap(NULL, SLICE_MIB * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    ck_assert_ptr_ne(slice, MAP_FAILED);
    ck_assert(arena_open(slice, SLICE_MIB * MIB, CONTROL_MIB * MIB, LIMIT_MIB * MIB));
}

/* QEMU's emulation of a processor ignores MADV_REMOVE. */
static bool pages_can_be_freed(void)
{
    char *at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(at, MAP_FAILED);
    bool freed = memfd_punch(at, MIB);
    munmap(at, MIB);
    return freed;
}
#define SKIP_UNLESS_PAGES_CAN_BE_FREED() \
    SKIP_UNLESS(pages_can_be_freed(), "MADV_REMOVE frees nothing")

static size_t resident(void)
{
    struct stat status;
    fstat(file, &status);
    return (size_t)status.st_blocks * 512;
}

/* ---- allocating ---- */

struct piece {
    unsigned char *at;
    size_t size;
    unsigned char mark;
};

static void write_piece(struct piece *p, unsigned char mark)
{
    p->mark = mark;
    memset(p->at, mark, p->size);
}

static bool is_whole(const struct piece *p)
{
    return !p->size || (p->at[0] == p->mark && !memcmp(p->at, p->at + 1, p->size - 1));
}

static size_t any_size(struct chance *c)
{
    switch (below(c, 16)) {
    case 0:
        return 0;
    case 1:
        return below(c, 600 * 1024);
    case 2:
        return (size_t)1 << below(c, 18);
    default:
        return below(c, 3000);
    }
}

static struct piece get_piece(struct chance *c)
{
    size_t align = below(c, 4) ? ARENA_GRAIN : (size_t)1 << below(c, 17);
    struct piece p = {.size = any_size(c)};
    p.at = arena_alloc(p.size, align);
    EXPECT(p.at, "no %zu bytes", p.size);
    EXPECT((uintptr_t)p.at % align == 0 && (uintptr_t)p.at % ARENA_GRAIN == 0);
    EXPECT((char *)p.at >= slice + CONTROL_MIB * MIB &&
           (char *)p.at + p.size <= slice + SLICE_MIB * MIB - LAYOUT_GAP);
    write_piece(&p, (unsigned char)any(c));
    return p;
}

enum { PIECES = 200 };

/* Threads exchange pieces through this table, so a piece is often freed by another thread. */
static struct piece table[PIECES];
static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct piece swap_piece(unsigned at, struct piece with)
{
    pthread_mutex_lock(&table_mutex);
    struct piece old = table[at];
    table[at] = with;
    pthread_mutex_unlock(&table_mutex);
    return old;
}

static void give_back_piece(struct piece old)
{
    if (!old.at)
        return;
    EXPECT(is_whole(&old), "somebody wrote into %zu bytes at %p", old.size, (void *)old.at);
    EXPECT(arena_free(old.at) == ARENA_FREED);
}

static void allocate_and_free(unsigned me)
{
    struct chance c = {me};
    unsigned rounds = effort(4000);
    for (unsigned i = 0; i < rounds; i++)
        give_back_piece(swap_piece(below(&c, PIECES), get_piece(&c)));
    all_here();
    for (unsigned i = me; i < PIECES; i += unit_ranks.size)
        give_back_piece(swap_piece(i, (struct piece){0}));
}

START_TEST(allocations_never_overlap)
{
    open_slice();
    for (unsigned size = 1; size <= 4; size += 3) {
        as_ranks(size, allocate_and_free);
        ck_assert_uint_eq(arena_use().live, 0);
    }
}
END_TEST

START_TEST(size_classes_are_computed_as_jemalloc_does)
{
    open_slice();
    struct chance c = {1};
    for (unsigned i = 0; i < 3000; i++) {
        size_t size = i < 500 ? i * 64 : (size_t)1 + any(&c) % ((size_t)1 << (6 + below(&c, 20)));
        void *at = arena_alloc(size, ARENA_GRAIN);
        ck_assert_ptr_nonnull(at);
        size_t usable = mpiaccel_je_malloc_usable_size(at);
        INSIST(usable >= size && usable == size_of_class(size_class_of(usable)) &&
                   live_at[((char *)at - heap.start) / ARENA_GRAIN] == size_class_of(usable),
               "%zu bytes are in the class of %zu", size, usable);
        ck_assert_int_eq(arena_free(at), ARENA_FREED);
    }
}
END_TEST

START_TEST(any_alignment_is_honoured)
{
    open_slice();
    for (size_t align = 1; align <= 64 * MIB; align *= 2)
        for (size_t size = 0; size < 3 * MIB; size = size * 7 + 1) {
            char *at = arena_alloc(size, align);
            INSIST(at && (uintptr_t)at % align == 0, "%zu bytes at a multiple of %zu", size, align);
            memset(at, 1, size);
            ck_assert_int_eq(arena_free(at), ARENA_FREED);
        }
    ck_assert_uint_eq(arena_use().live, 0);
}
END_TEST

START_TEST(size_zero_gives_a_pointer_that_can_be_freed)
{
    open_slice();
    void *a = arena_alloc(0, 1), *b = arena_alloc(0, 1);
    ck_assert(a && b && a != b);
    ck_assert_int_eq(arena_free(a), ARENA_FREED);
    ck_assert_int_eq(arena_free(b), ARENA_FREED);
    ck_assert_int_eq(arena_free(b), ARENA_BAD);
}
END_TEST

/* ---- bad pointers ---- */

START_TEST(a_pointer_that_is_not_live_is_refused)
{
    static const size_t sizes[] = {0, 1, 64, 65, 4096, 100000, 3 << 20, 20 << 20};
    open_slice();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t size = sizes[s];
        struct piece kept = {.at = arena_alloc(size, ARENA_GRAIN), .size = size};
        char *at = arena_alloc(size, ARENA_GRAIN);
        write_piece(&kept, 7);
        for (size_t inside = 1; inside < size; inside = inside * 2 + (s % 2))
            INSIST(arena_free(at + inside) == ARENA_BAD, "%zu into %zu bytes", inside, size);
        ck_assert_int_eq(arena_free(at), ARENA_FREED);
        for (int again = 0; again < 3; again++)
            ck_assert_int_eq(arena_free(at), ARENA_BAD);
        ck_assert_int_eq(arena_free(kept.at + 1), ARENA_BAD);
        struct piece next = {.at = arena_alloc(size, ARENA_GRAIN), .size = size};
        struct piece last = {.at = arena_alloc(size, ARENA_GRAIN), .size = size};
        write_piece(&next, 8);
        write_piece(&last, 9);
        ck_assert(is_whole(&kept) && is_whole(&next) && is_whole(&last));
        ck_assert_int_eq(arena_free(kept.at), ARENA_FREED);
        ck_assert_int_eq(arena_free(next.at), ARENA_FREED);
        ck_assert_int_eq(arena_free(last.at), ARENA_FREED);
    }
    ck_assert_uint_eq(arena_use().live, 0);
}
END_TEST

START_TEST(a_pointer_outside_the_heap_is_foreign)
{
    int here;
    open_slice();
    void *mallocs = malloc(100), *controls = arena_control_alloc(100);
    ck_assert_int_eq(arena_free(&here), ARENA_FOREIGN);
    ck_assert_int_eq(arena_free(mallocs), ARENA_FOREIGN);
    ck_assert_int_eq(arena_free(NULL), ARENA_FOREIGN);
    ck_assert_int_eq(arena_free(controls), ARENA_FOREIGN);
    ck_assert_int_eq(arena_free(heap.start - 1), ARENA_FOREIGN);
    ck_assert_int_eq(arena_free(heap.end), ARENA_FOREIGN);
    ck_assert_int_eq(arena_free(heap.end - 1), ARENA_BAD);
    ck_assert_int_eq(arena_free(heap.end - ARENA_GRAIN), ARENA_BAD);
    arena_control_free(controls);
    free(mallocs);
}
END_TEST

/* ---- room ---- */

/* This must be the first case to use the heap: later ones find no addresses that were never used.
 */
START_TEST(a_large_block_gets_used_and_new_addresses)
{
    void *small[4];
    SKIP_UNLESS_PAGES_CAN_BE_FREED();
    open_slice();
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_nonnull(small[i] = arena_alloc(LIMIT_MIB / 8 * MIB, ARENA_GRAIN));
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(arena_free(small[i]), ARENA_FREED);
    void *large = arena_alloc(LIMIT_MIB / 8 * 7 * MIB, ARENA_GRAIN);
    ck_assert_ptr_nonnull(large);
    ck_assert_int_eq(arena_free(large), ARENA_FREED);
}
END_TEST

/* Each unused piece is at an address that a large alignment needs. */
START_TEST(unused_memory_of_other_sizes_does_not_block_an_allocation)
{
    open_slice();
    for (size_t size = 64; size < 60 * ARENA_GRAIN * 1024; size += size / 4 / 64 * 64 + 64)
        for (int i = 0; i < 2; i++) {
            char *at = arena_alloc(size, 32 * MIB);
            INSIST(at, "%zu bytes", size);
            ck_assert_int_eq(arena_free(at), ARENA_FREED);
        }
}
END_TEST

START_TEST(a_full_heap_returns_null_and_recovers)
{
    enum { STEP_MIB = 24 };
    void *held[LIMIT_MIB / STEP_MIB + 1];
    open_slice();
    ck_assert_ptr_null(arena_alloc((LIMIT_MIB + 1) * MIB, ARENA_GRAIN));
    ck_assert_ptr_null(arena_alloc(SIZE_MAX, ARENA_GRAIN));
    ck_assert_ptr_null(arena_alloc(SIZE_MAX - 100, ARENA_GRAIN));
    ck_assert_ptr_null(arena_alloc((size_t)1 << 62, 4096));
    unsigned first = 0;
    for (int round = 0; round < 4; round++) {
        unsigned count = 0;
        while (count < sizeof held / sizeof *held &&
               (held[count] = arena_alloc(STEP_MIB * MIB, ARENA_GRAIN)))
            count++;
        ck_assert_uint_gt(count, LIMIT_MIB / STEP_MIB / 2);
        first = first ? first : count;
        ck_assert_uint_ge(count, first); /* nothing is lost */
        for (unsigned i = 0; i < count; i++)
            ck_assert_int_eq(arena_free(held[i]), ARENA_FREED);
    }
}
END_TEST

START_TEST(the_counts_are_right)
{
    open_slice();
    struct arena_use before = arena_use();
    void *a = arena_alloc(1000, ARENA_GRAIN), *b = arena_alloc(5 * MIB, ARENA_GRAIN);
    struct arena_use with = arena_use();
    ck_assert_uint_eq(with.allocations, before.allocations + 2);
    ck_assert_uint_ge(with.live, before.live + 1000 + 5 * MIB);
    ck_assert_uint_le(with.live, before.live + 1250 + 5 * MIB * 5 / 4);
    ck_assert_uint_ge(with.peak, with.live);
    arena_free(a);
    arena_free(b);
    arena_free(b);
    ck_assert_uint_eq(arena_use().live, before.live);
    ck_assert_uint_eq(arena_use().peak, with.peak);
}
END_TEST

/* ---- returning memory ---- */

START_TEST(freed_memory_is_returned_to_the_os)
{
    static const size_t sizes[] = {1000, 100000, MIB, 48 * MIB};
    SKIP_UNLESS_PAGES_CAN_BE_FREED();
    open_slice();
    give_back();
    size_t before = resident(), total = (effort(100) < 100 ? 48 : 96) * MIB;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t count = total / sizes[s], size = sizes[s];
        char **held = malloc(count * sizeof *held);
        for (size_t i = 0; i < count; i++) {
            held[i] = arena_alloc(size, ARENA_GRAIN);
            ck_assert_ptr_nonnull(held[i]);
            memset(held[i], 1, size);
        }
        ck_assert_uint_ge(resident(), before + total - MIB);
        for (size_t i = 0; i < count; i++)
            arena_free(held[i]);
        free(held);
        INSIST(resident() <= before + ARENA_KEEP + 2 * MIB, "%zu MiB stay of blocks of %zu",
               (resident() - before) / MIB, size);
    }
}
END_TEST

/* Allocate `count` blocks, write them, and free them. */
static void use_and_free(size_t size, size_t count)
{
    char *held[256];
    EXPECT(count <= sizeof held / sizeof *held);
    for (size_t i = 0; i < count; i++) {
        held[i] = arena_alloc(size, ARENA_GRAIN);
        EXPECT(held[i], "no %zu bytes", size);
        if (held[i])
            memset(held[i], 1, size);
    }
    for (size_t i = 0; i < count; i++)
        EXPECT(arena_free(held[i]) == ARENA_FREED);
}

/* Free blocks in a thread's cache cannot serve other sizes, so each size could add to them. */
START_TEST(freed_memory_of_several_sizes_is_returned)
{
    SKIP_UNLESS_PAGES_CAN_BE_FREED();
    open_slice();
    give_back();
    size_t before = resident();
    for (size_t size = MIB / 2; size < 8 * MIB; size = class_size(size + 1)) {
        use_and_free(size, min_size(60, ARENA_KEEP / size - 1));
        INSIST(resident() <= before + ARENA_KEEP + 2 * MIB, "%zu MiB stay after blocks of %zu",
               (resident() - before) / MIB, size);
    }
    no_failures();
}
END_TEST

/* Small blocks are cut from the memory of a large one, not from fresh memory. */
START_TEST(memory_of_a_large_block_serves_small_ones)
{
    open_slice();
    give_back();
    use_and_free(8 * MIB, 1);
    size_t before = resident();
    for (int round = 0; round < 20; round++)
        use_and_free(32 << 10, 16);
    ck_assert_uint_le(resident(), before + MIB);
    no_failures();
}
END_TEST

enum { IDLE_RANKS = 3 };

/* Each rank in turn frees nearly as much as may be kept. */
static void free_in_turn(unsigned me)
{
    size_t before = resident();
    for (size_t size = MIB / 2; size < 8 * MIB; size = class_size(size + 1))
        for (unsigned turn = 0; turn < IDLE_RANKS; turn++) {
            all_here();
            if (me == turn)
                use_and_free(size, min_size(60, ARENA_KEEP / size - 1));
            all_here();
            size_t most = ARENA_KEEP + (IDLE_RANKS - 1) * ARENA_CACHE + 2 * MIB;
            EXPECT(resident() <= before + most, "%zu MiB stay after blocks of %zu",
                   (resident() - before) / MIB, size);
        }
}

START_TEST(idle_threads_do_not_keep_freed_memory)
{
    SKIP_UNLESS_PAGES_CAN_BE_FREED();
    open_slice();
    give_back();
    as_ranks(IDLE_RANKS, free_in_turn);
}
END_TEST

/* One rank fills its cache with blocks of all sizes. Another one returns everything else. */
static void fill_a_cache(unsigned me)
{
    size_t before = resident();
    all_here();
    for (size_t size = ARENA_GRAIN; me == 0 && size < 2 * MIB; size = class_size(size + 1))
        use_and_free(size, size < 1024 ? 256 : size < 16384 ? 24 : 3);
    all_here();
    if (me == 1)
        give_back();
    all_here();
    EXPECT(resident() <= before + ARENA_CACHE, "%zu KiB", (resident() - before) / 1024);
    EXPECT(resident() >= before + MIB, "nothing was in a cache: %zu KiB",
           (resident() - before) / 1024);
    all_here(); /* a thread that ends gives up its cache */
}

START_TEST(a_thread_caches_only_a_little)
{
    SKIP_UNLESS_PAGES_CAN_BE_FREED();
    open_slice();
    give_back();
    as_ranks(2, fill_a_cache);
}
END_TEST

/* Some memory stays ready, so allocating and freeing in turn needs no system call. */
static void stays_ready(size_t size)
{
    char *at = arena_alloc(size, ARENA_GRAIN);
    memset(at, 1, size);
    size_t with = resident();
    for (int i = 0; i < 5; i++) {
        arena_free(at);
        INSIST(resident() + MIB >= with, "%zu bytes were returned", size);
        ck_assert_ptr_nonnull(at = arena_alloc(size, ARENA_GRAIN));
    }
    arena_free(at);
}

START_TEST(some_memory_stays_ready)
{
    open_slice();
    give_back();
    stays_ready(4 * MIB);
    stays_ready(16 * MIB);
}
END_TEST

enum { SCATTERED = 96 * 1024, EACH = 4 };
static void *scattered[SCATTERED];

/* One block per page stays live, so most of the memory is unused and cannot be returned. */
static void scatter_blocks(void)
{
    open_slice();
    for (size_t i = 0; i < SCATTERED; i++)
        ck_assert_ptr_nonnull(scattered[i] = arena_alloc(1024, ARENA_GRAIN));
    for (size_t i = 0; i < SCATTERED; i++)
        if (i % EACH)
            arena_free(scattered[i]);
    give_back();
}

START_TEST(some_memory_stays_ready_beside_scattered_blocks)
{
    scatter_blocks();
    ck_assert_int_gt(idle_bytes(arena_use().live), ARENA_KEEP);
    stays_ready(16 * MIB);
    for (size_t i = 0; i < SCATTERED; i += EACH)
        arena_free(scattered[i]);
}
END_TEST

static int by_address(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    return (x > y) - (x < y);
}

/* Blocks that fill the gaps between others use what could not be returned before. */
START_TEST(memory_is_returned_after_gaps_were_filled)
{
    SKIP_UNLESS_PAGES_CAN_BE_FREED();
    scatter_blocks();
    for (size_t i = 0; i < SCATTERED; i++)
        if (i % EACH)
            ck_assert_ptr_nonnull(scattered[i] = arena_alloc(1024, ARENA_GRAIN));
    qsort(scattered, SCATTERED, sizeof *scattered, by_address);
    for (size_t i = 0; i < SCATTERED / EACH * 3; i++)
        arena_free(scattered[i]);
    ck_assert_int_lt(idle_bytes(arena_use().live), 2 * ARENA_KEEP);
    for (size_t i = SCATTERED / EACH * 3; i < SCATTERED; i++)
        arena_free(scattered[i]);
}
END_TEST

/* ---- the control part ---- */

/* This fails if jemalloc keeps the extents, which it never joins. */
START_TEST(ranges_freed_in_pieces_can_be_taken_as_a_large_one)
{
    enum { LARGE_ONES = 60 };
    void *piece[LARGE_ONES];
    SKIP_UNLESS_PAGES_CAN_BE_FREED();
    open_slice();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < LARGE_ONES; i++)
            ck_assert_ptr_ne(piece[i] = arena_alloc(5 * MIB, ARENA_GRAIN), NULL);
        for (int i = 0; i < LARGE_ONES; i++)
            ck_assert_int_eq(arena_free(piece[(i * 7) % LARGE_ONES]), ARENA_FREED);
        void *large = arena_alloc(400 * MIB, ARENA_GRAIN);
        ck_assert_ptr_ne(large, NULL);
        ck_assert_int_eq(arena_free(large), ARENA_FREED);
    }
}
END_TEST

/* The child of a thread that forks while another thread is inside the allocator (H6: fork). Returns
 * whether it could free and allocate. */
static bool allocates_in_child(void *block, size_t size)
{
    pthread_mutex_lock(&heap.purge_mutex);
    pthread_mutex_lock(&heap.mutex);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL); /* Check's handler would end the parent, too */
        alarm(10);
        bool freed = arena_free(block) == ARENA_FREED;
        give_back();
        _exit(!freed || !arena_alloc(2 * size, ARENA_GRAIN)); /* takes new addresses */
    }
    pthread_mutex_unlock(&heap.mutex);
    pthread_mutex_unlock(&heap.purge_mutex);
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && !status;
}

START_TEST(a_child_of_fork_allocates_and_frees_no_pages_of_its_parent)
{
#if defined(__SANITIZE_THREAD__)
    return; /* it aborts if a thread holds more than 64 mutexes, as jemalloc does during a fork */
#endif
    size_t size = 2 * ARENA_KEEP;
    open_slice();
    char *at = arena_alloc(size, ARENA_GRAIN);
    memset(at, 7, size);
    ck_assert(allocates_in_child(at, size));
    for (size_t i = 0; i < size; i += LAYOUT_PAGE)
        ck_assert_int_eq(at[i], 7);
    ck_assert_int_eq(arena_free(at), ARENA_FREED);
}
END_TEST

/* In a destructor that runs after jemalloc's own. */
static void allocate_at_the_end(void *unused)
{
    (void)unused;
    char *block = arena_alloc(100000, ARENA_GRAIN), *control_block = arena_control_alloc(100);
    EXPECT(!block || (block >= heap.start && block < heap.end), "%p", (void *)block);
    EXPECT(!control_block || (control_block >= slice && control_block < heap.start), "%p",
           (void *)control_block);
    if (block)
        EXPECT(arena_free(block) == ARENA_FREED);
    if (control_block)
        arena_control_free(control_block);
}

static void *allocate_and_end(void *key)
{
    char *block = arena_alloc(100000, ARENA_GRAIN);
    EXPECT(block && arena_free(block) == ARENA_FREED);
    pthread_setspecific(*(pthread_key_t *)key, key);
    return NULL;
}

START_TEST(a_thread_that_ends_gets_no_memory_from_elsewhere)
{
    pthread_key_t key;
    pthread_t thread;
    open_slice();
    struct arena_use before = arena_use();
    ck_assert_int_eq(pthread_key_create(&key, allocate_at_the_end), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, allocate_and_end, &key), 0);
    pthread_join(thread, NULL);
    pthread_key_delete(key);
    ck_assert_uint_eq(arena_use().live, before.live);
    no_failures();
}
END_TEST

enum { CONTROL_RANKS = 8 };

/* Nearly all memory is one unused extent, which jemalloc does not split for a much smaller one.
 * This must be the first case to use the control part: jemalloc keeps the last slab of each size
 * class, wherever it is. */
static void take_a_little_control_memory(unsigned me)
{
    static struct barrier_flag flags[CONTROL_RANKS];
    struct barrier together = {.flags = flags, .rank = me, .size = CONTROL_RANKS};
    for (unsigned round = 0; round < effort(400); round++) {
        if (me == 0) {
            void *most = arena_control_alloc_raw((CONTROL_MIB - 2) * MIB);
            EXPECT(most, "round %u", round);
            if (most)
                arena_control_free(most);
        }
        barrier_wait(&together);
        void *at = arena_control_alloc_raw(100000);
        EXPECT(at, "round %u", round);
        barrier_wait(&together);
        if (at)
            arena_control_free(at);
        barrier_wait(&together);
    }
}

START_TEST(a_thread_does_not_fail_while_another_one_purges)
{
    open_slice();
    as_ranks(CONTROL_RANKS, take_a_little_control_memory);
    no_failures();
}
END_TEST

START_TEST(reused_control_memory_is_zeroed)
{
    open_slice();
    struct chance c = {1};
    for (unsigned i = 0; i < 3000; i++) {
        size_t size = 1 + below(&c, below(&c, 10) ? 3000 : 300000);
        unsigned char *at = arena_control_alloc(size);
        INSIST(at && (uintptr_t)at % LINE == 0, "%zu bytes of control", size);
        INSIST((char *)at >= slice && (char *)at + size <= slice + CONTROL_MIB * MIB, "outside");
        INSIST(at[0] == 0 && !memcmp(at, at + 1, size - 1), "%zu bytes are not zero", size);
        memset(at, 0xee, size);
        arena_control_free(at);
    }
    ck_assert_ptr_null(arena_control_alloc((CONTROL_MIB + 1) * MIB));
}
END_TEST

/* Most communicators use the first page of their mailbox only. */
START_TEST(unused_pages_of_control_memory_take_no_memory)
{
    enum { BLOCKS = 40, BLOCK = 36 << 10 };
    SKIP_UNLESS_PAGES_CAN_BE_FREED(); /* other cases have used this memory */
    open_slice();
    region_purge(&control);
    size_t before = resident(), page = (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < BLOCKS; i++) {
        char *at = arena_control_alloc(BLOCK);
        INSIST(at, "block %u", i);
        at[0] = 1;
    }
    size_t most = BLOCKS * 2 * page, grown = resident() - before;
    INSIST(grown <= most, "%zu KiB of at most %zu", grown >> 10, most >> 10);
}
END_TEST

UNIT_MAIN(a_large_block_gets_used_and_new_addresses, allocations_never_overlap,
          size_classes_are_computed_as_jemalloc_does, size_zero_gives_a_pointer_that_can_be_freed,
          a_pointer_that_is_not_live_is_refused, a_pointer_outside_the_heap_is_foreign,
          the_counts_are_right, freed_memory_is_returned_to_the_os,
          freed_memory_of_several_sizes_is_returned, memory_of_a_large_block_serves_small_ones,
          idle_threads_do_not_keep_freed_memory, a_thread_caches_only_a_little,
          some_memory_stays_ready, some_memory_stays_ready_beside_scattered_blocks,
          memory_is_returned_after_gaps_were_filled, a_full_heap_returns_null_and_recovers,
          unused_memory_of_other_sizes_does_not_block_an_allocation, any_alignment_is_honoured,
          ranges_freed_in_pieces_can_be_taken_as_a_large_one,
          a_child_of_fork_allocates_and_frees_no_pages_of_its_parent,
          a_thread_does_not_fail_while_another_one_purges,
          a_thread_that_ends_gets_no_memory_from_elsewhere, reused_control_memory_is_zeroed,
          unused_pages_of_control_memory_take_no_memory)
