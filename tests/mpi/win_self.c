/* A window of a single process may use any memory: static, stack, malloc. */
#include "test.h"

static int fixed[100];

static void use(int *memory, MPI_Comm comm)
{
    int result = 0, ten = 10, eleven = 11;
    MPI_Win win;
    MPI_Win_create(memory, 100 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&ten, 1, MPI_INT, 0, 99, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(memory[99] == 10, "%d", memory[99]);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Accumulate(&eleven, 1, MPI_INT, 0, 99, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Get(&result, 1, MPI_INT, 0, 99, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    CHECK(result == 21, "%d", result);
    MPI_Group group;
    MPI_Win_get_group(win, &group);
    MPI_Win_post(group, 0, win);
    MPI_Win_start(group, 0, win);
    MPI_Put(&ten, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    CHECK(memory[0] == 10, "%d", memory[0]);
    MPI_Group_free(&group);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int on_stack[100] = {0}, *of_malloc = calloc(100, sizeof *of_malloc);
    test_begin(&argc, &argv);
    MPI_Comm alone;
    MPI_Comm_split(MPI_COMM_WORLD, test_rank, 0, &alone);
    use(fixed, MPI_COMM_SELF);
    use(on_stack, alone);
    use(of_malloc, MPI_COMM_SELF);
    MPI_Comm_free(&alone);
    free(of_malloc);
    return test_end();
}
