/* Attributes that a program attaches to MPI_COMM_SELF are copied when the program duplicates the
 * communicator, and deleted once, in MPI_Finalize (MPI-4.0, 11.2.4). Fails if the library's own
 * duplicates of MPI_COMM_SELF copy or delete them. With "bcast", rank 0 makes a collective call in
 * the delete function that the other ranks make before MPI_Finalize. */
#include "test.h"

static int copied, deleted;
static MPI_Comm twin = MPI_COMM_NULL;

static void broadcast(int call)
{
    int data = test_rank ? -1 : call;
    MPI_Bcast(&data, 1, MPI_INT, 0, twin);
    CHECK(data == call, "call %d: %d", call, data);
}

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)state;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)state;
    CHECK(value == &deleted, "another value");
    deleted++;
    if (twin != MPI_COMM_NULL && test_rank == 0)
        broadcast(2);
    return MPI_SUCCESS;
}

/* Epochs, requests and waits: all that makes the library create a communicator. */
static void work(void)
{
    int one = 1, *memory = window_memory(sizeof *memory);
    MPI_Win win;
    MPI_Request request;
    MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 1000; i++)
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Rput(&one, 1, MPI_INT, test_rank, 0, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    int key;
    test_begin(&argc, &argv);
    MPI_Comm_create_keyval(copy, delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &deleted);
    work();
    CHECK(copied == 0, "copied %d times", copied);
    CHECK(deleted == 0, "deleted %d times too early", deleted);
    if (argc > 1) {
        MPI_Comm_dup(MPI_COMM_WORLD, &twin);
        for (int call = 0; call < 2 + (test_rank > 0); call++)
            broadcast(call);
    }
    MPI_Finalize();
    CHECK(copied == 0, "copied %d times", copied);
    CHECK(deleted == 1, "deleted %d times", deleted);
    return test_failures ? 1 : 0;
}
