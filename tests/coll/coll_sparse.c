/* In each MPI_Alltoallv of a series, every rank sends nothing to the rank before it, and private
 * blocks to all others. Five ranks or more copy these blocks into memory that each of them frees
 * when the others have read it; but no rank waits for all others. Fails if data are wrong, or if
 * the copies take more memory than a few calls need. */
#include "coll.h"
#include "use.h"

enum { BLOCK = 8192, CALLS = 100, RANKS_MAX = 16, COPIES = 9 /* of a rank's blocks */ };

static char out[RANKS_MAX * BLOCK], in[RANKS_MAX * BLOCK];

static void exchange(void)
{
    int to[RANKS_MAX], from[RANKS_MAX], displs[RANKS_MAX];
    coll_turn++;
    for (int r = 0; r < test_size; r++) {
        to[r] = (r + 1) % test_size == test_rank ? 0 : BLOCK;
        from[r] = (test_rank + 1) % test_size == r ? 0 : BLOCK;
        displs[r] = r * BLOCK;
        coll_fill(out + displs[r], (size_t)to[r], test_rank, r);
    }
    MPI_Alltoallv(out, to, displs, MPI_CHAR, in, from, displs, MPI_CHAR, MPI_COMM_WORLD);
    for (int r = 0; r < test_size; r++)
        coll_expect("MPI_Alltoallv", in + displs[r], (size_t)from[r], r, test_rank);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    long before = measure().file_kib, copy = (test_size - 2) * BLOCK / 1024;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < CALLS; i++)
        exchange();
    MPI_Barrier(MPI_COMM_WORLD);
    long kib = measure().file_kib - before, limit = COPIES * copy * test_size;
    CHECK(kib < limit, "%ld KiB of %ld", kib, limit);
    return test_end();
}
