/* MPI_IN_PLACE: at the root in gather, scatter and reduce, on all ranks in the other collectives;
 * all sizes (H16: MPI_IN_PLACE). */
#include "coll.h"

enum { GAP = 7 };

static MPI_Comm comm;

static void gather(size_t n, int root)
{
    coll_turn++;
    struct buffer b = buffer_make(test_rank == root ? n * (size_t)test_size : n);
    if (test_rank == root) {
        coll_fill(b.data + (size_t)root * n, n, root, root);
        MPI_Gather(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, b.data, (int)n, MPI_BYTE, root, comm);
        for (int r = 0; r < test_size; r++)
            coll_expect("gather", b.data + (size_t)r * n, n, r, root);
    } else {
        coll_fill(b.data, n, test_rank, root);
        MPI_Gather(b.data, (int)n, MPI_BYTE, NULL, 0, MPI_DATATYPE_NULL, root, comm);
    }
    buffer_free(&b);
}

static void scatter(size_t n, int root)
{
    coll_turn++;
    struct buffer b = buffer_make(test_rank == root ? n * (size_t)test_size : n);
    if (test_rank == root) {
        for (int r = 0; r < test_size; r++)
            coll_fill(b.data + (size_t)r * n, n, root, r);
        MPI_Scatter(b.data, (int)n, MPI_BYTE, MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, root, comm);
        for (int r = 0; r < test_size; r++)
            coll_expect("what was scattered", b.data + (size_t)r * n, n, root, r);
    } else {
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, b.data, (int)n, MPI_BYTE, root, comm);
        coll_expect("scatter", b.data, n, root, test_rank);
    }
    buffer_free(&b);
}

/* Blocks in reverse order with gaps, the r-th of n + r bytes. */
static size_t displs(size_t n, int counts[16], int at[16])
{
    int next = GAP;
    for (int r = test_size - 1; r >= 0; r--) {
        counts[r] = (int)n + r;
        at[r] = next;
        next += counts[r] + GAP;
    }
    return (size_t)next;
}

static void gatherv_and_scatterv(size_t n, int root)
{
    int counts[16], at[16];
    size_t whole = displs(n, counts, at), mine = (size_t)counts[test_rank];
    coll_turn++;
    struct buffer b = buffer_make(test_rank == root ? whole : mine);
    if (test_rank == root) {
        coll_fill(b.data + at[root], mine, root, root);
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b.data, counts, at, MPI_BYTE, root, comm);
        for (int r = 0; r < test_size; r++)
            coll_expect("gatherv", b.data + at[r], (size_t)counts[r], r, root);
        coll_turn++;
        for (int r = 0; r < test_size; r++)
            coll_fill(b.data + at[r], (size_t)counts[r], root, r);
        MPI_Scatterv(b.data, counts, at, MPI_BYTE, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
        coll_expect("scatterv at the root", b.data + at[root], mine, root, root);
    } else {
        coll_fill(b.data, mine, test_rank, root);
        MPI_Gatherv(b.data, (int)mine, MPI_BYTE, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, comm);
        coll_turn++;
        MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, b.data, (int)mine, MPI_BYTE, root, comm);
        coll_expect("scatterv", b.data, mine, root, test_rank);
    }
    buffer_free(&b);
}

static void allgather(size_t n)
{
    coll_turn++;
    struct buffer b = buffer_make(n * (size_t)test_size);
    coll_fill(b.data + (size_t)test_rank * n, n, test_rank, 0);
    MPI_Allgather(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, b.data, (int)n, MPI_BYTE, comm);
    for (int r = 0; r < test_size; r++)
        coll_expect("allgather", b.data + (size_t)r * n, n, r, 0);
    buffer_free(&b);
    int counts[16], at[16];
    b = buffer_make(displs(n, counts, at));
    coll_fill(b.data + at[test_rank], (size_t)counts[test_rank], test_rank, 0);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b.data, counts, at, MPI_BYTE, comm);
    for (int r = 0; r < test_size; r++)
        coll_expect("allgatherv", b.data + at[r], (size_t)counts[r], r, 0);
    buffer_free(&b);
}

static void alltoall(size_t n)
{
    coll_turn++;
    struct buffer b = buffer_make(n * (size_t)test_size);
    for (int r = 0; r < test_size; r++)
        coll_fill(b.data + (size_t)r * n, n, test_rank, r);
    MPI_Alltoall(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, b.data, (int)n, MPI_BYTE, comm);
    for (int r = 0; r < test_size; r++)
        coll_expect("alltoall", b.data + (size_t)r * n, n, r, test_rank);
    buffer_free(&b);
}

