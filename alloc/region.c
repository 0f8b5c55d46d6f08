#include "alloc/region.h"

#include "core/layout.h"

#include <sys/mman.h>

static struct region *_Atomic regions; /* those with arenas */
static bool in_child;                  /* of fork */

/* ---- the hooks; by jemalloc's convention they return true on failure ---- */

/* The rest of the map must not be writable: under `ulimit -d` and with vm.overcommit_memory=2, the
 * OS counts writable private memory as used memory. */
static bool prepare_map(const struct region *r, size_t from, size_t to)
{
    if (!r->map)
        return true;
    from = round_down(from / r->map_unit, LAYOUT_PAGE);
    to = round_up(to / r->map_unit, LAYOUT_PAGE);
    return !mprotect(r->map + from, to - from, PROT_READ | PROT_WRITE);
}

/* Prepare the addresses before `end`, in steps, since each step takes two system calls. False: no
 * memory. */
static bool prepare_region(struct region *r, const char *end)
{
    const size_t step = (size_t)4 << 20;
    char *from = r->prepared;
    if (end <= from)
        return true;
    size_t more = min_size(round_up((size_t)(end - from), step), (size_t)(r->end - from));
    if (!prepare_map(r, (size_t)(from - r->start), (size_t)(from - r->start) + more))
        return false;
    madvise(from, more, MADV_DODUMP);
    if (r->advises_huge_pages)
        madvise(from, more, MADV_HUGEPAGE);
    r->prepared = from + more;
    return true;
}

/* Take addresses that were never used. */
static char *take_new_range(struct region *r, size_t size, size_t alignment)
{
    char *start = (char *)round_up((uintptr_t)r->next, alignment);
    if (start > r->end || size > (size_t)(r->end - start) || !prepare_region(r, start + size))
        return NULL;
    if (start > r->next && !ranges_give(&r->unused, r->next, (size_t)(start - r->next)))
        return NULL;
    r->next = start + size;
    return start;
}

static void *grow(extent_hooks_t *hooks, void *at, size_t size, size_t alignment, bool *zero,
                  bool *commit, unsigned arena)
{
    (void)arena;
    struct region *r = (struct region *)hooks;
    if (at) /* growing an extent in place is not supported */
        return NULL;
    pthread_mutex_lock(&r->mutex);
    char *start = ranges_take(&r->unused, size, alignment);
    if (!start)
        start = take_new_range(r, size, alignment);
    if (start)
        atomic_fetch_add_explicit(&r->granted, size, memory_order_relaxed);
    pthread_mutex_unlock(&r->mutex);
    *zero = true; /* a hole of the file */
    *commit = true;
    return start;
}

bool region_drop(struct region *r, char *at, size_t size)
{
    return !in_child && r->drop(at, size);
}

static bool purge(extent_hooks_t *hooks, void *at, size_t size, size_t offset, size_t length,
                  unsigned arena)
{
    (void)size, (void)arena;
    return !region_drop((struct region *)hooks, (char *)at + offset, length);
}

/* Make addresses available. The last unused range must not end at `next`: a large extent may need
 * it together with addresses that were never used. */
static bool give_addresses(struct region *r, char *at, size_t size)
{
    if (!ranges_give(&r->unused, at, size))
        return false;
    char *last = ranges_take_last(&r->unused, r->next);
    if (last)
        r->next = last;
    atomic_fetch_sub_explicit(&r->granted, size, memory_order_relaxed);
    return true;
}

/* Return the pages to the OS and keep the addresses. */
static bool return_pages(extent_hooks_t *hooks, void *at, size_t size, bool committed,
                         unsigned arena)
{
    (void)committed;
    struct region *r = (struct region *)hooks;
    if (purge(hooks, at, size, 0, size, arena))
        return true;
    pthread_mutex_lock(&r->mutex);
    bool given = give_addresses(r, at, size);
    pthread_mutex_unlock(&r->mutex);
    return !given;
}

static bool split(extent_hooks_t *hooks, void *at, size_t size, size_t a, size_t b, bool committed,
                  unsigned arena)
{
    (void)hooks, (void)at, (void)size, (void)a, (void)b, (void)committed, (void)arena;
    return false;
}

