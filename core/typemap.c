#include "core/typemap.h"

#include <stdlib.h>

struct typemap *typemap_derived(void)
{
    struct typemap *map = calloc(1, sizeof *map);
    if (map)
        map->prim = PRIM_COUNT; /* none yet */
    return map;
}

void typemap_free(struct typemap *map)
{
    if (!map)
        return;
    typemap_free(map->without_holes);
    free(map->runs);
    free(map);
}

static bool continues(const struct run *last, const struct run *next)
{
    if (last->bytes != next->bytes)
        return false;
    ptrdiff_t step = next->at - last->at - (ptrdiff_t)(last->blocks - 1) * last->stride;
    return (last->blocks == 1 || step == last->stride) &&
           (next->blocks == 1 || step == next->stride);
}

/* Merge `next` into `last` if both together are one run. */
static bool merge_runs(struct run *last, const struct run *next)
{
    if (last->blocks == 1 && next->blocks == 1 && last->at + (ptrdiff_t)last->bytes == next->at) {
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
    if (merge_runs(last - 1, last))
        map->run_count--;
}

static bool add_run(struct typemap *map, struct run next)
{
    if (next.blocks > 1 && next.stride == (ptrdiff_t)next.bytes)
        next = (struct run){.at = next.at, .bytes = next.bytes * next.blocks, .blocks = 1};
    if (map->run_count && merge_runs(&map->runs[map->run_count - 1], &next))
        return true;
    merge_last_runs(map);
    if (map->run_count == map->run_capacity) {
        size_t capacity = map->run_capacity ? 2 * map->run_capacity : 1;
        struct run *runs = reallocarray(map->runs, capacity, sizeof *runs);
        if (!runs)
            return false;
        map->runs = runs;
        map->run_capacity = capacity;
    }
    map->runs[map->run_count++] = next;
    return true;
}

static bool append_runs(struct typemap *map, const struct typemap *child, ptrdiff_t at,
                        size_t count)
{
    if (child->contiguous)
        return add_run(map, (struct run){.at = at, .bytes = child->size * count, .blocks = 1});
    bool one_block = child->run_count == 1 && child->runs[0].blocks == 1;
    if (one_block)
        return add_run(map, (struct run){.at = at + child->runs[0].at,
                                         .bytes = child->runs[0].bytes,
                                         .blocks = count,
                                         .stride = child->extent});
    for (size_t i = 0; i < count; i++, at += child->extent)
        for (size_t r = 0; r < child->run_count; r++) {
            struct run run = child->runs[r];
            run.at += at;
            if (!add_run(map, run))
                return false;
        }
    return true;
}

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

/* After the last run: set what depends on all runs. */
static void end_runs(struct typemap *map)
{
    size_t before = 0;
    merge_last_runs(map);
    for (size_t r = 0; r < map->run_count; r++) {
        struct run *run = &map->runs[r];
        run->before = before;
        before += run->bytes * run->blocks;
        ptrdiff_t first = run->at, last = run->at + (ptrdiff_t)(run->blocks - 1) * run->stride;
        ptrdiff_t low = first < last ? first : last;
        ptrdiff_t high = (first < last ? last : first) + (ptrdiff_t)run->bytes;
        map->low = r && map->low < low ? map->low : low;
        map->high = r && map->high > high ? map->high : high;
    }
}

/* The datatype without the holes inside its elements. */
static struct typemap *cut_holes(const struct typemap *map)
{
    struct run parts[2];
    size_t part_count = pair_parts(map->prim, parts);
    struct typemap *cut = typemap_derived();
    if (!cut)
        return NULL;
    for (size_t r = 0; r < map->run_count; r++)
        for (size_t block = 0; block < map->runs[r].blocks; block++)
            for (size_t e = 0; e < map->runs[r].bytes / map->element; e++) {
                ptrdiff_t at = map->runs[r].at + (ptrdiff_t)block * map->runs[r].stride +
                               (ptrdiff_t)(e * map->element);
                for (size_t p = 0; p < part_count; p++) {
                    struct run part = parts[p];
                    part.at += at;
                    cut->size += part.bytes;
                    if (!add_run(cut, part)) {
                        typemap_free(cut);
                        return NULL;
                    }
                }
            }
    cut->prim = PRIM_MIXED;
    cut->element = 1;
    cut->extent = map->extent;
    end_runs(cut);
    return cut;
}

/* Turn a map of one prim into one of several, which is only moved. */
static bool become_mixed(struct typemap *map)
{
    struct run parts[2];
    if (pair_parts(map->prim, parts)) {
        struct typemap *cut = cut_holes(map);
        if (!cut)
            return false;
        struct typemap whole = *map;
        *map = *cut;
        *cut = whole;
        typemap_free(cut);
    }
    map->base = 0;
    map->prim = PRIM_MIXED;
    map->element = 1;
    return true;
}

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
    if (!same && map->prim != PRIM_MIXED && !become_mixed(map))
        return false;
    if (map->prim == PRIM_MIXED)
        child = typemap_to_move(child);
    map->size += child->size * count;
    return append_runs(map, child, at, count);
}

