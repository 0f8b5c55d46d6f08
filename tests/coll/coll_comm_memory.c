/* Many communicators are alive at once. Fails if those with a few short collectives take more than
 * two pages per rank, if those with some longer ones, which are used one after the other, take
 * more than the pages of their slots and the cells of a few of them, or if memory stays when all
 * ranks have freed all of them. Rank 0 frees them before the others do. */
#include "coll.h"
#include "use.h"

enum { MANY = 300, SHORT_KIB = 8, LONG_BYTES = 8000, LONG_CALLS = 60, LONG_KIB = 16 };
enum { CELLS_KIB = 8192 /* of all ranks */, LEFT_KIB = 4096 };

static void reduce(MPI_Comm comm, int calls, int elements)
{
    static double from[LONG_BYTES / sizeof(double)], to[LONG_BYTES / sizeof(double)];
    for (int call = 0; call < calls; call++) {
        from[elements - 1] = test_rank + call;
        MPI_Allreduce(from, to, elements, MPI_DOUBLE, MPI_SUM, comm);
        int expected = test_size * (test_size - 1) / 2 + test_size * call;
        CHECK(to[elements - 1] == expected, "%g", to[elements - 1]);
    }
}

/* Only rank 0 writes. Rank 0 does not run ahead, because it could not reuse cells that others still
 * read. */
static void broadcast(MPI_Comm comm)
{
    static double data[LONG_BYTES / sizeof(double)];
    for (int call = 0; call < 3; call++) {
        data[call] = test_rank ? 0 : call + 1;
        MPI_Bcast(data, LONG_BYTES / sizeof(double), MPI_DOUBLE, 0, comm);
        CHECK(data[call] == call + 1, "%g", data[call]);
    }
    MPI_Barrier(comm);
}

/* All ranks have accessed what they will. */
static long file_kib(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    long kib = measure().file_kib;
    MPI_Barrier(MPI_COMM_WORLD);
    return kib;
}

static void expect_less(const char *what, long kib, long limit)
{
    CHECK(kib < limit, "%s: %ld KiB of %ld", what, kib, limit);
}

int main(int argc, char **argv)
{
    static MPI_Comm comms[MANY];
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    reduce(MPI_COMM_WORLD, LONG_CALLS, LONG_BYTES / sizeof(double));
    long before = file_kib();
    for (int i = 0; i < MANY; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        reduce(comms[i], 5, 1);
    }
    long each = (long)MANY * test_size;
    expect_less("short collectives", file_kib() - before, each * SHORT_KIB);
    for (int i = 0; i < MANY; i++)
        broadcast(comms[i]);
    expect_less("longer broadcasts", file_kib() - before, each * SHORT_KIB + CELLS_KIB);
    for (int i = 0; i < MANY; i++)
        reduce(comms[i], LONG_CALLS, LONG_BYTES / sizeof(double));
    expect_less("longer reductions", file_kib() - before, each * LONG_KIB + CELLS_KIB);
    if (test_rank)
        MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < MANY; i++)
        MPI_Comm_free(&comms[i]);
    for (int r = 1; r < test_size && !test_rank; r++)
        MPI_Send(NULL, 0, MPI_INT, r, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* all have freed them */
    MPI_Barrier(MPI_COMM_WORLD); /* and have noticed it */
    expect_less("freed", file_kib() - before, (long)test_size * LEFT_KIB);
    return test_end();
}
