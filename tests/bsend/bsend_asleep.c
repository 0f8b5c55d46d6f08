/* MPI_Bsend completes without the receiver, however many messages are on their way: it is not in
 * MPI before all have been sent. */
#include "bsend.h"

enum { MESSAGES = 3000, LATE_MS = 1500 };

static void send_all(int bytes)
{
    static unsigned char out[LONG], in[LONG];
    attach(room_for(MESSAGES, bytes));
    fill(out, bytes, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = seconds();
    for (int i = 0; i < MESSAGES && test_rank == 0; i++)
        MPI_Bsend(out, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    CHECK(seconds() - start < LATE_MS / 2e3, "%d bytes: %g s", bytes, seconds() - start);
    if (test_rank == 1)
        pause_ms(LATE_MS);
    for (int i = 0; i < MESSAGES && test_rank == 1; i++) {
        MPI_Recv(in, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(!wrong_bytes(in, bytes, 3), "message %d", i);
    }
    detach();
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    send_all(argc > 1 ? atoi(argv[1]) : 8);
    return test_end();
}
