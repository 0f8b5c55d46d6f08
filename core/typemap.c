#include "core/typemap.h"

#include <stdlib.h>

/* Up to UNROLL_RUNS runs are copied rather than repeated as a pattern, since a walk through them is
 * faster. From LIST_BLOCKS blocks on, irregular blocks are a list. Blocks of bytes are `fine` if
 * they have less than FINE_BYTES on average. FIRST_RUNS: how many runs a typemap has room for at
 * first. */
enum { UNROLL_RUNS = 12, LIST_BLOCKS = 16, FINE_BYTES = 256, FIRST_RUNS = 4 };

/* A program may make a datatype for each of its messages. So use malloc(), which returns memory
 * that this thread has just freed: calloc() of glibc 2.36 bypasses the thread's cache and takes
 * several times as long. */
struct typemap *typemap_derived(void)
{
    struct typemap *map = malloc(sizeof *map);
    if (map)
        *map = (struct typemap){.prim = PRIM_COUNT /* none yet */, .users = 1};
    return map;
}

/* ---- shared parts ---- */

static const struct typemap *share_map(const struct typemap *map)
{
    if (map)
        atomic_fetch_add_explicit(&((struct typemap *)map)->users, 1, memory_order_relaxed);
    return map;
}

static struct block_list *share_list(struct block_list *list)
{
    if (list)
        atomic_fetch_add_explicit(&list->users, 1, memory_order_relaxed);
    return list;
}

/* acq_rel: the last user frees what other threads have read until they released it */
static bool was_last(_Atomic size_t *users)
{
    return atomic_fetch_sub_explicit(users, 1, memory_order_acq_rel) == 1;
}

static void release_list(struct block_list *list)
{
    if (list && was_last(&list->users))
        free(list);
}

/* Recursive, but at most TYPEMAP_NESTING_MAX deep. */
void typemap_free(struct typemap *map)
{
    if (!map || !was_last(&map->users))
        return;
    for (size_t r = 0; r < map->run_count; r++) {
        typemap_free((struct typemap *)map->runs[r].pattern);
        release_list(map->runs[r].list);
    }
    typemap_free(map->without_holes);
    free(map->runs);
    free(map);
}

/* ---- runs ---- */

/* Blocks of bytes at equal distances. */
static bool is_plain_run(const struct run *run)
{
    return !run->pattern && !run->list;
}

static bool is_one_block(const struct run *run)
{
    return is_plain_run(run) && run->blocks == 1;
}

static bool continues(const struct run *last, const struct run *next)
{
    if (last->bytes != next->bytes || last->pattern != next->pattern || last->list || next->list)
        return false;
    ptrdiff_t step = next->at - last->at - (ptrdiff_t)(last->blocks - 1) * last->stride;
    return (last->blocks == 1 || step == last->stride) &&
           (next->blocks == 1 || step == next->stride);
}

/* Merge `next` into `last` if both together are one run. */
static bool merge_runs(struct run *last, const struct run *next)
{
    if (is_one_block(last) && is_one_block(next) && last->at + (ptrdiff_t)last->bytes == next->at) {
        last->bytes += next->bytes;
        return true;
    }
    if (continues(last, next)) {
        last->stride = next->at - last->at - (ptrdiff_t)(last->blocks - 1) * last->stride;
        last->blocks += next->blocks;
        return true;
    }
    return false;
}

/* The last run may have grown since it was appended, so that it now continues the previous one. */
static void merge_last_runs(struct typemap *map)
{
    if (map->run_count < 2)
        return;
    struct run *last = &map->runs[map->run_count - 1];
    if (!merge_runs(last - 1, last))
        return;
    map->run_count--;
    typemap_free((struct typemap *)last->pattern);
}

static bool set_capacity(struct typemap *map, size_t capacity)
{
    struct run *runs = reallocarray(map->runs, capacity, sizeof *runs);
    if (!runs)
        return false;
    map->runs = runs;
    map->run_capacity = capacity;
    return true;
}

