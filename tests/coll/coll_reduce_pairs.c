/* MPI_MINLOC and MPI_MAXLOC on every pair type: the extreme value with its smallest index. */
#include "coll.h"

static MPI_Comm comm;

/* Every third value is equal on all ranks, others on some; negative values show a comparison as
 * unsigned. */
static int value(int rank, int i)
{
    return (rank * i + i + (int)coll_turn) % 3 - 2;
}

/* The smallest is on the first rank, or on the last. */
static int index_of(int rank, int i)
{
    return (rank * 3 + i) % 4 * 100 + rank;
}

static int winner(int ranks, int i, bool largest)
{
    int best = 0;
    for (int r = 1; r < ranks; r++) {
        int a = value(r, i), b = value(best, i);
        if (a == b ? index_of(r, i) < index_of(best, i) : largest ? a > b : a < b)
            best = r;
    }
    return best;
}

/* struct pair of `number` and `index`, with C's layout and padding. */
#define PAIR_TEST(name, number, index)                                                      \
    static void name(MPI_Datatype type, int n)                                              \
    {                                                                                       \
        struct pair {                                                                       \
            number value;                                                                   \
            index location;                                                                 \
        };                                                                                  \
        for (int largest = 0; largest < 2; largest++) {                                     \
            MPI_Op op = largest ? MPI_MAXLOC : MPI_MINLOC;                                  \
            struct buffer out = buffer_make((size_t)n * sizeof(struct pair));               \
            struct buffer in = buffer_make((size_t)n * sizeof(struct pair));                \
            struct pair *mine = (struct pair *)out.data, *got = (struct pair *)in.data;     \
            coll_turn++;                                                                    \
            for (int i = 0; i < n; i++)                                                     \
                mine[i].value = (number)value(test_rank, i),                                \
                mine[i].location = (index)index_of(test_rank, i);                           \
            int root = (int)coll_turn % test_size;                                          \
            for (int call = 0; call < 3; call++) {                                          \
                memset(got, 0, in.bytes);                                                   \
                if (call == 0)                                                              \
                    MPI_Allreduce(mine, got, n, type, op, comm);                            \
                else if (call == 1)                                                         \
                    MPI_Reduce(mine, got, n, type, op, root, comm);                         \
                else                                                                        \
                    MPI_Scan(mine, got, n, type, op, comm);                                 \
                if (call == 1 && test_rank != root)                                         \
                    continue;                                                               \
                for (int i = 0; i < n; i++) {                                               \
                    int best = winner(call == 2 ? test_rank + 1 : test_size, i, largest);   \
                    CHECK(got[i].value == (number)value(best, i) &&                         \
                              got[i].location == (index)index_of(best, i),                  \
                          "%s, call %d, largest %d, element %d of %d: at %ld", #name, call, \
                          largest, i, n, (long)got[i].location);                            \
                }                                                                           \
            }                                                                               \
            buffer_free(&out);                                                              \
            buffer_free(&in);                                                               \
        }                                                                                   \
    }

PAIR_TEST(float_int, float, int)
PAIR_TEST(double_int, double, int)
PAIR_TEST(long_int, long, int)
PAIR_TEST(two_ints, int, int)
PAIR_TEST(short_int, short, int)
PAIR_TEST(long_double_int, long double, int)
PAIR_TEST(two_reals, float, float)
PAIR_TEST(two_doubles, double, double)

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 13, 300, 9000};
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    coll_warm(comm);
    for (int c = 0; c < (int)(sizeof counts / sizeof *counts); c++) {
        int n = counts[c];
        float_int(MPI_FLOAT_INT, n);
        double_int(MPI_DOUBLE_INT, n);
        long_int(MPI_LONG_INT, n);
        two_ints(MPI_2INT, n);
        short_int(MPI_SHORT_INT, n);
        long_double_int(MPI_LONG_DOUBLE_INT, n);
        if (MPI_2INTEGER != MPI_DATATYPE_NULL)
            two_ints(MPI_2INTEGER, n);
        if (MPI_2REAL != MPI_DATATYPE_NULL)
            two_reals(MPI_2REAL, n);
        if (MPI_2DOUBLE_PRECISION != MPI_DATATYPE_NULL)
            two_doubles(MPI_2DOUBLE_PRECISION, n);
    }
    return test_end();
}
