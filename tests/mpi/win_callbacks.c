/* Attributes that the program attaches to a window, and their delete functions, which may call MPI
 * themselves. */
#include "test.h"

static int deleted, handle_was_right, value = 42;
static bool synchronises;
static MPI_Win win;
static MPI_Win other;

static int delete_function(MPI_Win from, int keyval, void *attribute, void *extra)
{
    (void)keyval;
    deleted++;
    handle_was_right = from == win && attribute == &value && extra == &deleted;
    void *memory;
    MPI_Alloc_mem(100, MPI_INFO_NULL, &memory);
    memset(memory, 1, 100);
    MPI_Free_mem(memory);
    int one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_next(), 0, other);
    MPI_Accumulate(&one, 1, MPI_INT, test_next(), 0, 1, MPI_INT, MPI_SUM, other);
    MPI_Win_unlock(test_next(), other);
    if (synchronises)
        MPI_Barrier(MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

/* Rank 0 makes a collective call in its delete function, and the others make it before they free
 * the window. */
static void free_with_barrier(int *memory, int keyval)
{
    synchronises = true;
    win = window_over(memory, sizeof *memory, sizeof *memory);
    for (int i = 0; i < 10; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0)
        MPI_Win_set_attr(win, keyval, &value);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    CHECK(deleted == 2 + (test_rank == 0), "%d", deleted);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int keyval, flag, *count = window_memory(sizeof *count),
                      *memory = window_memory(sizeof *memory);
    void *found = NULL;
    other = window_over(count, sizeof *count, sizeof *count);
    win = window_over(memory, sizeof *memory, sizeof *memory);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_function, &keyval, &deleted);
    MPI_Win_get_attr(win, keyval, &found, &flag);
    CHECK(!flag);
    MPI_Win_set_attr(win, keyval, &value);
    MPI_Win_get_attr(win, keyval, &found, &flag);
    CHECK(flag && found == &value);
    MPI_Win_delete_attr(win, keyval);
    CHECK(deleted == 1 && handle_was_right, "%d", deleted);
    MPI_Win_set_attr(win, keyval, &value);
    MPI_Win_free(&win);
    CHECK(deleted == 2, "%d", deleted);
    if (argc > 1)
        free_with_barrier(memory, keyval);
    MPI_Win_free_keyval(&keyval);
    MPI_Win_free(&other);
    CHECK(*count == 2 + (synchronises && test_previous() == 0), "callbacks combined %d times",
          *count);
    MPI_Free_mem(count);
    MPI_Free_mem(memory);
    return test_end();
}
