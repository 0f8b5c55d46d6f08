/* A communicator is attached to a window as an attribute, and freed by the attribute's delete
 * function. No state of it remains when its handle is reused for another group. */
#include "kinds.h"

static int deleted;

static int delete (MPI_Win win, int key, void *value, void *state)
{
    (void)win, (void)key, (void)state;
    MPI_Comm *comm = value;
    MPI_Comm_free(comm);
    deleted++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    int key;
    int *memory = window_memory(sizeof *memory);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete, &key, NULL);
    for (int i = 0; i < 20; i++) {
        MPI_Comm kept, other;
        MPI_Win win = window_over(memory, sizeof *memory, 1);
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -test_rank : test_rank, &kept);
        MPI_Win_set_attr(win, key, &kept);
        coll_warm(kept);
        kinds_all(kept, i, "the first");
        MPI_Win_free(&win);
        CHECK(deleted == i + 1 && kept == MPI_COMM_NULL, "%d", deleted);
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? test_rank : -test_rank, &other);
        kinds_all(other, i, "the next with its handle");
        MPI_Comm_free(&other);
    }
    MPI_Win_free_keyval(&key);
    MPI_Free_mem(memory);
    return test_end();
}