/* Append a run, which shares its pattern and its list with the caller's. */
static bool add_run(struct typemap *map, struct run next)
{
    if (is_plain_run(&next) && next.blocks > 1 && next.stride == (ptrdiff_t)next.bytes)
        next = (struct run){.at = next.at, .bytes = next.bytes * next.blocks, .blocks = 1};
    if (map->run_count && merge_runs(&map->runs[map->run_count - 1], &next))
        return true;
    merge_last_runs(map);
    if (map->run_count == map->run_capacity &&
        !set_capacity(map, map->run_capacity ? 2 * map->run_capacity : FIRST_RUNS))
        return false;
    share_map(next.pattern);
    share_list(next.list);
    map->runs[map->run_count++] = next;
    return true;
}

/* Append `count` runs, moved by `at`. */
static bool add_runs(struct typemap *map, const struct run *runs, size_t count, ptrdiff_t at)
{
    for (size_t r = 0; r < count; r++) {
        struct run run = runs[r];
        run.at += at;
        if (!add_run(map, run))
            return false;
    }
    return true;
}

static bool append_runs(struct typemap *map, const struct typemap *child, ptrdiff_t at,
                        size_t count);

/* Whether the last block of a copy and the first block of the next copy are adjacent. */
static bool copies_are_joined(const struct typemap *child)
{
    const struct run *first = &child->runs[0], *last = &child->runs[child->run_count - 1];
    return child->run_count > 1 && is_one_block(first) && is_one_block(last) &&
           last->at + (ptrdiff_t)last->bytes == first->at + child->extent;
}

static void end_runs(struct typemap *map);

/* Append copies with joined blocks: the first run, a pattern that begins after the first run of a
 * copy and ends with that of the next copy, and the last copy without its first run. */
static bool append_joined(struct typemap *map, const struct typemap *child, ptrdiff_t at,
                          size_t count)
{
    struct run first = child->runs[0];
    struct typemap *pattern = typemap_derived();
    first.at += child->extent;
    bool ok = pattern && add_runs(pattern, child->runs + 1, child->run_count - 1, 0) &&
              add_run(pattern, first);
    if (ok) {
        pattern->size = child->size;
        pattern->extent = child->extent;
        end_runs(pattern);
        ok = add_runs(map, child->runs, 1, at) && append_runs(map, pattern, at, count - 1) &&
             add_runs(map, child->runs + 1, child->run_count - 1,
                      at + (ptrdiff_t)(count - 1) * child->extent);
    }
    typemap_free(pattern);
    return ok;
}

static bool append_runs(struct typemap *map, const struct typemap *child, ptrdiff_t at,
                        size_t count)
{
    if (child->contiguous)
        return add_run(map, (struct run){.at = at, .bytes = child->size * count, .blocks = 1});
    if (child->run_count == 1 && is_one_block(&child->runs[0]))
        return add_run(map, (struct run){.at = at + child->runs[0].at,
                                         .bytes = child->runs[0].bytes,
                                         .blocks = count,
                                         .stride = child->extent});
    if (count == 1 || count <= UNROLL_RUNS / child->run_count ||
        child->nesting == TYPEMAP_NESTING_MAX) {
        for (size_t i = 0; i < count; i++, at += child->extent)
            if (!add_runs(map, child->runs, child->run_count, at))
                return false;
        return true;
    }
    if (copies_are_joined(child))
        return append_joined(map, child, at, count);
    return add_run(map, (struct run){.at = at,
                                     .bytes = child->size,
                                     .blocks = count,
                                     .stride = child->extent,
                                     .pattern = child});
}

/* The offsets of all bytes of a run. */
static void run_span(const struct run *run, ptrdiff_t *low, ptrdiff_t *high)
{
    ptrdiff_t last = run->list ? 0 : (ptrdiff_t)(run->blocks - 1) * run->stride;
    *low = run->at + (run->list ? run->list->low : last < 0 ? last : 0);
    *high = run->at + (run->list ? run->list->high : last > 0 ? last : 0);
    *low += run->pattern ? run->pattern->low : 0;
    *high += run->pattern ? run->pattern->high : (ptrdiff_t)run->bytes;
}

