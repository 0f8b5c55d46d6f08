/* Walks through typemaps, and copying. */
#include "core/typemap.h"

/* RECORDS: copies of a flat pattern that are copied block by block, so that their lines stay in the
 * L1 cache. BOUNCE: bytes of a buffer on the stack. */
enum { RECORDS = 128, BOUNCE = 2048 };

/* The position of a cursor in one copy of a typemap. Patterns are levels of their own. */
struct level {
    const struct typemap *map;
    char *base;        /* address of the current copy */
    size_t run, block; /* current run and block in that copy */
};

/* The position of a walk in a buffer of several copies of a datatype. The run of the top level has
 * no pattern. Levels above the top are not initialized. */
struct cursor {
    struct level *top;
    size_t skip; /* bytes of the block that are done */
    struct level level[TYPEMAP_NESTING_MAX + 1];
};

static const struct run *run_of(const struct level *l)
{
    return &l->map->runs[l->run];
}

static char *block_of_level(const struct level *l)
{
    const struct run *run = run_of(l);
    return l->base + run->at +
           (run->list ? run->list->offset[l->block] : (ptrdiff_t)l->block * run->stride);
}

static void push(struct cursor *c, const struct typemap *map)
{
    char *base = block_of_level(c->top);
    *++c->top = (struct level){.map = map, .base = base};
}

/* Enter the first copies of the patterns at the cursor. */
static void descend(struct cursor *c)
{
    for (const struct typemap *in; UNLIKELY((in = run_of(c->top)->pattern) != NULL);)
        push(c, in);
}

static void start_cursor(struct cursor *c, char *base, const struct typemap *map)
{
    c->top = c->level;
    c->skip = 0;
    *c->top = (struct level){.map = map, .base = base};
    descend(c);
}

/* ---- search ---- */

/* The run that contains this byte of the data of a typemap. By bisection: long data are copied in
 * many pieces, and each piece needs a search. */
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

/* The block that contains this byte of the data of a run. */
static size_t block_with(const struct run *run, size_t byte)
{
    if (run->bytes)
        return byte / run->bytes;
    size_t block = 0;
    for (size_t count = run->blocks; count > 1;) {
        size_t half = count / 2;
        if (run->list->before[block + half] <= byte)
            block += half;
        count -= half;
    }
    return block;
}

/* Move from the beginning of a copy of the top level's typemap to byte `rest` of its data. */
static void seek(struct cursor *c, size_t rest)
{
    for (;;) {
        struct level *l = c->top;
        l->run = run_at(l->map, rest);
        const struct run *run = run_of(l);
        rest -= run->before;
        l->block = block_with(run, rest);
        rest -= run->bytes ? l->block * run->bytes : run->list->before[l->block];
        if (!run->pattern)
            break;
        push(c, run->pattern);
    }
    c->skip = rest;
}

/* Set a cursor to data byte `first`. */
static void cursor_at(struct cursor *c, char *base, const struct typemap *map, size_t first)
{
    if (!first) {
        start_cursor(c, base, map);
        return;
    }
    c->top = c->level;
    *c->top =
        (struct level){.map = map, .base = base + (ptrdiff_t)(first / map->size) * map->extent};
    seek(c, first % map->size);
}

/* ---- steps ---- */

/* The blocks at a cursor that one call can handle: `blocks` whole blocks, or the rest of one. */
struct piece {
    char *at;
    ptrdiff_t stride;
    size_t bytes, blocks;
};

/* Whether the buffer is one vector: a block per copy of the datatype. */
static bool has_one_block(const struct typemap *map)
{
    return map->run_count == 1 && map->flat;
}

static size_t block_bytes(const struct run *run, size_t block)
{
    return run->bytes ? run->bytes : run->list->before[block + 1] - run->list->before[block];
}

static struct piece piece_at(const struct cursor *c, size_t total)
{
    const struct level *l = c->top;
    const struct run *run = run_of(l);
    char *at = block_of_level(l) + c->skip;
    if (l->map->contiguous)
        return (struct piece){.at = at, .bytes = total, .blocks = 1};
    size_t bytes = block_bytes(run, l->block);
    if (c->skip)
        return (struct piece){.at = at, .bytes = bytes - c->skip, .blocks = 1};
    if (has_one_block(l->map) && l == c->level)
        return (struct piece){.at = at,
                              .stride = l->map->extent,
                              .bytes = bytes,
                              .blocks = total / bytes ? total / bytes : 1};
    return (struct piece){.at = at,
                          .stride = run->stride,
                          .bytes = bytes,
                          .blocks = run->list ? 1 : run->blocks - l->block};
}

/* Go to the next copy of the top level's typemap after all of its runs. */
static void next_copy(struct cursor *c)
{
    for (;; c->top--) {
        struct level *l = c->top, *outer = l - 1;
        l->run = 0;
        if (l == c->level) {
            l->base += l->map->extent;
            break;
        }
        if (++outer->block < run_of(outer)->blocks) {
            l->base = block_of_level(outer);
            break;
        }
        outer->block = 0;
        if (++outer->run < outer->map->run_count) {
            c->top--;
            break;
        }
    }
    descend(c);
}

