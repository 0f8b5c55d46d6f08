/* Info keys of windows: MPI's keys, with every value, change no result; unknown keys are ignored; a
 * window returns the info that it was given or the host's. */
#include "test.h"

enum { COUNT = 32 };

static void keep(MPI_Win win)
{
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1];
    int flag, keys;
    CHECK(MPI_Win_get_info(win, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(info, &keys) == MPI_SUCCESS && keys >= 0);
    CHECK(MPI_Info_get(info, "no_locks", MPI_MAX_INFO_VAL, value, &flag) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

static void use(MPI_Win win, int *memory, bool locks)
{
    int values[COUNT], back[COUNT], one = 1, before, target = test_next();
    for (int i = 0; i < COUNT; i++)
        values[i] = i + test_rank;
    MPI_Win_fence(0, win);
    MPI_Put(values, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < COUNT; i++)
        CHECK(memory[i] == i + test_previous(), "put: %d", memory[i]);
    MPI_Win_fence(0, win);
    /* Ordered, unless the program has set accumulate_ordering=none: then each operation is still
     * atomic. */
    MPI_Accumulate(values, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, MPI_SUM, win);
    MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(memory[0] == 2 * test_previous() + 1 && memory[5] == 2 * (5 + test_previous()),
          "accumulate: %d, %d", memory[0], memory[5]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (locks) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Fetch_and_op(&one, &before, MPI_INT, target, 0, MPI_SUM, win);
        MPI_Get_accumulate(NULL, 0, MPI_INT, back, COUNT, MPI_INT, target, 0, COUNT, MPI_INT,
                           MPI_NO_OP, win);
        MPI_Win_unlock(target, win);
        CHECK(before == 2 * test_rank + 1 && back[0] == before + 1, "fetch: %d, %d", before,
              back[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    memset(memory, 0, COUNT * sizeof *memory);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const char *const pairs[][2] = {{"no_locks", "false"},
                                           {"no_locks", "true"},
                                           {"accumulate_ordering", "none"},
                                           {"accumulate_ordering", "rar,raw,war,waw"},
                                           {"accumulate_ordering", "rar,waw"},
                                           {"accumulate_ops", "same_op"},
                                           {"accumulate_ops", "same_op_no_op"},
                                           {"same_size", "true"},
                                           {"same_disp_unit", "true"},
                                           {"alloc_shared_noncontig", "true"},
                                           {"mpi_assert_memory_alloc_kinds", "system"},
                                           {"mpi_accumulate_granularity", "8"},
                                           {"mpi_assert_no_such_thing", "true"},
                                           {"which_accumulate_ops", "sum,no_op"}};
    test_begin(&argc, &argv);
    int *memory = window_memory(COUNT * sizeof *memory), *own;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        MPI_Info info, empty;
        MPI_Win win;
        bool locks = strcmp(pairs[i][0], "no_locks") || strcmp(pairs[i][1], "true");
        MPI_Info_create(&info);
        MPI_Info_create(&empty);
        MPI_Info_set(info, pairs[i][0], pairs[i][1]);
        CHECK(MPI_Win_create(memory, COUNT * sizeof *memory, sizeof *memory, info, MPI_COMM_WORLD,
                             &win) == MPI_SUCCESS);
        MPI_Info_set(info, pairs[i][0], "nonsense"); /* the info was copied */
        use(win, memory, locks);
        keep(win);
        MPI_Win_free(&win);

        MPI_Info_set(info, pairs[i][0], pairs[i][1]);
        MPI_Win_allocate(COUNT * sizeof *own, sizeof *own, info, MPI_COMM_WORLD, &own, &win);
        memset(own, 0, COUNT * sizeof *own);
        MPI_Barrier(MPI_COMM_WORLD);
        use(win, own, locks);
        MPI_Win_free(&win);

        /* Set later. */
        MPI_Win_create(memory, COUNT * sizeof *memory, sizeof *memory, empty, MPI_COMM_WORLD, &win);
        CHECK(MPI_Win_set_info(win, info) == MPI_SUCCESS);
        use(win, memory, locks);
        keep(win);
        MPI_Win_free(&win);
        MPI_Info_free(&info);
        MPI_Info_free(&empty);
    }
    MPI_Free_mem(memory);
    return test_end();
}
