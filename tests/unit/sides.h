/* Random arguments of collectives: sizes, data, and buffers of all kinds, with the expected content
 * and guard bytes. What MPI requires to be equal on all ranks is equal. */
#ifndef UNIT_SIDES_H
#define UNIT_SIDES_H

#include "tests/unit/teams.h"

/* ---- random numbers ---- */

struct play {
    struct team *t;
    unsigned me, n;
    uint64_t round;
    struct chance all, own; /* the same on all ranks; of this rank only */
    bool plain;             /* a call without counts: all ranks know that blocks are equal */
};

static const size_t sizes[] = {0,     1,     8,     112,   113,    8192,   8193,  32767,
                               32768, 32769, 65535, 65536, 200000, 262144, 700000};

/* The most bytes that all ranks together send in a round. */
static size_t bytes_a_round;

/* The most that one rank sends to another one. */
static inline size_t budget(struct play *p)
{
    size_t usual = bytes_a_round / p->n / p->n;
    return below(&p->all, 8) ? usual : usual * 8;
}

static inline size_t any_size(struct chance *all, size_t limit)
{
    size_t size =
        below(all, 4) ? sizes[below(all, sizeof sizes / sizeof *sizes)] : below(all, 3000);
    return size > limit ? size % (limit + 1) : size;
}

/* The sizes of the blocks of all ranks, equal or not. */
static inline void any_sizes(struct play *p, size_t *size)
{
    size_t room = budget(p) * p->n, equal = any_size(&p->all, room / p->n);
    bool vary = below(&p->all, 2);
    p->plain = !vary && below(&p->all, 2);
    for (unsigned r = 0; r < p->n; r++) {
        size[r] = vary ? below(&p->all, 3) ? any_size(&p->all, room / 2) : 0 : equal;
        room -= vary ? size[r] : 0;
    }
}

/* ---- data ---- */

/* Byte i of any data: no piece or cell equals the one before or after it. */
static inline unsigned char datum_byte(size_t i)
{
    return (unsigned char)(i * 167 + (i >> 8) * 59 + (i >> 15) * 83);
}

/* The data that `from` sends to `to`; different in every round and between any two ranks. */
static inline char *datum(const struct play *p, unsigned from, unsigned to, size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    size_t start = from * 101 + to * 29 + p->round * 211;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(start + datum_byte(i));
    return (char *)data;
}

/* ---- buffers ---- */

/* Memory with blocks of data, and an image of how it should be at the end. */
struct side {
    struct blocks blocks;
    unsigned n;
    int counts[UNIT_RANKS_MAX], displs[UNIT_RANKS_MAX];
    int64_t wide_counts[UNIT_RANKS_MAX], wide_displs[UNIT_RANKS_MAX];
    const struct typemap *maps[UNIT_RANKS_MAX];
    struct typemap *made[UNIT_RANKS_MAX];
    unsigned made_count;
    char *memory, *image;
    size_t size;
    bool shared;
};

enum { UNTOUCHED = 0xa5, GUARD = 64 };

/* 8 bytes of data in 24. */
static inline const struct typemap *spaced(void)
{
    static struct typemap *map;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (!map) {
        map = typemap_derived();
        typemap_append(map, I32, 4, 1);
        typemap_append(map, I32, 12, 1);
        typemap_end(map, 24);
    }
    pthread_mutex_unlock(&mutex);
    return map;
}

/* `bytes` bytes in a few pieces, with gaps. */
static inline const struct typemap *scattered(struct side *s, struct chance *c, size_t bytes)
{
    struct typemap *map = typemap_derived();
    ptrdiff_t at = below(c, 20);
    for (size_t done = 0; done < bytes;) {
        size_t piece = 1 + any(c) % (bytes / 3 + 1);
        piece = min_size(piece, bytes - done);
        typemap_append(map, BYTES, at, piece);
        at += (ptrdiff_t)(piece + below(c, 40));
        done += piece;
    }
    typemap_end(map, at + 3);
    return s->made[s->made_count++] = map;
}

static inline void reserve(struct side *s, bool shared)
{
    ptrdiff_t lowest = 0, highest = 0;
    for (unsigned r = 0; r < s->n; r++) {
        struct buffer b = block_of(&s->blocks, r);
        ptrdiff_t low, high, at = (ptrdiff_t)b.at;
        INSIST(typemap_span(b.map, b.count, &low, &high), "no span");
        lowest = at + low < lowest ? at + low : lowest;
        highest = at + high > highest ? at + high : highest;
    }
    s->shared = shared;
    s->size = (size_t)(highest - lowest) + 2 * GUARD;
    s->memory = shared ? arena_alloc(s->size, LINE) : malloc(s->size);
    s->image = malloc(s->size);
    memset(s->memory, UNTOUCHED, s->size);
    memset(s->image, UNTOUCHED, s->size);
    s->blocks.at = s->memory + GUARD - lowest;
}

