/* A buffer for one message suffices for any number of messages, if each has been received before
 * the next is sent, also if the sender makes no other call in which the host could detect the
 * delivery. */
#include "bsend.h"

enum { ROUNDS = 6, LONGEST = 1 << 20, INTS = LONGEST / sizeof(int) };

static int out[2 * INTS], in[INTS];

static void send_all(int ints, MPI_Datatype type, int immediate)
{
    int bytes = ints * (int)sizeof *out;
    attach(room_for(1, bytes));
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < 2 * INTS; k++)
            out[k] = i;
        MPI_Request request = MPI_REQUEST_NULL;
        if (test_rank == 0 && immediate)
            MPI_Ibsend(out, 1, type, 1, 0, MPI_COMM_WORLD, &request);
        else if (test_rank == 0)
            MPI_Bsend(out, 1, type, 1, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (test_rank == 1) {
            MPI_Recv(in, ints, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(in[0] == i && in[ints - 1] == i, "%d and %d for %d", in[0], in[ints - 1], i);
        }
        if (test_rank == 0) /* so that the other ranks are there first */
            pause_ms(20);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    detach();
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int i = 0; i < 8; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int immediate = 0; immediate < 2; immediate++)
        for (int ints = 4096; ints <= INTS; ints *= INTS / 4096) {
            MPI_Datatype all, every_other;
            MPI_Type_contiguous(ints, MPI_INT, &all);
            MPI_Type_commit(&all);
            send_all(ints, all, immediate);
            MPI_Type_free(&all);
            MPI_Type_vector(ints, 1, 2, MPI_INT, &every_other);
            MPI_Type_commit(&every_other);
            send_all(ints, every_other, immediate);
            MPI_Type_free(&every_other);
        }
    return test_end();
}
