/* MPI_MAXLOC and MPI_MINLOC on every pair datatype: of equal values the lower index wins, and the
 * padding between value and index is not written (MPI-4.0, 6.9.4). */
#include "test.h"

#include <float.h>
#include <stddef.h>

enum {
    COUNT = 20,
    PAIR_MAX = 32,
    LONG_DOUBLE_BYTES = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double), /* the rest is padding */
};

/* All pairs as long double and long, and the offsets of their parts. */
struct pair {
    long double value;
    long index;
};

enum part { FLOAT, DOUBLE, LONG_DOUBLE, LONG, INT, SHORT };

struct layout {
    const char *name;
    MPI_Datatype handle;
    enum part value, index;
    size_t index_at, extent;
};

static size_t size_of(enum part part)
{
    static const size_t sizes[] = {sizeof(float), sizeof(double), LONG_DOUBLE_BYTES,
                                   sizeof(long),  sizeof(int),    sizeof(short)};
    return sizes[part];
}

static void store(enum part part, long double value, void *to)
{
#define CASE(name, type)                \
    case name: {                        \
        type as = (type)value;          \
        memcpy(to, &as, size_of(part)); \
        break;                          \
    }
    switch (part) {
        CASE(FLOAT, float)
        CASE(DOUBLE, double)
        CASE(LONG_DOUBLE, long double)
        CASE(LONG, long)
        CASE(INT, int)
        CASE(SHORT, short)
    }
#undef CASE
}

static struct pair pair_of(int i, int salt)
{
    return (struct pair){(i * 3 + salt) % 4, (i * 5 + salt) % 7};
}

static void put_pair(const struct layout *l, struct pair pair, char *to)
{
    store(l->value, pair.value, to);
    store(l->index, pair.index, to + l->index_at);
}

static struct pair better(struct pair a, struct pair b, MPI_Op op)
{
    if (op == MPI_REPLACE)
        return b;
    if (op == MPI_NO_OP)
        return a;
    if (a.value == b.value)
        return a.index < b.index ? a : b;
    return (a.value > b.value) == (op == MPI_MAXLOC) ? a : b;
}

static void one(const struct layout *l, MPI_Op op, int count, bool fetch, MPI_Win win)
{
    char before[COUNT * PAIR_MAX], in[COUNT * PAIR_MAX], expected[COUNT * PAIR_MAX];
    char out[COUNT * PAIR_MAX], fetched[COUNT * PAIR_MAX], expected_fetched[COUNT * PAIR_MAX];
    int target = test_next(), bytes = (int)(COUNT * l->extent);
    memset(before, 0x11, sizeof before);
    memset(in, 0x22, sizeof in);
    memset(fetched, 0x33, sizeof fetched);
    memset(expected_fetched, 0x33, sizeof expected_fetched);
    for (int i = 0; i < COUNT; i++)
        put_pair(l, pair_of(i, 1), before + i * l->extent);
    memcpy(expected, before, sizeof expected);
    for (int i = 0; i < count; i++) {
        struct pair a = pair_of(i, 1), b = pair_of(i, 2);
        put_pair(l, b, in + i * l->extent);
        put_pair(l, better(a, b, op), expected + i * l->extent);
        put_pair(l, a, expected_fetched + i * l->extent);
    }
    MPI_Put(before, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    if (fetch && count == 1)
        MPI_Fetch_and_op(in, fetched, l->handle, target, 0, op, win);
    else if (fetch)
        MPI_Get_accumulate(in, count, l->handle, fetched, count, l->handle, target, 0, count,
                           l->handle, op, win);
    else
        MPI_Accumulate(in, count, l->handle, target, 0, count, l->handle, op, win);
    MPI_Win_flush(target, win);
    MPI_Get(out, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    for (int i = 0; i < bytes; i++) {
        size_t in_pair = (size_t)i % l->extent;
        bool pads = l->value == LONG_DOUBLE && in_pair >= LONG_DOUBLE_BYTES &&
                    in_pair < sizeof(long double);
        CHECK(pads || out[i] == expected[i], "%s, count %d: byte %zu of pair %zu", l->name, count,
              in_pair, (size_t)i / l->extent);
        CHECK(pads || !fetch || fetched[i] == expected_fetched[i],
              "%s, count %d: fetched byte %zu of pair %zu", l->name, count, in_pair,
              (size_t)i / l->extent);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
#define PAIR(handle, value, value_type, index, index_type) \
    {                                                      \
#handle, handle, value, index,                     \
            offsetof(                                      \
                struct {                                   \
                    value_type v;                          \
                    index_type i;                          \
                },                                         \
                i),                                        \
            sizeof(struct {                                \
                value_type v;                              \
                index_type i;                              \
            })                                             \
    }
    const struct layout layouts[] = {
        PAIR(MPI_FLOAT_INT, FLOAT, float, INT, int),
        PAIR(MPI_DOUBLE_INT, DOUBLE, double, INT, int),
        PAIR(MPI_LONG_INT, LONG, long, INT, int),
        PAIR(MPI_2INT, INT, int, INT, int),
        PAIR(MPI_SHORT_INT, SHORT, short, INT, int),
        PAIR(MPI_LONG_DOUBLE_INT, LONG_DOUBLE, long double, INT, int),
        PAIR(MPI_2INTEGER, INT, int, INT, int),
        PAIR(MPI_2REAL, FLOAT, float, FLOAT, float),
        PAIR(MPI_2DOUBLE_PRECISION, DOUBLE, double, DOUBLE, double),
    };
    const MPI_Op ops[] = {MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    char *memory = window_memory(COUNT * PAIR_MAX);
    MPI_Win win = window_over(memory, COUNT * PAIR_MAX, 1);
    MPI_Win_lock_all(0, win);
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
        for (size_t op = 0; op < sizeof ops / sizeof *ops; op++)
            for (int fetch = ops[op] == MPI_NO_OP; fetch < 2; fetch++) {
                one(&layouts[l], ops[op], 1, fetch, win);
                one(&layouts[l], ops[op], COUNT - 1, fetch, win);
            }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
