/* A buffer of MPI_Pack_size plus MPI_BSEND_OVERHEAD per message is always large enough, however
 * often it was full before, and also for messages that are sent again unchanged (H30: buffered
 * sends). */
#include "bsend.h"

enum { MESSAGES = 8, ROUNDS = 40 };

int main(int argc, char **argv)
{
    static const int sizes[] = {300, 4096, 16 << 10, LONG, 200000};
    enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 200000 };
    test_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char *at[MESSAGES], *in = malloc(MOST);
    for (int m = 0; m < MESSAGES; m++)
        fill(at[m] = malloc(MOST), MOST, (unsigned)m);
    for (int s = 0; s < SIZES; s++) {
        int n = sizes[s];
        attach(room_for(MESSAGES, n));
        for (int round = 0; round < ROUNDS; round++) {
            /* the receiver receives nothing before the last message has been sent */
            for (int m = 0; m < MESSAGES && test_rank == 0; m++)
                CHECK_CLASS(MPI_Bsend(at[m], n, MPI_BYTE, 1, m, MPI_COMM_WORLD), MPI_SUCCESS);
            MPI_Barrier(MPI_COMM_WORLD);
            for (int m = 0; m < MESSAGES && test_rank == 1; m++) {
                int tag = round % 2 ? MESSAGES - 1 - m : m;
                MPI_Recv(in, n, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(!wrong_bytes(in, n, (unsigned)tag), "round %d, %d bytes", round, n);
            }
            /* the sender detects that the messages have been received */
            MPI_Barrier(MPI_COMM_WORLD);
            if (test_rank == 0 && round % 8 == 7) {
                detach();
                attach(room_for(MESSAGES, n));
            }
        }
        detach();
    }
    return test_end();
}