/* Blocks of one datatype, adjacent or in another order with gaps. */
static inline void lay_out_elements(struct side *s, struct chance *own, unsigned n,
                                    const struct typemap *map, const size_t *elements, bool plain)
{
    int at = (int)below(own, 3);
    unsigned first = below(own, n);
    s->n = n;
    s->blocks = (struct blocks){.map = map, .count = elements[0]};
    for (unsigned i = 0; i < n; i++) {
        unsigned r = (first + i) % n;
        s->wide_counts[r] = s->counts[r] = (int)elements[r];
        s->wide_displs[r] = s->displs[r] = at;
        at += s->counts[r] + (int)below(own, 3);
    }
    if (plain)
        return;
    s->blocks.wide = below(own, 2);
    s->blocks.counts = s->blocks.wide ? (const void *)s->wide_counts : s->counts;
    s->blocks.displs = s->blocks.wide ? (const void *)s->wide_displs : s->displs;
}

/* Each block has its own datatype. */
static inline void lay_out_mixed(struct side *s, struct chance *own, unsigned n, const size_t *size)
{
    int64_t at = below(own, 30);
    s->n = n;
    s->blocks = (struct blocks){.wide = true};
    s->blocks.maps = s->maps;
    s->blocks.counts = s->wide_counts;
    s->blocks.displs = s->wide_displs;
    for (unsigned i = 0; i < n; i++) {
        unsigned r = n - 1 - i;
        bool words = size[r] % 8 == 0 && below(own, 2), whole = !words && below(own, 2);
        s->maps[r] = words ? spaced() : whole ? BYTES : scattered(s, own, size[r]);
        s->wide_counts[r] = words ? (int64_t)size[r] / 8 : whole ? (int64_t)size[r] : 1;
        s->wide_displs[r] = at;
        at += s->wide_counts[r] * s->maps[r]->extent + below(own, 30);
    }
}

/* Buffers of `n` blocks. `any_kind`: blocks may have different datatypes. */
static inline void lay_out(struct side *s, struct play *p, unsigned n, const size_t *size,
                           bool any_kind)
{
    size_t words[UNIT_RANKS_MAX];
    bool whole_words = true;
    s->made_count = 0;
    for (unsigned r = 0; r < n; r++) {
        words[r] = size[r] / 8;
        whole_words &= size[r] % 8 == 0;
    }
    if (any_kind && !p->plain && below(&p->own, 3) == 0)
        lay_out_mixed(s, &p->own, n, size);
    else if (whole_words && below(&p->own, 3) == 0)
        lay_out_elements(s, &p->own, n, spaced(), words, p->plain);
    else
        lay_out_elements(s, &p->own, n, BYTES, size, p->plain);
    reserve(s, below(&p->own, 2));
}

/* A buffer that is no array of blocks: only this rank knows its layout. */
static inline void lay_out_one(struct side *s, struct play *p, size_t size)
{
    bool plain = p->plain;
    p->plain = below(&p->own, 4);
    lay_out(s, p, 1, &size, true);
    p->plain = plain;
}

/* Stores data in a buffer, by the definition of a type map. `shift` is added to the address. */
static inline void spread(struct buffer b, ptrdiff_t shift, const char *data)
{
    const struct typemap *map = typemap_to_move(b.map);
    for (size_t i = 0; i < b.count; i++)
        for (size_t k = 0; k < map->run_count; k++)
            for (size_t block = 0; block < map->runs[k].blocks; block++) {
                ptrdiff_t at = (ptrdiff_t)i * map->extent + map->runs[k].at +
                               (ptrdiff_t)block * map->runs[k].stride;
                memcpy(b.at + shift + at, data, map->runs[k].bytes);
                data += map->runs[k].bytes;
            }
}

static inline void expect(struct side *s, unsigned block, char *data)
{
    spread(block_of(&s->blocks, block), s->image - s->memory, data);
    free(data);
}

static inline void put_data(struct side *s, unsigned block, char *data)
{
    spread(block_of(&s->blocks, block), 0, data);
    expect(s, block, data);
}

/* Compares memory and image, and overwrites the memory, which no rank may read any longer. */
static inline void finish(struct play *p, struct side *s, const char *what)
{
    size_t i = 0;
    if (memcmp(s->memory, s->image, s->size) != 0)
        while (s->memory[i] == s->image[i])
            i++;
    else
        i = s->size;
    EXPECT(i == s->size, "%s: rank %u of %u, round %ju, byte %zu of %zu is %d, not %d", what, p->me,
           p->n, (uintmax_t)p->round, i, s->size, s->memory[i], s->image[i]);
    memset(s->memory, 0x5a, s->size);
    if (s->shared)
        arena_free(s->memory);
    else
        free(s->memory);
    free(s->image);
    for (unsigned k = 0; k < s->made_count; k++)
        typemap_free(s->made[k]);
    free(s);
}

static inline struct side *new_side(void)
{
    return calloc(1, sizeof(struct side));
}

static inline struct buffer whole(struct side *s)
{
    return block_of(&s->blocks, 0);
}

#endif
