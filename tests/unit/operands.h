/* Operands of all kinds, and their combined values. */
#ifndef UNIT_OPERANDS_H
#define UNIT_OPERANDS_H

#include "tests/unit/sides.h"

/* Composition of x -> a x + b: associative, not commutative. */
struct affine {
    uint32_t a, b;
};

static inline void compose(void *out, const void *left, const void *right, size_t n,
                           const char *ahead)
{
    (void)ahead;
    for (size_t i = 0; i < n; i++) {
        struct affine f, g, h;
        memcpy(&f, (const char *)left + i * sizeof f, sizeof f);
        memcpy(&g, (const char *)right + i * sizeof g, sizeof g);
        h = (struct affine){f.a * g.a, f.a * g.b + f.b};
        memcpy((char *)out + i * sizeof h, &h, sizeof h);
    }
}

static inline void add_bytes(void *out, const void *left, const void *right, size_t n,
                             const char *ahead)
{
    (void)ahead;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)out)[i] =
            (unsigned char)(((const unsigned char *)left)[i] + ((const unsigned char *)right)[i]);
}

/* The minimum of pairs of double and int without holes (MPI_MINLOC). */
static inline void least_pair(void *out, const void *left, const void *right, size_t n,
                              const char *ahead)
{
    (void)ahead;
    for (size_t i = 0; i < n; i++) {
        double x, y;
        int k, l;
        memcpy(&x, (const char *)left + i * 12, 8);
        memcpy(&y, (const char *)right + i * 12, 8);
        memcpy(&k, (const char *)left + i * 12 + 8, 4);
        memcpy(&l, (const char *)right + i * 12 + 8, 4);
        bool second = y < x || (!(x < y) && l < k);
        memmove((char *)out + i * 12, (const char *)(second ? right : left) + i * 12, 12);
    }
}

static inline void apply_add_bytes(const struct reducer *r, void *out, const void *a, const void *b,
                                   size_t n)
{
    (void)r;
    add_bytes(out, a, b, n, NULL);
}

static inline void apply_compose(const struct reducer *r, void *out, const void *a, const void *b,
                                 size_t n)
{
    EXPECT(r->element == sizeof(struct affine) && !r->starved);
    compose(out, a, b, n, NULL);
}

struct flavour {
    struct reducer red;
    combine_fn *define; /* the definition, on packed data */
    size_t packed;      /* bytes of data per element */
};

static inline struct flavour any_flavour(struct play *p)
{
    switch (below(&p->all, 5)) {
    case 0: /* combined in place, in any order */
        return (struct flavour){{.kernel = add_bytes, .element = 1, .map = BYTES}, add_bytes, 1};
    case 1: /* with holes */
        return (struct flavour){{.kernel = kernels_best()->combine[OP_MINLOC][PRIM_DOUBLE_INT],
                                 .element = 16,
                                 .map = type_of(PRIM_DOUBLE_INT, 12, 16)},
                                least_pair,
                                12};
    case 2: /* user-defined; the layout may differ between ranks, and whether they can divide it */
        return (struct flavour){{.apply = apply_compose,
                                 .element = 8,
                                 .map = below(&p->own, 2) ? spaced() : I64,
                                 .divides = below(&p->all, 2) || !below(&p->own, 8)},
                                compose,
                                8};
    default: /* combined in place, in rank order, like floating-point numbers */
        return (struct flavour){
            {.kernel = compose, .element = 8, .map = type_of(PRIM_F64, 8, 8)}, compose, 8};
    }
}

static inline size_t any_elements(struct play *p, const struct flavour *f)
{
    bool any_length = f->red.kernel || p->n <= TREE_FLAT || is_inter();
    size_t limit = any_length ? budget(p) * 2 : TEAM_CELL;
    return any_size(&p->all, limit) / f->red.element;
}

static inline char *operand(const struct play *p, const struct flavour *f, unsigned rank,
                            size_t elements)
{
    char *data = datum(p, rank, 7, elements * f->packed);
    for (size_t i = 0; f->packed == 12 && i < elements; i++) {
        double x = (double)((i * 7 + rank * 5 + p->round) % 11);
        int k = (int)((rank * 31 + i) % 64);
        memcpy(data + i * 12, &x, 8);
        memcpy(data + i * 12 + 8, &k, 4);
    }
    return data;
}

/* Elements [first, first + some) of the combined operands of `count` ranks from `rank` on. */
static inline char *combined(const struct play *p, const struct flavour *f, unsigned rank,
                             unsigned count, size_t elements, size_t first, size_t some)
{
    char *sum = operand(p, f, rank, elements);
    memmove(sum, sum + first * f->packed, some * f->packed);
    for (unsigned r = rank + 1; r < rank + count; r++) {
        char *next = operand(p, f, r, elements);
        f->define(sum, sum, next + first * f->packed, some, NULL);
        free(next);
    }
    return sum;
}

/* A buffer of elements; contiguous if the datatype is. */
static inline struct side *elements_side(struct play *p, const struct flavour *f, size_t elements)
{
    struct side *s = new_side();
    lay_out_elements(s, &(struct chance){p->own.state}, 1, f->red.map, &elements, true);
    reserve(s, below(&p->own, 2));
    return s;
}

#endif
