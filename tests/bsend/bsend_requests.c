/* MPI_Ibsend and MPI_Bsend_init: their requests complete without the receiver, and work in Test,
 * Waitany, Waitsome, Testall, Request_get_status, Request_free and Cancel. Persistent requests
 * outlive their datatype. */
#include "bsend.h"

enum { REQUESTS = 6, ROUNDS = 5 };

/* With the argument "cancel", cancels a persistent request, for which MPICH 4.0 alone waits for
 * ever. */
static bool cancel_started;

static unsigned char out[REQUESTS][LONG], in[LONG];
static int seeds;

static void receive_all(int round)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < REQUESTS && test_rank == 1; r++) {
        memset(in, 0, LONG);
        MPI_Recv(in, LONG, MPI_BYTE, 0, r, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(!wrong_bytes(in, LONG, (unsigned)(r + seeds)), "round %d, message %d", round, r);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void complete(MPI_Request *request, int kind)
{
    int flag = 0, index, indices[REQUESTS];
    switch (kind % 5) {
    case 0:
        while (!flag)
            MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
        CHECK(index == 0, "%d", index);
        break;
    case 2:
        MPI_Waitsome(1, request, &index, indices, MPI_STATUSES_IGNORE);
        CHECK(index == 1 && indices[0] == 0, "%d", index);
        break;
    case 3:
        while (!flag)
            MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
        MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE);
        CHECK(flag, "incomplete after having been complete");
        break;
    default:
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}

static void immediate(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int r = 0; r < REQUESTS && test_rank == 0; r++) {
            MPI_Request request;
            MPI_Ibsend(out[r], LONG, MPI_BYTE, 1, r, MPI_COMM_WORLD, &request);
            complete(&request, r + round);
            CHECK(request == MPI_REQUEST_NULL, "still a request");
        }
        receive_all(round);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Request request;
    CHECK_CLASS(MPI_Ibsend(out[0], LONG, MPI_BYTE, test_size, 0, MPI_COMM_WORLD, &request),
                MPI_ERR_RANK);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Either the message is cancelled, or it arrives (MPI-4.0, 3.8.4). */
static void cancel(MPI_Request *request)
{
    MPI_Status status;
    int cancelled = 0, flag;
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0) {
        MPI_Cancel(request);
        MPI_Wait(request, &status);
        MPI_Test_cancelled(&status, &cancelled);
    }
    MPI_Bcast(&cancelled, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (test_rank != 1)
        return;
    if (cancelled) {
        MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag, "cancelled, and here");
        return;
    }
    memset(in, 0, LONG);
    MPI_Recv(in, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(!wrong_bytes(in, LONG, 0), "not cancelled");
}

static void cancelling(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    for (int round = 0; round < ROUNDS; round++) {
        if (test_rank == 0)
            MPI_Ibsend(out[0], LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        cancel(&request);
    }
    if (test_rank == 0)
        MPI_Bsend_init(out[0], LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    for (int round = 0; round < ROUNDS && cancel_started; round++) {
        if (test_rank == 0)
            MPI_Start(&request);
        cancel(&request);
    }
    if (test_rank == 0)
        MPI_Request_free(&request);
    /* freed before it may be complete */
    for (int round = 0; round < ROUNDS; round++) {
        if (test_rank == 0) {
            MPI_Ibsend(out[0], LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
            MPI_Request_free(&request);
            CHECK(request == MPI_REQUEST_NULL, "still a request");
        } else if (test_rank == 1) {
            memset(in, 0, LONG);
            MPI_Recv(in, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(!wrong_bytes(in, LONG, 0), "a request that was freed");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void persistent(void)
{
    MPI_Request requests[REQUESTS];
    MPI_Datatype type;
    MPI_Type_contiguous(LONG, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int r = 0; r < REQUESTS && test_rank == 0; r++)
        MPI_Bsend_init(out[r], 1, type, 1, r, MPI_COMM_WORLD, &requests[r]);
    MPI_Type_free(&type);
    for (int round = 0; round < ROUNDS; round++) {
        for (int r = 0; r < REQUESTS && round == 2; r++)
            fill(out[r], LONG, (unsigned)(r + REQUESTS));
        seeds = round < 2 ? 0 : REQUESTS;
        if (test_rank == 0 && round % 2) {
            MPI_Startall(REQUESTS, requests);
            MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE);
        } else if (test_rank == 0) {
            for (int r = 0; r < REQUESTS; r++) {
                MPI_Start(&requests[r]);
                complete(&requests[r], r + round);
                CHECK(requests[r] != MPI_REQUEST_NULL, "a persistent request is gone");
            }
        }
        receive_all(round);
    }
    for (int r = 0; r < REQUESTS && test_rank == 0; r++)
        MPI_Request_free(&requests[r]);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    cancel_started = host_is("Open MPI") || (argc > 1 && !strcmp(argv[1], "cancel"));
    attach(room_for(REQUESTS + 1, LONG));
    for (int r = 0; r < REQUESTS; r++)
        fill(out[r], LONG, (unsigned)r);
    immediate();
    cancelling();
    persistent();
    detach();
    return test_end();
}
