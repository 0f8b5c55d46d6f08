/* MPI_Finalize with messages under way and the buffer attached: all are delivered. With the
 * argument `many` the library has so many messages under way that it frees memory early. */
#include "bsend.h"

enum { MANY = 60, LONGER = 512 << 10 };

/* For tests/bsend/finished. */
static void note_receives(void)
{
    const char *path = getenv("BSEND_RECEIVES");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
}

static void many(void)
{
    static unsigned char out[MANY][LONGER];
    char *spare;
    attach(room_for(MANY, LONGER));
    for (int m = 0; m < MANY; m++) {
        fill(out[m], LONGER, (unsigned)m);
        send_often(out[m], LONGER, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Alloc_mem(28 << 20, MPI_INFO_NULL, &spare);
    memset(spare, 1, 28 << 20);
    MPI_Free_mem(spare);
    for (int m = 0; m < MANY && test_rank == 0; m++)
        MPI_Bsend(out[m], LONGER, MPI_BYTE, 1, m, MPI_COMM_WORLD);
    if (test_rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, MANY, MPI_COMM_WORLD);
    if (test_rank != 1)
        return;
    /* The sender is about to call MPI_Finalize. */
    MPI_Recv(NULL, 0, MPI_BYTE, 0, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pause_ms(500);
    note_receives();
    for (int m = 0; m < MANY; m++) {
        memset(out[m], 0, LONGER);
        MPI_Recv(out[m], LONGER, MPI_BYTE, 0, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(!wrong_bytes(out[m], LONGER, (unsigned)m), "message %d", m);
    }
}

int main(int argc, char **argv)
{
    static unsigned char out[2][LONG], in[LONG];
    test_begin(&argc, &argv);
    if (argc > 1) {
        many();
        return test_end();
    }
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
