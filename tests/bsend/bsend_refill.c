/* If all messages have been received before a barrier, a buffer of exactly that size has room for
 * as many messages again, although the receiver makes no MPI call before these are sent: it waits
 * for a signal. It receives as fast as possible, so that its acknowledgements find the queue full.
 * Blocking and nonblocking; with "persistent", persistent requests, which Open MPI 4.1 alone gets
 * wrong. */
#include "bsend.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 100 }; /* more than the queue of acknowledgements holds */

static unsigned char out[LONG];
static int sleeper, kinds = 2;

/* The buffered calls, in turn. */
static int send_one(int i, int bytes, MPI_Request *persistent)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int kind = i % kinds;
    int result = kind == 0   ? MPI_Bsend(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD)
                 : kind == 1 ? MPI_Ibsend(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request)
                             : MPI_Start(persistent);
    if (result == MPI_SUCCESS)
        MPI_Wait(kind == 2 ? persistent : &request, MPI_STATUS_IGNORE);
    return result;
}

static void run(int messages, int bytes)
{
    MPI_Request persistent;
    unsigned char *in = calloc((size_t)messages, (size_t)bytes);
    attach(room_for(messages, bytes));
    MPI_Bsend_init(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &persistent);
    for (int round = 0; round < ROUNDS; round++) {
        int refused = 0;
        if (round && test_rank == 1)
            sleep_until_woken();
        if (test_rank == 0) {
            fill(out, bytes, (unsigned)round);
            for (int i = 0; i < messages; i++)
                refused += send_one(i, bytes, &persistent) != MPI_SUCCESS;
            CHECK(!refused, "round %d: %d of %d messages of %d bytes refused", round, refused,
                  messages, bytes);
            if (round)
                kill(sleeper, SIGUSR1);
            for (int i = 0; i < refused; i++)
                MPI_Send(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        }
        for (int i = 0; i < messages && test_rank == 1; i++)
            MPI_Recv(in + i * bytes, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < messages && test_rank == 1; i++)
            CHECK(!wrong_bytes(in + i * bytes, bytes, (unsigned)round), "round %d, message %d",
                  round, i);
    }
    MPI_Request_free(&persistent);
    detach();
    free(in);
}

int main(int argc, char **argv)
{
    expect_wake_up();
    test_begin(&argc, &argv);
    if (argc > 1 && !strcmp(argv[1], "persistent"))
        kinds = 3;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    sleeper = getpid();
    MPI_Bcast(&sleeper, 1, MPI_INT, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 8; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    run(20, 64);
    run(200, 8000); /* which leave at once while the queue has room; a longer buffer */
    run(100, 16000);
    run(200, 16000);
    run(40, LONG);
    return test_end();
}