bool typemap_end(struct typemap *map, ptrdiff_t extent)
{
    struct run parts[2];
    if (map->prim == PRIM_COUNT) /* empty */
        map->prim = PRIM_MIXED;
    map->extent = extent;
    end_runs(map);
    map->contiguous =
        !map->run_count || (map->run_count == 1 && map->runs[0].at == 0 &&
                            map->runs[0].blocks == 1 && (ptrdiff_t)map->size == extent);
    bool holes = map->run_count && pair_parts(map->prim, parts);
    map->simple = map->contiguous && !holes && map->size && map->size <= UINT32_MAX;
    if (holes)
        map->without_holes = cut_holes(map);
    return !holes || map->without_holes;
}

struct typemap *typemap_predefined(uintptr_t base, enum prim prim, size_t size, size_t extent)
{
    struct typemap *map = typemap_derived();
    if (!map)
        return NULL;
    struct run parts[2];
    map->base = base;
    map->prim = (uint8_t)prim;
    map->element = (uint32_t)extent;
    map->size = pair_parts(prim, parts) ? extent : size; /* reductions include the holes */
    if ((!map->size || add_run(map, (struct run){.bytes = map->size, .blocks = 1})) &&
        typemap_end(map, (ptrdiff_t)extent))
        return map;
    typemap_free(map);
    return NULL;
}

