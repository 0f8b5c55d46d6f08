/* Short messages, to other ranks and to the rank itself, more than can be under way while the
 * receiver is late, and one by one; the buffer is changed right after the last send. A communicator
 * handle may be reused for a smaller group, in which a call that was valid is an error, reported
 * for the call that the program made. */
#include "bsend.h"

#include <string.h>

enum { SHORT = 4000, MANY = 600, ROUNDS = 20, LATE_MS = 30, TAG = 40000 };

static unsigned char out[SHORT], in[SHORT];

static int length_of(int i)
{
    return (int)((unsigned)i * 2654435761u % (i % 3 ? 300 : SHORT));
}

static void send_one(int i, int to, int tag, MPI_Comm comm)
{
    fill(out, length_of(i), (unsigned)i);
    CHECK_CLASS(MPI_Bsend(out, length_of(i), MPI_BYTE, to, tag, comm), MPI_SUCCESS);
    memset(out, 0xee, sizeof out);
}

static void receive_one(int i, int from, MPI_Comm comm)
{
    MPI_Status status;
    int bytes;
    MPI_Recv(in, SHORT, MPI_BYTE, from, MPI_ANY_TAG, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    CHECK(bytes == length_of(i) && !wrong_bytes(in, bytes, (unsigned)i), "message %d, %d bytes", i,
          bytes);
}

static void send_to_all(int messages, int late, MPI_Comm comm)
{
    for (int i = 0; i < messages && test_rank == 0; i++)
        for (int to = 0; to < test_size; to++)
            send_one(i, to, i % 2 ? TAG : i, comm);
    if (test_rank && late)
        pause_ms(LATE_MS);
    for (int i = 0; i < messages; i++)
        receive_one(i, 0, comm);
    MPI_Barrier(comm);
}

static void take_turns(int rounds, MPI_Comm comm)
{
    for (int i = 0; i < rounds && test_rank < 2; i++) {
        if (test_rank == i % 2)
            send_one(i, !test_rank, 0, comm);
        else
            receive_one(i, !test_rank, comm);
    }
}

static void check_error(int code, int class)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK_CLASS(code, class);
    MPI_Error_string(code, text, &length);
    CHECK(!strstr(text, "Isend"), "names a call that is not the program's: %s", text);
}

/* Rank 1 is valid in the first communicator, and invalid in the second. */
static void reuse_handles(void)
{
    MPI_Comm both, alone;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &both);
        take_turns(8, both);
        MPI_Comm_free(&both);
        MPI_Comm_dup(MPI_COMM_SELF, &alone);
        check_error(MPI_Bsend(out, 8, MPI_BYTE, 1, 0, alone), MPI_ERR_RANK);
        check_error(MPI_Bsend(out, 8, MPI_BYTE, 0, -7, alone), MPI_ERR_TAG);
        check_error(MPI_Bsend(out, -8, MPI_BYTE, 0, 0, alone), MPI_ERR_COUNT);
        CHECK_CLASS(MPI_Bsend(out, 8, MPI_BYTE, MPI_PROC_NULL, 0, alone), MPI_SUCCESS);
        MPI_Comm_free(&alone);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    attach(room_for(MANY * test_size, SHORT));
    take_turns(2000, MPI_COMM_WORLD);
    send_to_all(MANY, 1, MPI_COMM_WORLD);
    take_turns(2000, MPI_COMM_WORLD);
    reuse_handles();
    detach();
    return test_end();
}
