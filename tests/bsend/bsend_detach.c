/* MPI_Buffer_detach returns the program's own buffer after all messages have been delivered, also
 * to a receiver that comes late, and not earlier. The buffer's contents are undefined then. */
#include "bsend.h"

static unsigned char out[3][LONG], in[LONG], buffer[3 * (LONG + MPI_BSEND_OVERHEAD)];

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int m = 0; m < 3; m++)
        fill(out[m], LONG, (unsigned)m);
    MPI_Buffer_attach(buffer, (int)sizeof buffer);
    send_often(out[0], LONG, 0, 1, MPI_COMM_WORLD);
    send_often(out[1], LONG, 0, 1, MPI_COMM_WORLD);
    for (int round = 0; round < 3; round++) {
        int messages = round ? 3 : 1;
        fill(out[2], LONG, 2);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == 0) {
            void *at = NULL;
            int bytes = 0;
            double start = seconds();
            for (int m = 0; m < messages; m++)
                MPI_Bsend(out[m], LONG, MPI_BYTE, 1, m, MPI_COMM_WORLD);
            memset(out[2], 0xee, LONG);
            CHECK(seconds() - start < 0.3, "a buffered send has waited");
            MPI_Buffer_detach(&at, &bytes);
            CHECK(at == buffer && bytes == (int)sizeof buffer, "%p %d", at, bytes);
            CHECK(seconds() - start > 0.3, "detached before all was received");
            memset(buffer, 0xdd, sizeof buffer);
            MPI_Buffer_attach(buffer, (int)sizeof buffer);
        } else if (test_rank == 1) {
            pause_ms(400);
            for (int m = messages - 1; m >= 0; m--) {
                MPI_Recv(in, LONG, MPI_BYTE, 0, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(!wrong_bytes(in, LONG, (unsigned)m), "round %d, message %d", round, m);
            }
        }
    }
    void *at;
    int bytes;
    MPI_Buffer_detach(&at, &bytes);
    return test_end();
}