static bool run_ascends(const struct run *run)
{
    const struct typemap *pattern = run->pattern;
    if (pattern && !pattern->ascending)
        return false;
    if (run->list)
        return run->list->ascending;
    return run->blocks == 1 ||
           run->stride >= (pattern ? pattern->high - pattern->low : (ptrdiff_t)run->bytes);
}

/* Set what depends on all runs, when the last one has been appended. */
static void end_runs(struct typemap *map)
{
    size_t before = 0;
    merge_last_runs(map);
    map->flat = map->ascending = true;
    for (size_t r = 0; r < map->run_count; r++) {
        struct run *run = &map->runs[r];
        ptrdiff_t low, high;
        run->before = before;
        before += run_size(run);
        run_span(run, &low, &high);
        map->ascending &= (!r || low >= map->high) && run_ascends(run);
        map->low = r && map->low < low ? map->low : low;
        map->high = r && map->high > high ? map->high : high;
        map->flat &= is_one_block(run);
        map->pieces +=
            is_plain_run(run) ? 1 : run->blocks * (run->pattern ? run->pattern->pieces : 1);
        uint8_t nesting = run->pattern ? run->pattern->nesting + 1 : 0;
        map->nesting = map->nesting > nesting ? map->nesting : nesting;
    }
    bool vector = map->run_count == 1 && is_plain_run(&map->runs[0]);
    map->fine = !vector && map->pieces && map->size / map->pieces < FINE_BYTES;
    map->contiguous =
        !map->run_count || (map->run_count == 1 && map->runs[0].at == 0 &&
                            is_one_block(&map->runs[0]) && (ptrdiff_t)map->size == map->extent);
}

/* ---- elements with holes ---- */

/* The parts of a pair with holes: a value, then an index, each with its natural alignment
 * (types.h). Returns 0 for a prim without holes. */
static size_t pair_parts(enum prim prim, struct run parts[2])
{
#define PAIR(type)                                                                             \
    parts[0] = (struct run){.at = 0, .bytes = sizeof(((struct type *)0)->value), .blocks = 1}; \
    parts[1] = (struct run){.at = offsetof(struct type, index),                                \
                            .bytes = sizeof(((struct type *)0)->index),                        \
                            .blocks = 1};                                                      \
    return 2
    switch (prim) {
    case PRIM_DOUBLE_INT:
        PAIR(pair_double_int);
    case PRIM_LONG_INT:
        PAIR(pair_long_int);
    case PRIM_SHORT_INT:
        PAIR(pair_short_int);
    case PRIM_FLONG_INT:
        PAIR(pair_ldouble_int);
    default:
        return 0;
    }
#undef PAIR
}

/* Append the child without its holes to the map without holes. */
static bool append_without_holes(struct typemap *map, const struct typemap *child, ptrdiff_t at,
                                 size_t count)
{
    if (!map->without_holes)
        map->without_holes = typemap_derived();
    return map->without_holes &&
           typemap_append(map->without_holes, child->without_holes, at, count);
}

/* Turn a map of one prim into one of several, which is only moved. */
static void become_mixed(struct typemap *map)
{
    struct typemap *cut = map->without_holes;
    if (cut) {
        struct typemap whole = *map;
        map->size = cut->size;
        map->runs = cut->runs;
        map->run_count = cut->run_count;
        map->run_capacity = cut->run_capacity;
        cut->runs = whole.runs;
        cut->run_count = whole.run_count;
        map->without_holes = NULL;
        typemap_free(cut);
    }
    map->base = 0;
    map->prim = PRIM_MIXED;
    map->element = 1;
}

/* ---- derived datatypes ---- */

