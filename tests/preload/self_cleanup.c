/* Libraries free their objects when MPI_Finalize deletes an attribute of MPI_COMM_SELF (MPI-4.0,
 * 11.2.4): MPI still works then, and so must windows, in epochs, requests and waits (H31: life
 * cycle). */
#include "test.h"

struct library {
    long *memory;
    MPI_Win win;
};

static int cleaned;

/* By a request. */
static long next_one_has(MPI_Win win)
{
    long value = -1;
    MPI_Request request;
    MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win);
    MPI_Rget(&value, 1, MPI_LONG, test_next(), 0, 1, MPI_LONG, win, &request);
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Win_unlock(test_next(), win);
    return value;
}

static int cleanup(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)state;
    struct library *l = value;
    long mine = 10 + test_rank;

    MPI_Win_fence(0, l->win);
    MPI_Put(&mine, 1, MPI_LONG, test_next(), 0, 1, MPI_LONG, l->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, l->win);
    CHECK(l->memory[0] == 10 + test_previous(), "%ld", l->memory[0]);

    CHECK(next_one_has(l->win) == mine, "%ld", mine);
    MPI_Win_free(&l->win);
    CHECK_CLASS(MPI_Free_mem(l->memory), MPI_SUCCESS);
    cleaned++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    struct library library;
    int key;
    test_begin(&argc, &argv);
    library.memory = window_memory(64);
    library.win = window_over(library.memory, 64, 8);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, cleanup, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &library);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(next_one_has(library.win) == 0, "before");
    MPI_Finalize();
    CHECK(cleaned == 1, "cleaned %d times", cleaned);
    return test_failures ? 1 : 0;
}