struct typemap typemap_of_bytes(struct run *run, size_t bytes)
{
    *run = (struct run){.bytes = bytes, .blocks = 1};
    return (struct typemap){.size = bytes,
                            .extent = (ptrdiff_t)bytes,
                            .high = (ptrdiff_t)bytes,
                            .contiguous = true,
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

/* The position of a walk in a buffer of several copies of a datatype. */
struct cursor {
    const struct typemap *map;
    char *base;        /* address of the current copy of the datatype */
    size_t run, block; /* current run and block in that copy */
    size_t skip;       /* bytes of the block that are done */
};

/* The blocks at a cursor that one call can handle: `blocks` whole blocks, or the rest of one. */
struct piece {
    char *at;
    ptrdiff_t stride;
    size_t bytes, blocks;
};

static struct piece piece_at(const struct cursor *c, size_t total)
{
    const struct run *run = &c->map->runs[c->run];
    char *at = c->base + run->at + (ptrdiff_t)c->block * run->stride + c->skip;
    if (c->map->contiguous)
        return (struct piece){.at = at, .bytes = total, .blocks = 1};
    if (c->skip)
        return (struct piece){.at = at, .bytes = run->bytes - c->skip, .blocks = 1};
    if (c->map->run_count == 1 && run->blocks == 1)
        return (struct piece){.at = at,
                              .stride = c->map->extent,
                              .bytes = run->bytes,
                              .blocks = total / run->bytes ? total / run->bytes : 1};
    return (struct piece){
        .at = at, .stride = run->stride, .bytes = run->bytes, .blocks = run->blocks - c->block};
}

/* Move past `bytes` bytes: `blocks` whole blocks as returned by piece_at(); 0: part of one block.
 */
static void advance(struct cursor *c, size_t bytes, size_t blocks)
{
    const struct run *run = &c->map->runs[c->run];
    if (c->map->contiguous) {
        c->base += bytes;
        return;
    }
    if (!blocks) {
        c->skip += bytes;
        if (c->skip < run->bytes)
            return;
        blocks = 1;
    }
    c->skip = 0;
    if (c->map->run_count == 1 && run->blocks == 1) {
        c->base += (ptrdiff_t)blocks * c->map->extent;
        return;
    }
    c->block += blocks;
    if (c->block < run->blocks)
        return;
    c->block = 0;
    if (++c->run < c->map->run_count)
        return;
    c->run = 0;
    c->base += c->map->extent;
}

/* Split longer blocks into several of `bytes` bytes, the block size of the other side. */
static struct piece in_blocks_of(struct piece a, size_t bytes)
{
    if (a.bytes == bytes)
        return a;
    /* The analyzer assumes a run behind the last one.
     * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    size_t blocks = a.bytes / bytes;
    return (struct piece){.at = a.at, .stride = (ptrdiff_t)bytes, .bytes = bytes, .blocks = blocks};
}

/* Move both cursors through the next `total` bytes in step. */
static void walk(struct cursor *ca, struct cursor *cb, size_t total, piece_fn *piece, void *context)
{
    while (total) {
        struct piece a_own = piece_at(ca, total), b_own = piece_at(cb, total);
        size_t bytes = min_size(min_size(a_own.bytes, b_own.bytes), total);
        struct piece a = in_blocks_of(a_own, bytes), b = in_blocks_of(b_own, bytes);
        size_t blocks = min_size(min_size(a.blocks, b.blocks), total / bytes);
        piece(context, a.at, a.stride, b.at, b.stride, bytes, blocks);
        total -= bytes * blocks;
        advance(ca, bytes * blocks, a_own.bytes == bytes ? blocks : 0);
        advance(cb, bytes * blocks, b_own.bytes == bytes ? blocks : 0);
    }
}

void typemap_walk(char *a, const struct typemap *a_map, char *b, const struct typemap *b_map,
                  size_t total, piece_fn *piece, void *context)
{
    struct cursor ca = {.map = a_map, .base = a}, cb = {.map = b_map, .base = b};
    walk(&ca, &cb, total, piece, context);
}

static void copy_piece(void *context, char *to, ptrdiff_t to_stride, char *from,
                       ptrdiff_t from_stride, size_t bytes, size_t blocks)
{
    (void)context;
    copy_blocks(to, to_stride, from, from_stride, bytes, blocks);
}

void typemap_copy(char *to, const struct typemap *to_map, const char *from,
                  const struct typemap *from_map, size_t total)
{
    if (!total) /* the addresses may be NULL, which memmove() does not allow */
        return;
    if (to_map->contiguous && from_map->contiguous)
        copy_bytes(to, from, total);
    else
        typemap_walk(to, to_map, (char *)from, from_map, total, copy_piece, NULL);
}

/* The run of one element of the datatype that contains this byte of its data. By bisection: long
 * data are copied in many pieces, and each piece needs a search. */
static size_t run_at(const struct typemap *map, size_t byte)
{
    size_t run = 0;
    for (size_t count = map->run_count; count > 1;) {
        size_t half = count / 2;
        if (map->runs[run + half].before <= byte)
            run += half;
        count -= half;
    }
    return run;
}

/* A cursor at data byte `first`. */
static struct cursor cursor_at(char *base, const struct typemap *map, size_t first)
{
    struct cursor c = {.map = map, .base = base};
    if (!first)
        return c;
    size_t rest = first % map->size;
    c.base += (ptrdiff_t)(first / map->size) * map->extent;
    c.run = run_at(map, rest);
    rest -= map->runs[c.run].before;
    c.block = rest / map->runs[c.run].bytes;
    c.skip = rest % map->runs[c.run].bytes;
    return c;
}

/* Copy between a buffer and plain memory. `read`: out of the buffer, usually into a shared cell
 * that a peer reads next. */
static void transfer(struct buffer b, size_t first, char *plain, size_t bytes, bool read)
{
    const struct typemap *map = typemap_to_move(b.map);
    if (!bytes)
        return;
    if (LIKELY(map->contiguous)) {
        char *at = b.at + map->low + first;
        if (read)
            copy_to_peers(plain, at, bytes);
        else
            copy_bytes(at, plain, bytes);
        return;
    }
    struct run run;
    struct typemap line = typemap_of_bytes(&run, bytes);
    struct cursor data = cursor_at(b.at, map, first), cell = {.map = &line, .base = plain};
    if (read)
        walk(&cell, &data, bytes, copy_piece, NULL);
    else
        walk(&data, &cell, bytes, copy_piece, NULL);
}

void buffer_read(char *to, struct buffer from, size_t first, size_t bytes)
{
    transfer(from, first, to, bytes, true);
}

void buffer_fill(char *to, struct buffer from, size_t first, size_t bytes, bool nontemporal)
{
    const struct typemap *map = typemap_to_move(from.map);
    const char *data = from.at + map->low + first;
    if (!map->contiguous)
        buffer_read(to, from, first, bytes);
    else if (nontemporal)
        copy_nontemporal(to, data, bytes);
    else
        copy_to_peers(to, data, bytes);
}

void buffer_write(struct buffer to, size_t first, const char *from, size_t bytes)
{
    transfer(to, first, (char *)from, bytes, false);
}
