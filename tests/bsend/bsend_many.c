/* Thousands of messages are under way to a receiver that comes late. */
#include "bsend.h"

enum { MESSAGES = 10000, SHORT = 512, LONG_EVERY = 50 };

int main(int argc, char **argv)
{
    static unsigned char out[LONG], in[LONG];
    test_begin(&argc, &argv);
    attach(room_for(MESSAGES, SHORT) + room_for(MESSAGES / LONG_EVERY, LONG));
    fill(out, LONG, 3);
    send_often(out, LONG, 0, 1, MPI_COMM_WORLD);
    double start = seconds();
    for (int i = 0; i < MESSAGES && test_rank == 0; i++)
        MPI_Bsend(out, i % LONG_EVERY ? SHORT : LONG, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    if (test_rank == 1)
        pause_ms(300);
    for (int i = 0; i < MESSAGES && test_rank == 1; i++) {
        MPI_Status status;
        int count;
        MPI_Recv(in, LONG, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(status.MPI_TAG == i && count == (i % LONG_EVERY ? SHORT : LONG), "message %d", i);
        CHECK(!wrong_bytes(in, count, 3), "message %d", i);
    }
    detach();
    CHECK(seconds() - start < 30, "%g seconds", seconds() - start);
    return test_end();
}
