/* MPI_Finalize with messages on their way and the buffer attached: all is delivered. */
#include "bsend.h"

int main(int argc, char **argv)
{
    static unsigned char out[2][LONG], in[LONG];
    test_begin(&argc, &argv);
    attach(room_for(6, LONG));
    fill(out[0], LONG, 0);
    fill(out[1], LONG, 1);
    send_often(out[0], LONG, 0, 1, MPI_COMM_WORLD);
    if (test_rank == 0) {
        MPI_Bsend(out[0], LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Bsend(out[1], LONG, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Bsend(out[0], 100, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
        memset(out[1], 0xee, LONG);
    } else if (test_rank == 1) {
        pause_ms(200);
        for (int m = 2; m >= 0; m--) {
            int bytes = m == 2 ? 100 : LONG;
            MPI_Recv(in, LONG, MPI_BYTE, 0, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(!wrong_bytes(in, bytes, m % 2), "message %d", m);
        }
    }
    return test_end();
}
