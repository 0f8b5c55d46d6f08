/* Floating-point sums whose last bits depend on the order of the operands: all ranks get equal
 * bits, and every repetition gives these bits again, whichever rank is late, in place and not, in
 * any kind of memory (H17: order of reductions). With the argument, MPI_Reduce to each root gives
 * the bits of MPI_Allreduce.
 */
#include "coll.h"

#include <unistd.h>

static MPI_Comm comm;

/* Of any magnitude and sign. */
static double number(int rank, int i)
{
    uint32_t h = ((uint32_t)rank * 77777u + (uint32_t)i * 3571u + 1) * 2654435761u;
    double value = (double)(h >> 4) / 1e8 + 1e-9 * i;
    for (uint32_t e = h % 7; e; e--)
        value *= 1000;
    return h & 8 ? value : -value;
}

/* One rank is late, or none. */
static void be_late(int late)
{
    if (test_rank == late)
        usleep(3000);
}

static void same(const double *got, const double *first, int n, const char *what, int late)
{
    for (int i = 0; i < n; i++)
        if (memcmp(&got[i], &first[i], sizeof *got)) {
            CHECK(!"the same bits", "%s of %d, rank %d late: element %d: %.17g, then %.17g", what,
                  n, late, i, first[i], got[i]);
            return;
        }
}

static void all_ranks_same(const double *mine, int n)
{
    double *theirs = malloc((size_t)n * sizeof *theirs);
    MPI_Status status;
    MPI_Sendrecv(mine, n, MPI_DOUBLE, test_next(), 0, theirs, n, MPI_DOUBLE, test_previous(), 0,
                 MPI_COMM_WORLD, &status);
    same(mine, theirs, n, "allreduce at the rank before", -1);
    free(theirs);
}

static void of(int n, bool roots)
{
    size_t bytes = (size_t)n * sizeof(double);
    struct buffer first = buffer_make(bytes), scan = buffer_make(bytes);
    double *all = (double *)first.data, *scanned = (double *)scan.data;
    for (int turn = 0; turn < 2 * test_size + 2; turn++) {
        int late = turn / 2 - 1;
        bool in_place = turn % 2;
        coll_turn++;
        struct buffer out = buffer_make(bytes), in = buffer_make(bytes);
        double *mine = (double *)out.data, *got = (double *)in.data;
        for (int i = 0; i < n; i++)
            mine[i] = got[i] = number(test_rank, i);
        be_late(late);
        MPI_Allreduce(in_place ? MPI_IN_PLACE : mine, got, n, MPI_DOUBLE, MPI_SUM, comm);
        if (turn == 0) {
            memcpy(all, got, bytes);
            all_ranks_same(all, n);
        }
        same(got, all, n, "allreduce", late);
        be_late(late);
        MPI_Scan(mine, got, n, MPI_DOUBLE, MPI_SUM, comm);
        if (turn == 0)
            memcpy(scanned, got, bytes);
        same(got, scanned, n, "scan", late);
        for (int root = 0; roots && root < test_size; root++) {
            be_late(late);
            MPI_Reduce(mine, got, n, MPI_DOUBLE, MPI_SUM, root, comm);
            if (test_rank == root)
                same(got, all, n, "reduce", late);
        }
        buffer_free(&out);
        buffer_free(&in);
    }
    buffer_free(&first);
    buffer_free(&scan);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 3, 17, 33, 140, 511, 513, 1025, 4097, 13000, 131072};
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    coll_warm(comm);
    for (int c = 0; c < (int)(sizeof counts / sizeof *counts); c++)
        of(counts[c], argc > 1);
    return test_end();
}
