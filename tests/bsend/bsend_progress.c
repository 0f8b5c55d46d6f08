/* Buffered messages make progress in accelerated calls: a message is delivered while its sender
 * waits in a collective or a window (H9: host progress while waiting), and the messages of a rank
 * that only sends are delivered too. Hangs otherwise. */
#include "bsend.h"

int main(int argc, char **argv)
{
    static unsigned char out[LONG], in[LONG];
    test_begin(&argc, &argv);
    attach(room_for(4, LONG));
    fill(out, LONG, 2);
    int *value = window_memory(sizeof *value), sum;
    MPI_Win win = window_over(value, sizeof *value, 1);
    for (int i = 0; i < 40; i++) {
        int one = 1, from = test_previous();
        if (i % 5 != 4 || test_rank)
            MPI_Bsend(out, LONG, MPI_BYTE, test_next(), i, MPI_COMM_WORLD);
        else
            MPI_Send(NULL, 0, MPI_BYTE, test_next(), i, MPI_COMM_WORLD);
        if (test_rank % 2)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Status status;
        int count;
        MPI_Recv(in, LONG, MPI_BYTE, from, i, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(!wrong_bytes(in, count, 2), "message %d", i);
        if (test_rank % 2 == 0)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == test_size, "%d", sum);
        MPI_Win_fence(0, win);
        MPI_Put(&i, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(*value == i, "%d", *value);
    }
    detach();
    MPI_Win_free(&win);
    MPI_Free_mem(value);
    return test_end();
}
