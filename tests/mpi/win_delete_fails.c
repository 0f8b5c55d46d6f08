/* A delete function of a window's attribute fails on one rank: MPI_Win_free returns there what it
 * returns with the host alone, and a window that remains can be used and freed. Windows that follow
 * are as new. Fails, or hangs, if ranks disagree on whether the host's window is gone. */
#include "test.h"

static int deleted;
static bool fails;

static int delete_function(MPI_Win win, int keyval, void *value, void *state)
{
    (void)win, (void)keyval, (void)value, (void)state;
    deleted++;
    return fails ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static MPI_Win create(int *memory)
{
    MPI_Win win = window_over(memory, sizeof *memory, sizeof *memory);
    MPI_Win_fence(0, win);
    MPI_Put(&test_rank, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(*memory == test_previous(), "%d", *memory);
    return win;
}

/* Open MPI ignores the error of the delete function. MPICH frees the window in the second call, by
 * which the other ranks have been waiting. */
static void free_failing(MPI_Win *win)
{
    fails = true;
    int error = MPI_Win_free(win);
    fails = false;
    if (error == MPI_SUCCESS)
        return;
    CHECK_CLASS(error, MPI_ERR_OTHER);
    CHECK(*win != MPI_WIN_NULL);
    CHECK(MPI_Win_free(win) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int keyval, value, *memory = window_memory(sizeof *memory);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_function, &keyval, NULL);
    for (int round = 0; round < 12; round++) {
        MPI_Win win = create(memory);
        bool sets = round % 3 == 1 && round % test_size == test_rank, found;
        int flag;
        void *is;
        MPI_Win_get_attr(win, keyval, &is, &flag);
        found = flag;
        CHECK(!found, "an attribute of an earlier window");
        deleted = 0;
        if (sets)
            MPI_Win_set_attr(win, keyval, &value);
        if (sets)
            free_failing(&win);
        else
            CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
        CHECK(win == MPI_WIN_NULL && deleted == sets, "%d", deleted);
    }
    MPI_Win_free_keyval(&keyval);
    MPI_Free_mem(memory);
    return test_end();
}