/* Move past `blocks` whole blocks. */
static void pass_blocks(struct cursor *c, size_t blocks)
{
    struct level *l = c->top;
    if (has_one_block(l->map) && l == c->level) {
        l->base += (ptrdiff_t)blocks * l->map->extent;
        return;
    }
    l->block += blocks;
    if (l->block < run_of(l)->blocks)
        return;
    l->block = 0;
    if (++l->run < l->map->run_count)
        descend(c);
    else
        next_copy(c);
}

/* Move past `bytes` bytes: `blocks` whole blocks as returned by piece_at(); 0: part of one block.
 */
static void advance(struct cursor *c, size_t bytes, size_t blocks)
{
    struct level *l = c->top;
    if (l->map->contiguous && l == c->level) {
        l->base += bytes;
        return;
    }
    if (!blocks) {
        c->skip += bytes;
        if (c->skip < block_bytes(run_of(l), l->block))
            return;
        blocks = 1;
    }
    c->skip = 0;
    pass_blocks(c, blocks);
}

/* ---- two typemaps ---- */

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

void typemap_walk(char *a, const struct typemap *a_map, char *b, const struct typemap *b_map,
                  size_t total, piece_fn *piece, void *context)
{
    if (!total)
        return;
    struct cursor ca, cb;
    start_cursor(&ca, a, a_map);
    start_cursor(&cb, b, b_map);
    while (total) {
        struct piece a_own = piece_at(&ca, total), b_own = piece_at(&cb, total);
        size_t bytes = min_size(min_size(a_own.bytes, b_own.bytes), total);
        struct piece a_part = in_blocks_of(a_own, bytes), b_part = in_blocks_of(b_own, bytes);
        size_t blocks = min_size(min_size(a_part.blocks, b_part.blocks), total / bytes);
        piece(context, a_part.at, a_part.stride, b_part.at, b_part.stride, bytes, blocks);
        total -= bytes * blocks;
        advance(&ca, bytes * blocks, a_own.bytes == bytes ? blocks : 0);
        advance(&cb, bytes * blocks, b_own.bytes == bytes ? blocks : 0);
    }
}

/* ---- a typemap and plain memory ---- */

/* Copy blocks between plain memory, where they are `step` bytes apart, and a buffer. */
static inline void move_blocks(char *plain, ptrdiff_t step, char *data, ptrdiff_t stride,
                               size_t bytes, size_t blocks, bool read)
{
    if (read)
        copy_blocks(plain, step, data, stride, bytes, blocks);
    else
        copy_blocks(data, stride, plain, step, bytes, blocks);
}

/* Copy whole copies of the flat typemap at the cursor, run by run. Returns the bytes copied; 0: the
 * cursor is inside a copy, or there are too few. */
static size_t move_records(struct cursor *c, char *plain, size_t total, bool read)
{
    struct level *l = c->top;
    const struct typemap *map = l->map;
    const struct run *outer = l == c->level ? NULL : run_of(l - 1);
    if (!map->flat || map->run_count == 1 || l->run || c->skip || (outer && outer->list) ||
        total < 2 * map->size)
        return 0;
    size_t copies = min_size(total / map->size, RECORDS);
    if (outer)
        copies = min_size(copies, outer->blocks - l[-1].block);
    ptrdiff_t stride = outer ? outer->stride : map->extent;
    for (size_t r = 0; r < map->run_count; r++) {
        const struct run *run = &map->runs[r];
        move_blocks(plain + run->before, (ptrdiff_t)map->size, l->base + run->at, stride,
                    run->bytes, copies, read);
    }
    l->base += (ptrdiff_t)(copies - 1) * stride;
    if (outer)
        l[-1].block += copies - 1;
    next_copy(c);
    return copies * map->size;
}

#define MOVE_LISTED(n)                                \
    for (size_t i = 0; i < blocks; i++, plain += (n)) \
        if (read)                                     \
            copy_bytes(plain, base + offset[i], (n)); \
        else                                          \
            copy_bytes(base + offset[i], plain, (n))

/* Copy blocks of a list. The usual sizes have loops of their own. */
static void move_equal(char *plain, char *base, const ptrdiff_t *offset, size_t bytes,
                       size_t blocks, bool read)
{
    switch (bytes) {
    case 4:
        MOVE_LISTED(4);
        break;
    case 8:
        MOVE_LISTED(8);
        break;
    case 16:
        MOVE_LISTED(16);
        break;
    default:
        MOVE_LISTED(bytes);
    }
}
#undef MOVE_LISTED

/* Copy blocks [first, end) of the list, as far as they end within `total` bytes. Returns the
 * end. */
static size_t move_varying(char *plain, char *base, const struct block_list *list, size_t first,
                           size_t end, size_t total, bool read)
{
    const size_t *before = list->before;
    size_t i = first;
    for (; i < end && before[i + 1] - before[first] <= total; i++) {
        char *at = plain + (before[i] - before[first]), *data = base + list->offset[i];
        copy_bytes(read ? at : data, read ? data : at, before[i + 1] - before[i]);
    }
    return i;
}

