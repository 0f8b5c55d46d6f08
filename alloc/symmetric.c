#include "alloc/symmetric.h"

#include "alloc/arena.h"
#include "core/barrier.h"
#include "core/log.h"
#include "node/memfd.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct symmetric symmetric;

enum symmetric_call { ALLOC = 1, CLEAR, FREE, RESIZE };
enum { FAILED = UINT32_MAX };
#define COMMON_ALIGNMENT ((size_t)1 << 36) /* of all common_addresses */
#define OWN_ALIGNMENT    ((size_t)1 << 30)
#define NO_BLOCK         UINT64_MAX
#define BAD_BLOCK        (UINT64_MAX - 1)

struct request {
    _Alignas(LINE) uint64_t call, size, align;
    uint64_t block; /* an offset, NO_BLOCK or BAD_BLOCK */
};

struct decision {
    _Alignas(LINE) uint64_t error;
    uint64_t block; /* an offset, or NO_BLOCK */
    uint64_t kept;  /* bytes to copy into the resized block; 0: it has not moved */
};

struct shared {
    struct decision decision;
    struct request request[]; /* one per PE, then as many flags of the barrier */
};

static struct shared *shared;
static struct barrier barrier;
static size_t limit; /* of one block */
static size_t most_alignment;
static size_t dumped; /* core files contain the pages before this offset */
static bool tried;
static enum reason why_not;

static const char *const variables[] = {"SHMEM_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_SIZE",
                                        "SMA_SYMMETRIC_SIZE"};

/* ---- size ---- */

/* Parse "20m" or "3.1G", rounded up. Text after the unit is ignored, as OpenSHMEM 1.5 requires in
 * its section on environment variables. */
static bool parse(const char *text, size_t *bytes)
{
    static const char units[] = "kmgt";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
    if (end == text || (*end && !unit) || !(value >= 0))
        return false;
    if (unit)
        value *= (double)(UINT64_C(1) << (10 * (unit - units + 1)));
    if (value >= (double)(UINT64_C(1) << 47))
        return false;
    *bytes = (size_t)value;
    *bytes += (double)*bytes < value;
    return true;
}

static const char *named_variable(size_t *bytes)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        if (text && parse(text, bytes))
            return variables[i];
    }
    return NULL;
}

static void warn_of_bad_sizes(void)
{
    size_t bytes;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        if (text && !parse(text, &bytes))
            log_message(0, "%s=%s is not a size such as 512m or 2g; it has no effect", variables[i],
                        text);
    }
}

/* A quarter more than requested, since jemalloc rounds sizes up by up to a quarter. */
size_t symmetric_wanted(void)
{
    size_t bytes;
    return named_variable(&bytes) ? bytes + bytes / 4 + LAYOUT_GAP : 0;
}

/* ---- deciding, on PE 0 ---- */

static char *symmetric_block_at(uint64_t offset)
{
    return symmetric.base + offset;
}

static bool is_live(uint64_t offset)
{
    return offset < symmetric.size && arena_symmetric_is_live(symmetric_block_at(offset));
}

static void decide_alloc(struct decision *d, uint64_t size, uint64_t align)
{
    char *at = NULL;
    if (align & (align - 1) || align < sizeof(void *)) {
        d->error = SYMMETRIC_BAD_ALIGNMENT;
        return;
    }
    if (!size)
        return;
    if (size <= limit && align <= most_alignment)
        at = arena_symmetric_alloc(size, align);
    if (!at) {
        d->error = SYMMETRIC_NO_ROOM;
        return;
    }
    d->block = (uint64_t)(at - symmetric.base);
}

static void decide_free(struct decision *d, uint64_t block)
{
    if (is_live(block))
        arena_symmetric_free(symmetric_block_at(block));
    else if (block != NO_BLOCK)
        d->error = SYMMETRIC_BAD_BLOCK;
}