/* Ranks r and s exchange n bytes plus r + s, or none. */
static void alltoallv(size_t n, bool by_types)
{
    int counts[16], at[16], next = GAP;
    MPI_Datatype types[16];
    coll_turn++;
    for (int i = 0; i < test_size; i++) {
        int r = (i * (test_size - 1) + test_rank) % test_size;
        counts[r] = (r + test_rank) % 3 == 2 ? 0 : (int)n + r + test_rank;
        at[r] = next;
        next += counts[r] + GAP;
        types[r] = MPI_BYTE;
    }
    struct buffer b = buffer_make((size_t)next);
    for (int r = 0; r < test_size; r++)
        coll_fill(b.data + at[r], (size_t)counts[r], test_rank, r);
    if (by_types)
        MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, b.data, counts, at, types, comm);
    else
        MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b.data, counts, at, MPI_BYTE,
                      comm);
    for (int r = 0; r < test_size; r++) {
        char *end = b.data + at[r] + counts[r];
        coll_expect(by_types ? "alltoallw" : "alltoallv", b.data + at[r], (size_t)counts[r], r,
                    test_rank);
        CHECK(coll_untouched(end, end + GAP), "behind block %d", r);
    }
    buffer_free(&b);
}

/* ---- reductions ---- */

static int number(int rank, size_t i)
{
    return rank * 1000 + (int)(i % 97) - (int)coll_turn;
}

static int sum(int ranks, size_t i)
{
    int total = 0;
    for (int r = 0; r < ranks; r++)
        total += number(r, i);
    return total;
}

static struct buffer numbers(size_t n)
{
    struct buffer b = buffer_make(n * sizeof(int));
    coll_turn++;
    for (size_t i = 0; i < n; i++)
        ((int *)b.data)[i] = number(test_rank, i);
    return b;
}

/* Checks that the first n elements are the sums over the first `ranks` ranks, at the offsets from
 * `first` on. */
static void expect_sums(struct buffer *b, size_t n, size_t first, int ranks, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        int got = ((int *)b->data)[i];
        if (got != sum(ranks, first + i)) {
            CHECK(got == sum(ranks, first + i), "%s: element %zu of %zu: %d", what, i, n, got);
            break;
        }
    }
    buffer_free(b);
}

static void reductions(size_t n)
{
    struct buffer b;
    int counts[16], me = test_rank;
    size_t first = 0, all = n * (size_t)test_size;
    for (int root = 0; root < test_size; root++) {
        b = numbers(n);
        MPI_Reduce(me == root ? MPI_IN_PLACE : b.data, me == root ? b.data : NULL, (int)n, MPI_INT,
                   MPI_SUM, root, comm);
        if (me == root)
            expect_sums(&b, n, 0, test_size, "reduce");
        else
            buffer_free(&b);
    }
    b = numbers(n);
    MPI_Allreduce(MPI_IN_PLACE, b.data, (int)n, MPI_INT, MPI_SUM, comm);
    expect_sums(&b, n, 0, test_size, "allreduce");
    b = numbers(n);
    MPI_Scan(MPI_IN_PLACE, b.data, (int)n, MPI_INT, MPI_SUM, comm);
    expect_sums(&b, n, 0, me + 1, "scan");
    b = numbers(n);
    MPI_Exscan(MPI_IN_PLACE, b.data, (int)n, MPI_INT, MPI_SUM, comm);
    if (me)
        expect_sums(&b, n, 0, me, "exscan");
    else
        buffer_free(&b);
    b = numbers(all);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, b.data, (int)n, MPI_INT, MPI_SUM, comm);
    expect_sums(&b, n, (size_t)me * n, test_size, "reduce_scatter_block");
    for (int r = 0; r < test_size; r++)
        counts[r] = r == 1 ? 0 : (int)n;
    for (int r = 0; r < me; r++)
        first += (size_t)counts[r];
    b = numbers(all);
    MPI_Reduce_scatter(MPI_IN_PLACE, b.data, counts, MPI_INT, MPI_SUM, comm);
    expect_sums(&b, (size_t)counts[me], first, test_size, "reduce_scatter");
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    coll_warm(comm);
    for (int s = 0; s < COLL_SIZES; s++) {
        size_t n = (size_t)coll_sizes[s];
        for (int root = 0; root < test_size; root++) {
            gather(n, root);
            scatter(n, root);
            gatherv_and_scatterv(n, root);
        }
        allgather(n);
        alltoall(n);
        alltoallv(n, false);
        alltoallv(n, true);
        reductions(n / sizeof(int));
    }
    return test_end();
}
