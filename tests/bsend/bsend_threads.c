/* Threads send from the same buffer and from different buffers at once (H25: threads); each pair of
 * threads has a tag or a communicator of its own. */
#include "bsend.h"
#include "threads.h"

enum { THREADS = 3, MESSAGES = 300 };

static unsigned char shared[LONG];
static MPI_Comm comms[THREADS];

static void *work(void *number)
{
    int t = (int)(intptr_t)number;
    unsigned char *own = malloc(LONG), *in = malloc(LONG);
    fill(own, LONG, (unsigned)t + 10);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Comm comm = i % 2 ? comms[t] : MPI_COMM_WORLD;
        unsigned seed = i % 3 ? (unsigned)t + 10 : 1;
        if (i % 20 == 19)
            fill(own, LONG, (unsigned)t + 10);
        if (test_rank == 0) {
            MPI_Bsend(i % 3 ? own : shared, LONG, MPI_BYTE, 1, t, comm);
            if (i % 8 == 7)
                MPI_Recv(NULL, 0, MPI_BYTE, 1, t, comm, MPI_STATUS_IGNORE);
        } else if (test_rank == 1) {
            MPI_Recv(in, LONG, MPI_BYTE, 0, t, comm, MPI_STATUS_IGNORE);
            CHECK(!wrong_bytes(in, LONG, seed), "thread %d, message %d", t, i);
            if (i % 8 == 7)
                MPI_Send(NULL, 0, MPI_BYTE, 0, t, comm);
        }
    }
    free(own);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    fill(shared, LONG, 1);
    attach(room_for(10 * THREADS, LONG));
    threads_run_on_comms(THREADS, work, comms);
    detach();
    return test_end();
}