static void decide_resize(struct decision *d, const struct request *r)
{
    if (r->block == NO_BLOCK || !r->size) {
        if (r->size)
            decide_alloc(d, r->size, ARENA_GRAIN);
        else
            decide_free(d, r->block);
        return;
    }
    if (!is_live(r->block)) {
        d->error = SYMMETRIC_BAD_BLOCK;
        return;
    }
    size_t old_size = arena_symmetric_usable(symmetric_block_at(r->block));
    if (r->size <= limit && arena_symmetric_resize(symmetric_block_at(r->block), r->size)) {
        d->block = r->block;
        return;
    }
    decide_alloc(d, r->size, ARENA_GRAIN);
    d->kept = d->error ? 0 : min_size(old_size, r->size);
}

static bool all_equal(void)
{
    const struct request *first = shared->request;
    for (uint32_t pe = 1; pe < symmetric.pes; pe++) {
        const struct request *r = &shared->request[pe];
        if (r->call != first->call || r->size != first->size || r->align != first->align ||
            r->block != first->block)
            return false;
    }
    return true;
}

static void decide_allocation(void)
{
    struct decision d = {.block = NO_BLOCK};
    const struct request *r = shared->request;
    if (!all_equal())
        d.error = SYMMETRIC_DIFFERENT;
    else if (r->call == ALLOC || r->call == CLEAR)
        decide_alloc(&d, r->size, r->align);
    else if (r->call == FREE)
        decide_free(&d, r->block);
    else
        decide_resize(&d, r);
    shared->decision = d;
}

/* PE 0 logs the error for all. */
static void explain(const struct decision *d, const struct request *r)
{
    size_t bytes = limit;
    const char *variable = named_variable(&bytes);
    switch ((enum symmetric_error)d->error) {
    case SYMMETRIC_DIFFERENT:
        log_message(1,
                    "the PEs called different functions of the symmetric heap, or passed different "
                    "arguments: nothing was done");
        break;
    case SYMMETRIC_NO_ROOM:
        log_message(1, "the symmetric heap has no room for %zu bytes: raise %s, which is %zu now",
                    (size_t)r->size, variable ? variable : variables[0], bytes);
        break;
    case SYMMETRIC_BAD_BLOCK:
        log_message(1, "not the start of a live block of the symmetric heap: nothing was done");
        break;
    case SYMMETRIC_BAD_ALIGNMENT:
        log_message(
            1,
            "%zu is not a valid alignment, which is a power of two and at least the size of a "
            "pointer",
            (size_t)r->align);
        break;
    default:
        break;
    }
}

static struct decision agree(const struct request *own)
{
    shared->request[symmetric.me] = *own;
    symmetric_barrier();
    if (!symmetric.me)
        decide_allocation();
    barrier_wait(&barrier);
    struct decision d = shared->decision;
    if (!symmetric.me && d.error)
        explain(&d, own);
    return d;
}

/* ---- the calls ---- */

void symmetric_barrier(void)
{
    symmetric_quiet();
    barrier_wait(&barrier);
}

static uint64_t offset_of(const void *block)
{
    size_t offset = (size_t)((const char *)block - symmetric.base);
    return !block ? NO_BLOCK : offset < symmetric.size ? offset : BAD_BLOCK;
}

/* The address of an allocated block. Core files contain pages from the first allocation there on;
 * with the whole heap they would be too long. */
static void *address_of_block(uint64_t block, size_t size)
{
    if (block == NO_BLOCK)
        return NULL;
    if (UNLIKELY(block + size > dumped)) {
        size_t end = min_size(round_up(block + size, LAYOUT_GAP), symmetric.size);
        madvise(symmetric.base + dumped, end - dumped, MADV_DODUMP);
        dumped = end;
    }
    return symmetric.base + block;
}

void *symmetric_alloc(size_t size, size_t align, enum symmetric_error *error)
{
    struct decision d =
        agree(&(struct request){.call = ALLOC, .size = size, .align = align, .block = NO_BLOCK});
    *error = (enum symmetric_error)d.error;
    return address_of_block(d.block, size);
}

/* CLEAR is a call of its own, because all PEs must enter its third barrier. */
void *symmetric_alloc_zeroed(size_t size, enum symmetric_error *error)
{
    struct decision d = agree(
        &(struct request){.call = CLEAR, .size = size, .align = ARENA_GRAIN, .block = NO_BLOCK});
    *error = (enum symmetric_error)d.error;
    void *block = address_of_block(d.block, size);
    if (block) {
        memset(block, 0, size);
        symmetric_barrier();
    }
    return block;
}