bool typemap_append(struct typemap *map, const struct typemap *child, ptrdiff_t at, size_t count)
{
    if (!count || !child->size)
        return true;
    if (map->prim == PRIM_COUNT) {
        map->base = child->base;
        map->prim = child->prim;
        map->element = child->element;
    }
    bool same = map->prim == child->prim && (map->prim != PRIM_OTHER || map->base == child->base);
    if (!same && map->prim != PRIM_MIXED)
        become_mixed(map);
    if (map->prim == PRIM_MIXED)
        child = typemap_to_move(child);
    else if (child->without_holes && !append_without_holes(map, child, at, count))
        return false;
    map->size += child->size * count;
    return append_runs(map, child, at, count);
}

bool typemap_end(struct typemap *map, ptrdiff_t extent)
{
    if (map->prim == PRIM_COUNT) /* empty */
        map->prim = PRIM_MIXED;
    map->extent = extent;
    end_runs(map);
    map->simple = map->contiguous && !map->without_holes && map->size && map->size <= UINT32_MAX;
    return !map->without_holes || typemap_end(map->without_holes, extent);
}

struct typemap *typemap_predefined(uintptr_t base, enum prim prim, size_t size, size_t extent)
{
    struct typemap *map = typemap_derived();
    if (!map)
        return NULL;
    struct run parts[2];
    size_t part_count = pair_parts(prim, parts);
    map->base = base;
    map->prim = (uint8_t)prim;
    map->element = (uint32_t)extent;
    map->size = part_count ? extent : size; /* reductions include the holes */
    bool ok = !map->size || add_run(map, (struct run){.bytes = map->size, .blocks = 1});
    if (ok && part_count) {
        map->without_holes = typemap_derived();
        ok = map->without_holes && add_runs(map->without_holes, parts, part_count, 0);
        if (ok) {
            map->without_holes->size = parts[0].bytes + parts[1].bytes;
            map->without_holes->prim = PRIM_MIXED;
            map->without_holes->element = 1;
        }
    }
    if (ok && typemap_end(map, (ptrdiff_t)extent))
        return map;
    typemap_free(map);
    return NULL;
}

/* ---- blocks ---- */

static ptrdiff_t placed_block_at(const struct placement *p, size_t i)
{
    return p->at + (ptrdiff_t)i * p->stride +
           (p->displacements ? p->displacements[i] * p->unit : 0);
}

static bool have_equal_lengths(const struct placement *p)
{
    for (size_t i = 1; p->length_step && i < p->count; i++)
        if (p->lengths[i] != p->lengths[0])
            return false;
    return true;
}

/* Whether all blocks are `step` bytes apart. */
static bool are_equidistant(const struct placement *p, ptrdiff_t step)
{
    if (!p->displacements)
        return true;
    ptrdiff_t next = placed_block_at(p, 0);
    for (size_t i = 0; i < p->count; i++, next += step)
        if (placed_block_at(p, i) != next)
            return false;
    return true;
}

static struct block_list *new_list(size_t blocks, bool varying)
{
    size_t words = blocks + (varying ? blocks + 1 : 0);
    struct block_list *list = malloc(sizeof *list + words * sizeof(size_t));
    if (!list)
        return NULL;
    *list =
        (struct block_list){.users = 1, .low = PTRDIFF_MAX, .high = PTRDIFF_MIN, .ascending = true};
    if (varying)
        list->before = (size_t *)&list->offset[blocks];
    return list;
}

static void widen(struct block_list *list, ptrdiff_t low, ptrdiff_t high)
{
    list->low = low < list->low ? low : list->low;
    list->high = high > list->high ? high : list->high;
}

/* How many blocks of a contiguous child remain after adjacent ones are merged. */
static size_t merged_count(const struct placement *p, ptrdiff_t extent)
{
    const struct placement q = *p; /* kept in registers */
    size_t count = 1;
    ptrdiff_t end = placed_block_at(&q, 0) + q.lengths[0] * extent;
    for (size_t i = 1; i < q.count; i++) {
        ptrdiff_t at = placed_block_at(&q, i);
        count += at != end;
        end = at + q.lengths[i * q.length_step] * extent;
    }
    return count;
}

