/* Reductions on communicators that span nodes, which MPIACCEL_NODE_SIZE imitates: short and long
 * data, in place and not, each root, predefined and user-defined operations, datatypes with holes,
 * and nodes whose ranks follow each other or do not. */
#include "coll.h"

enum { MODULUS = 9973 };

static const int lengths[] = {1, 3, 2048, 8192, 16384, 16385, 70001};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 70001 };

static MPI_Comm comm;
static int me, size, mark;
static int *operand, *result, *counts;

/* Element i of the operand of a rank. */
static int element_of(int rank, int i)
{
    return (rank + 1) * (i % 97 + 1) + mark;
}

/* The sum over ranks [0, ranks). */
static int sum_of(int ranks, int i)
{
    return ranks * (ranks + 1) / 2 * (i % 97 + 1) + ranks * mark;
}

static void prepare(int *own, int n)
{
    mark++;
    for (int i = 0; i < n; i++)
        own[i] = element_of(me, i);
    if (own != result)
        memset(result, 0xff, (size_t)n * sizeof *result);
}

static void expect_sum(const char *what, int ranks, int first, int n)
{
    int i = 0;
    while (i < n && result[i] == sum_of(ranks, first + i))
        i++;
    CHECK(i == n, "%s of %d elements: element %d is %d, expected %d", what, n, i, result[i],
          sum_of(ranks, first + i));
}

/* ---- predefined operations ---- */

static void all(int n, bool in_place)
{
    int *own = in_place ? result : operand;
    const void *from = in_place ? MPI_IN_PLACE : own;
    prepare(own, n);
    MPI_Allreduce(from, result, n, MPI_INT, MPI_SUM, comm);
    expect_sum("allreduce", size, 0, n);
    prepare(own, n);
    MPI_Scan(from, result, n, MPI_INT, MPI_SUM, comm);
    expect_sum("scan", me + 1, 0, n);
    prepare(own, n);
    MPI_Exscan(from, result, n, MPI_INT, MPI_SUM, comm);
    if (me)
        expect_sum("exscan", me, 0, n);
}

/* MPICH 4.0 alone crashes in place, except if rank 0 is the root. */
static void one(int n, bool in_place)
{
    for (int root = 0; root < (in_place ? 1 : size); root++) {
        bool here = me == root;
        prepare(in_place && here ? result : operand, n);
        MPI_Reduce(in_place && here ? MPI_IN_PLACE : operand, here ? result : NULL, n, MPI_INT,
                   MPI_SUM, root, comm);
        if (here)
            expect_sum("reduce", size, 0, n);
    }
}

static void parts(int n, bool in_place)
{
    int share = n / size, *own = in_place ? result : operand, first = 0;
    const void *from = in_place ? MPI_IN_PLACE : own;
    prepare(own, n);
    MPI_Reduce_scatter_block(from, result, share, MPI_INT, MPI_SUM, comm);
    expect_sum("reduce_scatter_block", size, me * share, share);
    for (int r = 0; r < size; r++)
        counts[r] = r % 2 ? 0 : n / size / (r + 1);
    for (int r = 0; r < me; r++)
        first += counts[r];
    prepare(own, n);
    MPI_Reduce_scatter(from, result, counts, MPI_INT, MPI_SUM, comm);
    expect_sum("reduce_scatter", size, first, counts[me]);
}

/* A datatype with holes, which stay as they are. */
static void pairs(int n)
{
    struct pair {
        double value;
        int rank, hole;
    } *from = malloc((size_t)n * sizeof *from), *to = malloc((size_t)n * sizeof *to);
    for (int i = 0; i < n; i++) {
        from[i] = (struct pair){(me + i) % size, me, 7};
        to[i] = (struct pair){-1, -1, 9};
    }
    MPI_Allreduce(from, to, n, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    bool good = true;
    for (int i = 0; i < n; i++)
        good &= to[i].value == size - 1 && (to[i].rank + i) % size == size - 1 && to[i].hole == 9;
    CHECK(good, "maxloc of %d pairs", n);
    free(from);
    free(to);
}

/* ---- user-defined operations ---- */

/* Affine maps x -> a x + b. To apply one after the other is associative, but does not commute. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int(*f)[2] = in, (*g)[2] = inout;
    (void)type;
    for (int i = 0; i < *length; i++) {
        int a = f[i][0] * g[i][0] % MODULUS, b = (f[i][1] * g[i][0] + g[i][1]) % MODULUS;
        g[i][0] = a;
        g[i][1] = b;
    }
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 2 * *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void user_defined(int n)
{
    MPI_Op composition, sum;
    MPI_Datatype map;
    MPI_Op_create(compose, 0, &composition);
    MPI_Op_create(add, 1, &sum);
    MPI_Type_contiguous(2, MPI_INT, &map);
    MPI_Type_commit(&map);
    prepare(operand, 2 * n);
    MPI_Allreduce(operand, result, n, map, sum, comm);
    expect_sum("a sum of the user", size, 0, 2 * n);
    for (int i = 0; i < 2 * n; i++)
        operand[i] = (me + 2) * (i + 1) % MODULUS;
    MPI_Allreduce(operand, result, n, map, composition, comm);
    int expected[2] = {1, 0}, next[2], length = 1;
    for (int r = 0; r < size; r++) {
        next[0] = (r + 2) * (2 * n - 1) % MODULUS;
        next[1] = (r + 2) * (2 * n) % MODULUS;
        compose(expected, next, &length, &map);
        memcpy(expected, next, sizeof next);
    }
    CHECK(!memcmp(expected, result + 2 * n - 2, sizeof expected), "composition of %d maps", n);
    MPI_Type_free(&map);
    MPI_Op_free(&composition);
    MPI_Op_free(&sum);
}

static void check_all(int color, int key)
{
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    coll_warm(comm);
    for (int i = 0; i < 2 * LENGTHS; i++) {
        int n = lengths[i / 2];
        all(n, i % 2);
        one(n, i % 2);
        parts(n, i % 2);
        pairs(n);
        user_defined(n / 2 + 1);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    operand = malloc((LONGEST + 2) * sizeof *operand);
    result = malloc((LONGEST + 2) * sizeof *result);
    counts = malloc((size_t)test_size * sizeof *counts);
    check_all(0, test_rank);
    check_all(0, -test_rank);
    check_all(0, test_rank % 2);
    check_all(test_rank == test_size - 1, test_rank); /* the last node has one rank less */
    free(operand);
    free(result);
    free(counts);
    return test_end();
}