enum symmetric_error symmetric_free(void *block)
{
    return (enum symmetric_error)agree(&(struct request){.call = FREE, .block = offset_of(block)})
        .error;
}

void *symmetric_resize(void *block, size_t size, enum symmetric_error *error)
{
    uint64_t before = offset_of(block);
    struct decision d = agree(&(struct request){.call = RESIZE, .size = size, .block = before});
    *error = (enum symmetric_error)d.error;
    void *after = address_of_block(d.block, size);
    if (d.kept) {
        memcpy(after, block, d.kept);
        symmetric_barrier();
        if (!symmetric.me)
            arena_symmetric_free(block);
    }
    return after;
}

/* ---- local ---- */

static bool has_same_statics(uint32_t member)
{
    uint64_t own = node_member(node.me)->statics;
    return own && own == node_member(member)->statics;
}

char *symmetric_find(const void *address, size_t bytes, int pe)
{
    uint64_t position;
    char *found = symmetric_at(address, bytes, pe);
    if (found || !symmetric.size || (uint32_t)pe >= symmetric.pes ||
        !node_position(address, bytes, &position))
        return found;
    uint64_t statics = (uint64_t)(node_slice(node.me) - node.base) + layout_statics_at(node.header);
    uint32_t member = (uint32_t)node_member_of(pe);
    if (position < statics || position - statics >= node.header->statics_size ||
        !has_same_statics(member))
        return NULL;
    return (uint32_t)pe == symmetric.me
               ? (char *)address
               : node_slice(member) + layout_statics_at(node.header) + (position - statics);
}

/* ---- opening ---- */

static char *part_of(int pe)
{
    return node_slice((uint32_t)node_member_of(pe)) + layout_symmetric_at(node.header);
}

/* Free pages that no PE uses any more; PE 0 does so for all. */
static bool drop_everywhere(char *start, size_t size)
{
    bool all = true;
    for (uint32_t pe = 0; pe < symmetric.pes; pe++)
        all &= memfd_punch(part_of((int)pe) + (start - symmetric.base), size);
    return all;
}

static bool all_ranks_are_members(void)
{
    if ((uint32_t)node_world_size() != node.size)
        return false;
    for (int r = 0; r < node_world_size(); r++)
        if (node_member_of(r) < 0)
            return false;
    return true;
}

/* PE 0 allocates the control memory, and the others wait for it. */
static bool find_shared(void)
{
    char *owner = node_slice((uint32_t)node_member_of(0));
    if (!symmetric.me) {
        size_t size =
            sizeof *shared + symmetric.pes * (sizeof(struct request) + sizeof(struct barrier_flag));
        char *allocated = arena_control_alloc(size);
        sync_publish_ordered(&node.header->symmetric,
                             allocated ? (uint32_t)((size_t)(allocated - owner) / LINE) + 1
                                       : FAILED);
    }
    struct sync_wait wait = SYNC_WAIT;
    uint32_t offset;
    while (!(offset = sync_load(&node.header->symmetric)))
        sync_wait(&wait, &node.header->symmetric, 0);
    if (offset == FAILED)
        return false;
    shared = (struct shared *)(owner + (size_t)(offset - 1) * LINE);
    barrier = (struct barrier){.flags = (struct barrier_flag *)&shared->request[symmetric.pes],
                               .rank = symmetric.me,
                               .size = symmetric.pes};
    return true;
}

/* Whether `good` is true on all PEs. */
static bool all_agree(bool good)
{
    shared->request[symmetric.me].size = good;
    barrier_wait(&barrier);
    bool all = true;
    for (uint32_t pe = 0; pe < symmetric.pes; pe++)
        all &= shared->request[pe].size;
    barrier_wait(&barrier);
    return all;
}

/* Far from where systems map programs, stacks and libraries. The last ones are for processors with
 * fewer address bits. */
