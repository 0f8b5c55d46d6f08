/* Communicators are freed or disconnected while messages on them are under way: the messages arrive
 * (MPI-4.0, 7.4.3). New communicators may reuse their handles. One of the communicators is an
 * intercommunicator. */
#include "bsend.h"

static unsigned char out[LONG], in[LONG];

static void receive(int from, int tag, MPI_Comm comm)
{
    memset(in, 0, LONG);
    MPI_Recv(in, LONG, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
    CHECK(!wrong_bytes(in, LONG, 1), "tag %d", tag);
}

static void free_at_once(void)
{
    for (int i = 0; i < 20; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        send_often(out, LONG, 0, 1, comm);
        if (test_rank == 0)
            MPI_Bsend(out, LONG, MPI_BYTE, 1, i, comm);
        MPI_Request request = MPI_REQUEST_NULL;
        if (test_rank == 1) {
            pause_ms(i % 4 ? 0 : 30);
            memset(in, 0, LONG);
            MPI_Irecv(in, LONG, MPI_BYTE, 0, i, comm, &request);
        }
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (test_rank == 1)
            CHECK(!wrong_bytes(in, LONG, 1), "communicator %d", i);
    }
}

static void disconnect(void)
{
    for (int i = 0; i < 10; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        send_often(out, LONG, 0, 1, comm);
        send_often(out, LONG, 0, 1, MPI_COMM_WORLD);
        if (test_rank == 0) { /* messages on other communicators do not delay this */
            MPI_Bsend(out, LONG, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
            MPI_Bsend(out, LONG, MPI_BYTE, 1, i, comm);
        }
        if (test_rank == 1)
            receive(0, i, comm);
        MPI_Comm_disconnect(&comm);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == 1)
            receive(0, 7, MPI_COMM_WORLD);
    }
}

static void between_groups(void)
{
    MPI_Comm mine, inter;
    int side = test_rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, test_rank, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - side, 12, &inter);
    for (int i = 0; i < 10; i++) {
        int rank, remote;
        MPI_Comm_rank(inter, &rank);
        MPI_Comm_remote_size(inter, &remote);
        if (rank == 0)
            for (int r = 0; r < remote; r++)
                MPI_Bsend(out, LONG, MPI_BYTE, r, i, inter);
        receive(0, i, inter);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&mine);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    fill(out, LONG, 1);
    attach(room_for(8, LONG));
    free_at_once();
    disconnect();
    between_groups();
    detach();
    return test_end();
}