/* The blocks of a contiguous child with adjacent ones merged, which leaves `most` at most. */
static struct run merged_blocks(const struct placement *p, const struct typemap *child, size_t most)
{
    size_t n = 0, bytes = 0;
    struct block_list *list = new_list(most, true);
    for (size_t i = 0; list && i < p->count; i++) {
        size_t length = (size_t)p->lengths[i * p->length_step] * child->size;
        ptrdiff_t at = placed_block_at(p, i);
        if (!length)
            continue;
        if (!n || list->offset[n - 1] + (ptrdiff_t)(bytes - list->before[n - 1]) != at) {
            list->ascending &= at >= list->high;
            list->offset[n] = at;
            list->before[n++] = bytes;
        }
        bytes += length;
        widen(list, at, at + (ptrdiff_t)length);
    }
    if (list)
        list->before[n] = bytes;
    return (struct run){.blocks = n, .list = list};
}

static void widen_to_all(struct block_list *list, size_t blocks)
{
    if (list->ascending) {
        widen(list, list->offset[0], list->offset[blocks - 1]);
        return;
    }
    for (size_t i = 0; i < blocks; i++)
        widen(list, list->offset[i], list->offset[i]);
}

/* Make a run of blocks that are copies of `row`. Read the displacements only once, since a program
 * may make a datatype for each of its messages. Set `*joined` to the number of blocks that begin
 * where the data of the previous block end, if `row` is contiguous. */
static struct run equal_blocks(const struct placement *p, const struct typemap *row, size_t *joined)
{
    const struct placement q = *p; /* kept in registers */
    struct block_list *list = new_list(q.count, false);
    ptrdiff_t span = row->high - row->low, size = (ptrdiff_t)row->size;
    ptrdiff_t previous = placed_block_at(&q, 0);
    size_t touching = 0;
    bool ascending = true;
    if (list)
        list->offset[0] = previous;
    for (size_t i = 1; list && i < q.count; i++) {
        ptrdiff_t at = placed_block_at(&q, i), step = at - previous;
        list->offset[i] = previous = at;
        ascending &= step >= span;
        touching += step == size;
    }
    if (list) {
        list->ascending = ascending;
        widen_to_all(list, q.count);
    }
    *joined = touching;
    return (struct run){.bytes = row->size, .blocks = q.count, .list = list};
}

/* Append a run with a list to a map whose prim is set; the blocks of the run are copies of `row`
 * unless the list has their lengths. */
static bool append_list(struct typemap *map, struct run run, const struct typemap *row)
{
    const struct run *only = &row->runs[0];
    bool bytes = row->run_count == 1 && is_one_block(only);
    if (!run.bytes || bytes)
        run.at = run.bytes ? only->at : 0;
    else
        run.pattern = row;
    run.bytes = run.bytes ? row->size : 0;
    map->size += run_size(&run);
    return add_run(map, run);
}

/* A typemap of the run and, if elements have holes, of the run without them. */
static struct typemap *listed(struct run run, const struct typemap *row)
{
    struct typemap *map = typemap_derived();
    bool ok = map && run.list;
    if (ok) {
        map->base = row->base;
        map->prim = row->prim;
        map->element = row->element;
        ok = append_list(map, run, row);
    }
    if (ok && row->without_holes) {
        map->without_holes = typemap_derived();
        ok = map->without_holes && append_list(map->without_holes, run, row->without_holes);
        if (ok) {
            map->without_holes->prim = PRIM_MIXED;
            map->without_holes->element = 1;
        }
    }
    release_list(run.list);
    if (ok && typemap_end(map, 0))
        return map;
    typemap_free(map);
    return NULL;
}