/* Copy whole blocks of the list at the cursor. Returns the bytes copied; 0: there is no list, or no
 * whole block. */
static size_t move_list(struct cursor *c, char *plain, size_t total, bool read)
{
    struct level *l = c->top;
    const struct run *run = run_of(l);
    if (!run->list || c->skip)
        return 0;
    size_t blocks = run->blocks - l->block, done;
    char *base = l->base + run->at;
    if (run->bytes) {
        blocks = min_size(blocks, total / run->bytes);
        done = blocks * run->bytes;
        move_equal(plain, base, &run->list->offset[l->block], run->bytes, blocks, read);
    } else {
        size_t end = move_varying(plain, base, run->list, l->block, run->blocks, total, read);
        done = run->list->before[end] - run->list->before[l->block];
        blocks = end - l->block;
    }
    if (blocks)
        pass_blocks(c, blocks);
    return done;
}

/* Copy what is at the cursor: a vector, or a part of a block. */
static size_t move_piece(struct cursor *c, char *plain, size_t total, bool read)
{
    struct piece p = piece_at(c, total);
    size_t bytes = min_size(p.bytes, total), blocks = min_size(p.blocks, total / bytes);
    move_blocks(plain, (ptrdiff_t)bytes, p.at, p.stride, bytes, blocks, read);
    advance(c, bytes * blocks, bytes == p.bytes ? blocks : 0);
    return bytes * blocks;
}

/* Copy the next `total` bytes of data. `read`: to plain memory. */
static void move(struct cursor *c, char *plain, size_t total, bool read)
{
    while (total) {
        size_t done = move_records(c, plain, total, read);
        if (!done)
            done = move_list(c, plain, total, read);
        if (!done)
            done = move_piece(c, plain, total, read);
        plain += done;
        total -= done;
    }
}

/* ---- copying ---- */

static void copy_piece(void *context, char *to, ptrdiff_t to_stride, char *from,
                       ptrdiff_t from_stride, size_t bytes, size_t blocks)
{
    (void)context;
    copy_blocks(to, to_stride, from, from_stride, bytes, blocks);
}

/* Copy between typemaps with many short blocks, which move() copies faster than a walk of both. */
static void copy_by_bounce(char *to, const struct typemap *to_map, char *from,
                           const struct typemap *from_map, size_t total)
{
    char bounce[BOUNCE];
    struct cursor target, source;
    start_cursor(&target, to, to_map);
    start_cursor(&source, from, from_map);
    while (total) {
        size_t part = min_size(total, BOUNCE);
        move(&source, bounce, part, true);
        move(&target, bounce, part, false);
        total -= part;
    }
}

/* Copy whole copies of a flat typemap to the same offsets, run by run. False: it is not flat, or
 * the last copy is not whole. */
static bool copy_records(char *to, const char *from, const struct typemap *map, size_t total)
{
    if (!map->flat || total % map->size)
        return false;
    for (size_t copies = total / map->size, part; copies; copies -= part) {
        part = min_size(copies, RECORDS);
        for (size_t r = 0; r < map->run_count; r++) {
            const struct run *run = &map->runs[r];
            copy_blocks(to + run->at, map->extent, from + run->at, map->extent, run->bytes, part);
        }
        to += (ptrdiff_t)part * map->extent;
        from += (ptrdiff_t)part * map->extent;
    }
    return true;
}

static void copy_plain(char *data, const struct typemap *map, char *plain, size_t total, bool read)
{
    struct cursor c;
    start_cursor(&c, data, map);
    move(&c, plain, total, read);
}

void typemap_copy(char *to, const struct typemap *to_map, const char *from,
                  const struct typemap *from_map, size_t total)
{
    if (!total) /* the addresses may be NULL, which memmove() does not allow */
        return;
    if (to_map->contiguous && from_map->contiguous)
        copy_bytes(to, from, total);
    else if (from_map->contiguous)
        copy_plain(to, to_map, (char *)from, total, false);
    else if (to_map->contiguous)
        copy_plain((char *)from, from_map, to, total, true);
    else if (to_map == from_map && copy_records(to, from, to_map, total))
        return;
    else if (to_map->fine || from_map->fine)
        copy_by_bounce(to, to_map, (char *)from, from_map, total);
    else
        typemap_walk(to, to_map, (char *)from, from_map, total, copy_piece, NULL);
}

/* Copy between a buffer and plain memory. `read`: out of the buffer, usually into a shared cell
 * that a peer reads next. */
static void transfer_typemap(struct buffer b, size_t first, char *plain, size_t bytes, bool read)
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
    struct cursor data;
    cursor_at(&data, b.at, map, first);
    move(&data, plain, bytes, read);
}

void buffer_read(char *to, struct buffer from, size_t first, size_t bytes)
{
    transfer_typemap(from, first, to, bytes, true);
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
    transfer_typemap(to, first, (char *)from, bytes, false);
}
