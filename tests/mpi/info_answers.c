/* Prints what MPI_Win_get_info returns, for windows of every kind and many infos: given when the
 * window is created, set later, and for a window without info after those. The script
 * window_infos compares this with the host alone. */
#include "test.h"

enum kind { CREATED, ALLOCATED, SHARED, DYNAMIC, KINDS };

static MPI_Win make(enum kind kind, MPI_Info info, int *memory)
{
    MPI_Win win = MPI_WIN_NULL;
    int *unused;
    if (kind == CREATED)
        MPI_Win_create(memory, 64, sizeof *memory, info, MPI_COMM_WORLD, &win);
    else if (kind == ALLOCATED)
        MPI_Win_allocate(64, sizeof *memory, info, MPI_COMM_WORLD, &unused, &win);
    else if (kind == SHARED)
        MPI_Win_allocate_shared(64, sizeof *memory, info, MPI_COMM_WORLD, &unused, &win);
    else
        MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win);
    return win;
}

/* One line for each key. */
static void print(const char *when, enum kind kind, const char *const *pair, MPI_Win win)
{
    static const char *const names[] = {"created", "allocated", "shared", "dynamic"};
    MPI_Info info;
    int count, flag;
    CHECK(MPI_Win_get_info(win, &info) == MPI_SUCCESS);
    MPI_Info_get_nkeys(info, &count);
    for (int i = 0; i < count && !test_rank; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
        printf("%s, %s=%s %s | %s | %s\n", names[kind], pair[0], pair[1], when, key, value);
    }
    MPI_Info_free(&info);
}

static void use(enum kind kind, const char *const *pair, int *memory)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, pair[0], pair[1]);
    MPI_Win win = make(kind, info, memory);
    print("at creation", kind, pair, win);
    MPI_Win_free(&win);
    win = make(kind, MPI_INFO_NULL, memory);
    CHECK(MPI_Win_set_info(win, info) == MPI_SUCCESS);
    print("later", kind, pair, win);
    MPI_Win_free(&win);
    win = make(kind, MPI_INFO_NULL, memory);
    print("before", kind, pair, win);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    static const char *const pairs[][2] = {{"no_locks", "true"},
                                           {"no_locks", "false"},
                                           {"accumulate_ordering", "none"},
                                           {"accumulate_ordering", "rar,waw"},
                                           {"accumulate_ops", "same_op"},
                                           {"accumulate_ops", "same_op_no_op"},
                                           {"same_size", "true"},
                                           {"same_disp_unit", "true"},
                                           {"alloc_shared_noncontig", "true"},
                                           {"mpi_minimum_memory_alignment", "4096"},
                                           {"mpi_assert_memory_alloc_kinds", "system"},
                                           {"mpi_accumulate_granularity", "8"},
                                           {"mpi_accumulate_granularity", "0"},
                                           {"which_accumulate_ops", "sum,no_op"},
                                           {"unknown", "value"}};
    test_begin(&argc, &argv);
    int *memory = window_memory(64);
    for (enum kind kind = CREATED; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            use(kind, pairs[i], memory);
    MPI_Free_mem(memory);
    return test_end();
}