/* The first block of a simple child is appended by typemap_append(), which compares the child's
 * elements with those of the map. Further blocks are appended as bytes. */
static bool append_each(struct typemap *map, const struct typemap *child, const struct placement *p)
{
    bool ok = map->runs || p->count <= FIRST_RUNS ||
              set_capacity(map, min_size(p->count, LIST_BLOCKS)),
         compared = false;
    for (size_t i = 0; ok && i < p->count; i++) {
        size_t length = (size_t)p->lengths[i * p->length_step];
        struct run block = {
            .at = placed_block_at(p, i), .bytes = child->size * length, .blocks = 1};
        if (!length)
            continue;
        if (compared)
            map->size += block.bytes;
        ok = compared ? add_run(map, block) : typemap_append(map, child, block.at, length);
        compared = child->simple;
    }
    return ok;
}

/* Append blocks of equal length, each of which is a copy of `row`. */
static bool append_rows(struct typemap *map, const struct typemap *child, struct typemap *row,
                        const struct placement *p)
{
    size_t length = (size_t)p->lengths[0];
    ptrdiff_t step = p->count > 1 ? placed_block_at(p, 1) - placed_block_at(p, 0) : child->extent;
    bool regular = are_equidistant(p, step);
    if (!typemap_append(row, child, 0, length) ||
        !typemap_end(row, regular ? step : (ptrdiff_t)length * child->extent))
        return false;
    if (regular)
        return typemap_append(map, row, placed_block_at(p, 0), p->count);
    size_t joined;
    struct run run = equal_blocks(p, row, &joined);
    size_t merged = child->simple ? p->count - joined : p->count;
    if (merged <= p->count / 2 || merged < LIST_BLOCKS) {
        release_list(run.list);
        if (merged < LIST_BLOCKS)
            return append_each(map, child, p);
        run = merged_blocks(p, child, merged);
    }
    struct typemap *blocks = listed(run, row);
    bool ok = blocks && typemap_append(map, blocks, 0, 1);
    typemap_free(blocks);
    return ok;
}

bool typemap_append_blocks(struct typemap *map, const struct typemap *child,
                           const struct placement *p)
{
    if (!p->count || !child->size)
        return true;
    bool equal = have_equal_lengths(p);
    if (p->displacements && (p->count < LIST_BLOCKS || (!equal && !child->simple)))
        return append_each(map, child, p);
    size_t merged = equal ? 0 : merged_count(p, child->extent);
    if (!equal && merged < LIST_BLOCKS)
        return append_each(map, child, p);
    struct typemap *row = equal ? typemap_derived() : NULL, *blocks = NULL;
    bool ok;
    if (equal)
        ok = !p->lengths[0] || (row && append_rows(map, child, row, p));
    else
        ok = (blocks = listed(merged_blocks(p, child, merged), child)) &&
             typemap_append(map, blocks, 0, 1);
    typemap_free(row);
    typemap_free(blocks);
    return ok;
}

/* ---- buffers ---- */

struct typemap typemap_of_bytes(struct run *run, size_t bytes)
{
    *run = (struct run){.bytes = bytes, .blocks = 1};
    return (struct typemap){.size = bytes,
                            .extent = (ptrdiff_t)bytes,
                            .high = (ptrdiff_t)bytes,
                            .contiguous = true,
                            .flat = true,
                            .prim = PRIM_BYTE,
                            .element = 1,
                            .run_count = 1,
                            .runs = run};
}

bool typemap_span(const struct typemap *map, size_t count, ptrdiff_t *low, ptrdiff_t *high)
{
    *low = *high = 0;
    if (!count || !map->size)
        return true;
    ptrdiff_t last;
    if (count - 1 > PTRDIFF_MAX ||
        __builtin_mul_overflow((ptrdiff_t)(count - 1), map->extent, &last))
        return false;
    return !__builtin_add_overflow(map->low, last < 0 ? last : 0, low) &&
           !__builtin_add_overflow(map->high, last > 0 ? last : 0, high);
}
