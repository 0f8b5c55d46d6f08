/* Buffered sends in an attribute's delete function, called when a window is freed: messages of a
 * persistent request started there arrive. After the function has freed the request and detached
 * the buffer, no state of either remains. */
#include "bsend.h"

enum { REQUESTS = 8 };

static unsigned char out[LONG], in[2][LONG];
static MPI_Request persistent;

static int delete (MPI_Win win, int key, void *value, void *state)
{
    (void)win, (void)key, (void)value, (void)state;
    if (test_rank == 0) {
        MPI_Bsend(out, LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        MPI_Request_free(&persistent);
    }
    detach();
    return MPI_SUCCESS;
}

/* Requests that may reuse the handle of the freed request send only their own data. */
static void start_others(void)
{
    MPI_Request other[REQUESTS];
    int flag = 0;
    for (int r = 0; r < REQUESTS && test_rank == 0; r++)
        MPI_Send_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &other[r]);
    if (test_rank == 0) {
        MPI_Startall(REQUESTS, other);
        MPI_Waitall(REQUESTS, other, MPI_STATUSES_IGNORE);
    }
    for (int r = 0; r < REQUESTS && test_rank == 0; r++)
        MPI_Request_free(&other[r]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag, "a message of a request that was freed");
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm refusing; /* Open MPI 4.1 waits for a message that it has rejected */
    MPI_Comm_dup(MPI_COMM_WORLD, &refusing);
    MPI_Comm_set_errhandler(refusing, MPI_ERRORS_RETURN);
    int key, *memory = window_memory(sizeof *memory);
    fill(out, LONG, 1);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete, &key, NULL);
    for (int i = 0; i < 5; i++) {
        MPI_Win win = window_over(memory, sizeof *memory, 1);
        MPI_Request arriving[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Win_set_attr(win, key, memory);
        attach(room_for(4, LONG));
        send_often(out, LONG, 0, 1, MPI_COMM_WORLD);
        if (test_rank == 0)
            MPI_Bsend_init(out, LONG, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &persistent);
        for (int m = 0; m < 2 && test_rank == 1; m++) {
            memset(in[m], 0, LONG);
            MPI_Irecv(in[m], LONG, MPI_BYTE, 0, m, MPI_COMM_WORLD, &arriving[m]);
        }
        MPI_Win_free(&win);
        MPI_Waitall(2, arriving, MPI_STATUSES_IGNORE);
        for (int m = 0; m < 2 && test_rank == 1; m++)
            CHECK(!wrong_bytes(in[m], LONG, 1), "message %d", m);
        start_others();
        if (test_rank == 0)
            CHECK_CLASS(MPI_Bsend(out, LONG, MPI_BYTE, 1, 99, refusing), MPI_ERR_BUFFER);
    }
    MPI_Comm_free(&refusing);
    MPI_Win_free_keyval(&key);
    MPI_Free_mem(memory);
    return test_end();
}