static char *const common_addresses[] = {(char *)(UINT64_C(2) << 44), (char *)(UINT64_C(3) << 44),
                                         (char *)(UINT64_C(1) << 44), (char *)(UINT64_C(5) << 43),
                                         (char *)(UINT64_C(1) << 38), (char *)(UINT64_C(3) << 36)};

/* Map this PE's part at an address of its own. NULL: no room. */
static char *map_at_own_address(uint64_t position)
{
    size_t room = symmetric.size + OWN_ALIGNMENT;
    char *reserved =
        mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return NULL;
    char *start = (char *)round_up((uintptr_t)reserved, OWN_ALIGNMENT);
    char *end = start + symmetric.size;
    if (!node_map_alias(start, symmetric.size, position, true)) {
        munmap(reserved, room);
        return NULL;
    }
    if (start > reserved)
        munmap(reserved, (size_t)(start - reserved));
    if (reserved + room > end)
        munmap(end, (size_t)(reserved + room - end));
    return start;
}

/* `alignment` is the alignment of the bases on all PEs, and so the largest alignment of a block: a
 * block that is aligned on PE 0 is then aligned on all PEs. */
static void set_base(char *base, size_t alignment)
{
    symmetric.base = base;
    most_alignment = alignment;
    madvise(base, symmetric.size, MADV_DONTDUMP);
}

/* Map the parts at one address on all PEs, or each at an address of its own. */
static void map_parts(void)
{
    char *part = part_of((int)symmetric.me);
    uint64_t position = (uint64_t)(part - node.base);
    for (size_t i = 0; i < sizeof common_addresses / sizeof *common_addresses; i++) {
        bool mapped = node_map_alias(common_addresses[i], symmetric.size, position, false);
        if (all_agree(mapped)) {
            set_base(common_addresses[i], COMMON_ALIGNMENT);
            return;
        }
        if (mapped)
            node_unmap_alias(common_addresses[i]);
    }
    if (!symmetric.me)
        log_message(
            1, "the PEs have no common address for the symmetric heap: only offsets are equal");
    char *own = map_at_own_address(position);
    if (all_agree(own)) {
        set_base(own, OWN_ALIGNMENT);
        return;
    }
    if (own)
        node_unmap_alias(own);
    set_base(part, (size_t)sysconf(_SC_PAGESIZE));
}

/* Allocate the private memory of this PE. */
static bool allocate_private(void)
{
    symmetric.peer = malloc(symmetric.pes * sizeof *symmetric.peer);
    for (uint32_t pe = 0; symmetric.peer && pe < symmetric.pes; pe++)
        symmetric.peer[pe] = pe == symmetric.me ? symmetric.base : part_of((int)pe);
    return symmetric.peer &&
           (symmetric.me || arena_symmetric_open(symmetric.base, symmetric.size, drop_everywhere));
}

static void shut(void)
{
    symmetric.size = 0;
    symmetric.pes = 0;
}

static void shut_in_child(void)
{
    shut();
    why_not = REASON_FORKED;
}

static enum reason try_to_open(void)
{
    if (!node.header)
        return node.why_not;
    if (!all_ranks_are_members())
        return REASON_ONE_NODE_ONLY;
    if (!node.header->symmetric_size)
        return REASON_NO_SHARING;
    symmetric.me = (uint32_t)node_member(node.me)->world_rank;
    symmetric.pes = node.size;
    if (!find_shared())
        return REASON_NO_SHARING;
    symmetric.size = node.header->symmetric_size;
    map_parts();
    if (!all_agree(allocate_private()))
        return REASON_NO_SHARING;
    limit = symmetric.size;
    named_variable(&limit);
    limit = min_size(limit, symmetric.size);
    pthread_atfork(NULL, NULL, shut_in_child);
    if (!symmetric.me)
        warn_of_bad_sizes();
    return REASON_NONE;
}

enum reason symmetric_open(void)
{
    if (!tried) {
        why_not = try_to_open();
        if (why_not != REASON_NONE)
            shut();
        tried = why_not != REASON_NOT_INITIALISED;
    }
    return why_not;
}

void symmetric_close(void)
{
    shut();
    why_not = REASON_NOT_INITIALISED;
    tried = true;
}
