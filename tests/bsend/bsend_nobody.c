/* Buffered sends to the rank itself, to MPI_PROC_NULL, and of zero length. */
#include "bsend.h"

int main(int argc, char **argv)
{
    static unsigned char out[LONG], in[LONG];
    test_begin(&argc, &argv);
    attach(room_for(6, LONG));
    fill(out, LONG, 5);
    MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (int c = 0; c < 2; c++) {
        int self;
        MPI_Comm_rank(comms[c], &self);
        for (int i = 0; i < 12; i++) {
            MPI_Bsend(out, LONG, MPI_BYTE, self, i, comms[c]);
            MPI_Bsend(out, LONG, MPI_BYTE, MPI_PROC_NULL, i, comms[c]);
            MPI_Bsend(NULL, 0, MPI_BYTE, self, i, comms[c]);
            MPI_Bsend(out, 0, MPI_INT, self, i, comms[c]);
            MPI_Bsend(out, 16, MPI_BYTE, self, i, comms[c]);
            static const int lengths[] = {LONG, 0, 0, 16};
            for (int m = 0; m < 4; m++) {
                MPI_Status status;
                int count;
                MPI_Recv(in, LONG, MPI_BYTE, self, i, comms[c], &status);
                MPI_Get_count(&status, MPI_BYTE, &count);
                CHECK(count == lengths[m], "message %d: %d bytes", m, count);
                CHECK(!wrong_bytes(in, count, 5), "message %d", m);
            }
            if (i % 4 == 3)
                fill(out, LONG, 5);
        }
    }
    detach();
    return test_end();
}
