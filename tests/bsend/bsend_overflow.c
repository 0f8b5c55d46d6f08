/* A message that does not fit into the buffer returns MPI_ERR_BUFFER, nothing is sent, and the
 * program can continue. More messages than the buffer's size are permitted, but not without bound.
 * In Open MPI 4.1 the program can continue only on another communicator: the receiver waits for the
 * rejected message, which holds back all later ones of its sender. */
#include "bsend.h"

static unsigned char out[2 * LONG], in[2 * LONG];
static MPI_Comm comm;

/* Returns how many messages were sent before the buffer was full. */
static int send_until_full(int first)
{
    int sent = 0, class = MPI_SUCCESS;
    while (class == MPI_SUCCESS && sent < 100)
        if ((class = class_of(MPI_Bsend(out, LONG, MPI_BYTE, 1, first + sent, comm))) ==
            MPI_SUCCESS)
            sent++;
    CHECK(class == MPI_ERR_BUFFER, "class %d after %d messages", class, sent);
    return sent;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                            MPI_ERRORS_RETURN); /* the host's copies have that room too */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    fill(out, sizeof out, 1);
    attach(room_for(3, LONG));
    for (int round = 0; round < 5; round++) {
        int sent = 0;
        if (host_is("Open MPI") && round) {
            MPI_Comm_free(&comm);
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        }
        send_often(out, LONG, 0, 1, comm);
        if (test_rank == 0) {
            sent = send_until_full(0);
            CHECK(sent >= 3 && sent <= 12, "%d messages in the room of 3", sent);
        }
        MPI_Bcast(&sent, 1, MPI_INT, 0, MPI_COMM_WORLD);
        for (int i = 0; i < sent && test_rank == 1; i++) {
            MPI_Status status;
            MPI_Recv(in, LONG, MPI_BYTE, 0, MPI_ANY_TAG, comm, &status);
            CHECK(status.MPI_TAG == i, "round %d: %d for %d", round, status.MPI_TAG, i);
            CHECK(!wrong_bytes(in, LONG, 1), "round %d", round);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        int flag = 0;
        if (test_rank == 1)
            MPI_Iprobe(0, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag, "a message that was refused");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    detach();

    /* longer than the whole buffer: rejected each time */
    attach(LONG);
    for (int i = 0; i < 6 && test_rank == 0; i++) {
        CHECK_CLASS(MPI_Bsend(out, 2 * LONG, MPI_BYTE, 1, 0, comm), MPI_ERR_BUFFER);
        CHECK_CLASS(MPI_Bsend(out, LONG + 1, MPI_BYTE, 1, 0, comm), MPI_ERR_BUFFER);
    }
    detach();
    MPI_Comm_free(&comm);
    return test_end();
}