static bool merge_extents(extent_hooks_t *hooks, void *a, size_t a_size, void *b, size_t b_size,
                          bool committed, unsigned arena)
{
    (void)hooks, (void)a, (void)a_size, (void)b, (void)b_size, (void)committed, (void)arena;
    return false;
}

static const extent_hooks_t hooks_of_regions = {.alloc = grow,
                                                .dalloc = return_pages,
                                                .purge_forced = purge,
                                                .split = split,
                                                .merge = merge_extents};

/* ---- opening ---- */

static void forked(void)
{
    in_child = true;
    for (struct region *r = regions; r; r = r->next_region) {
        r->unused = (struct ranges){0};
        pthread_mutex_init(&r->mutex, NULL);
        pthread_mutex_init(&r->purge_mutex, NULL);
    }
}

static void add_fork_handler(void)
{
    pthread_atfork(NULL, NULL, forked);
}

static size_t map_size(const struct region *r)
{
    return round_up((size_t)(r->end - r->start) / r->map_unit, LAYOUT_PAGE);
}

static bool create_map(struct region *r)
{
    void *map =
        mmap(NULL, map_size(r), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    r->map = map == MAP_FAILED ? NULL : map;
    return r->map;
}

/* The argument of "experimental.arenas_create_ext" in jemalloc 5.3, whose headers do not declare
 * it. */
struct arena_config {
    extent_hooks_t *extent_hooks;
    bool metadata_use_hooks;
};

bool region_open(struct region *r, char *start, size_t size, size_t map_unit, drop_pages *drop)
{
    *r = (struct region){.hooks = hooks_of_regions,
                         .start = start,
                         .next = start,
                         .end = start + size,
                         .prepared = start,
                         .map_unit = map_unit,
                         .drop = drop};
    if (map_unit && !create_map(r)) {
        *r = (struct region){0};
        return false;
    }
    pthread_mutex_init(&r->mutex, NULL);
    pthread_mutex_init(&r->purge_mutex, NULL);
    return true;
}

void region_close(struct region *r)
{
    if (r->map)
        munmap(r->map, map_size(r));
    *r = (struct region){0};
}

/* Threads may create arenas of two regions at once. Another thread may fork at any time, so write
 * `regions` last, when the entry is complete. */
static void enlist(struct region *r)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, add_fork_handler);
    r->next_region = regions;
    while (!atomic_compare_exchange_weak(&regions, &r->next_region, r))
        ;
}

/* Begin at a page of jemalloc, which may have 64 KiB. Otherwise the first extent would need a range
 * for the addresses before it, and so memory of malloc(), which may be refused by then. */
static bool align_to_page(struct region *r)
{
    size_t page, length = sizeof page;
    if (je(mallctl)("arenas.page", &page, &length, NULL, 0))
        return false;
    r->next = (char *)round_up((uintptr_t)r->next, page);
    return true;
}

bool region_create_arena(struct region *r)
{
    struct arena_config wanted = {.extent_hooks = &r->hooks, .metadata_use_hooks = false};
    size_t length = sizeof r->arena;
    if (!align_to_page(r))
        return false;
    if (je(mallctl)("experimental.arenas_create_ext", &r->arena, &length, &wanted, sizeof wanted))
        return false;
    /* Release: a thread that purges and reads true also reads the number of the arena. */
    atomic_store_explicit(&r->has_arena, true, memory_order_release);
    enlist(r);
    return true;
}

/* Call in one thread at a time: in jemalloc a second thread would return while the first is still
 * purging, and find nothing. */
void region_purge(struct region *r)
{
    size_t mib[3], depth = 3;
    if (!atomic_load_explicit(&r->has_arena, memory_order_acquire) ||
        je(mallctlnametomib)("arena.0.purge", mib, &depth))
        return;
    mib[1] = r->arena;
    pthread_mutex_lock(&r->purge_mutex);
    je(mallctlbymib)(mib, depth, NULL, NULL, NULL, 0);
    pthread_mutex_unlock(&r->purge_mutex);
}
