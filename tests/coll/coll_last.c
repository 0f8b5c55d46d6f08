/* Rank 0 is always the last one in the collectives of a pair, so it never waits in them. Rank 2
 * sends it a long message, and leaves MPI_Send after a few of these collectives, not after all
 * (H10: host progress while polling).
 *
 * Argument: how many of these collectives MPI_Send may take, by default 16. Other programs can
 * delay a rank, so the best of up to three attempts counts. */
#include "test.h"

#include <stdatomic.h>

enum { LONG = 2 << 20, STEPS = 64, ATTEMPTS = 3 };

static void compute(double seconds)
{
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
    }
}

/* Returns at rank 0 how many collectives began while rank 2 was in MPI_Send. */
static int attempt(MPI_Comm pair, _Atomic int *sending, char *data)
{
    double in = 1, out;
    int during = 0;
    MPI_Request request;
    if (test_rank == 0)
        MPI_Irecv(data, LONG, MPI_BYTE, 2, 1, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 8; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, pair);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 2) {
        compute(0.02); /* rank 0 computes by now */
        atomic_store(sending, 1);
        MPI_Send(data, LONG, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        atomic_store(sending, 0);
        return 0;
    }
    for (int i = 0; i < STEPS; i++) {
        if (test_rank == 0)
            compute(0.003);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, pair);
        during += atomic_load(sending);
    }
    if (test_rank == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    return during;
}

int main(int argc, char **argv)
{
    MPI_Comm pair;
    MPI_Win win;
    MPI_Aint size;
    int unit, during = 0, most = argc > 1 ? atoi(argv[1]) : 16;
    _Atomic int *sending;
    char *data = calloc(1, LONG);
    test_begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank == 2, test_rank, &pair);
    MPI_Win_allocate_shared(test_rank == 0 ? sizeof *sending : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &sending, &win);
    MPI_Win_shared_query(win, 0, &size, &unit, &sending);
    if (test_rank == 0)
        atomic_store(sending, 0);
    for (int i = 0, again = 1; i < ATTEMPTS && again; i++) {
        during = attempt(pair, sending, data);
        again = during > most;
        MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (test_rank == 0)
        CHECK(during <= most, "MPI_Send took %d collectives", during);
    MPI_Win_free(&win);
    MPI_Comm_free(&pair);
    free(data);
    return test_end();
}
