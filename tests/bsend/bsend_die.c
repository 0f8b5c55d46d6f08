/* Ways to end a job with buffered messages under way, for tests/memory/killed: rank 0 is killed by
 * SIGKILL, or calls MPI_Abort, while the other ranks wait for another message from it. */
#include "bsend.h"
#include "die.h"

int main(int argc, char **argv)
{
    static unsigned char out[LONG];
    test_begin(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "";
    note_pid();
    attach(room_for(8, LONG));
    fill(out, LONG, 2);
    send_often(out, LONG, 0, 1, MPI_COMM_WORLD);
    if (test_rank == 0) {
        MPI_Bsend(out, LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Bsend(out, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (!strcmp(how, "abort"))
            MPI_Abort(MPI_COMM_WORLD, 3);
        die();
    }
    MPI_Recv(out, 1, MPI_BYTE, 0, 12345, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return test_end();
}
