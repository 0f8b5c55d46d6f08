/* An exposure epoch of post does not end the access epoch of a fence: a rank that others access by
 * start and complete accesses them as after any fence (MPI-4.0, 12.5: only epochs of the same kind
 * must be disjoint). The ranks are the target in turn. Argument `early`: it puts before it
 * posts. */
#include "test.h"

enum { ROUNDS = 12, RANKS_MAX = 64 };

static int *memory; /* one element per rank */
static MPI_Win win;
static bool early;

#define FINE(call) CHECK_CLASS(call, MPI_SUCCESS)

static void put_to(int rank, const int *value)
{
    FINE(MPI_Put(value, 1, MPI_INT, rank, test_rank, 1, MPI_INT, win));
}

static void put_to_others(const int *value)
{
    for (int rank = 0; rank < test_size; rank++)
        if (rank != test_rank)
            put_to(rank, value);
}

/* The others access this rank by start and complete, and this rank the others by fences. */
static void be_target(MPI_Group world, const int *value)
{
    MPI_Group others;
    MPI_Group_excl(world, 1, &test_rank, &others);
    if (early)
        put_to_others(value);
    FINE(MPI_Win_post(others, 0, win));
    if (!early)
        put_to_others(value);
    FINE(MPI_Win_wait(win));
    for (int rank = 0; rank < test_size; rank++)
        CHECK(rank == test_rank || memory[rank] == *value, "from rank %d: %d, expected %d", rank,
              memory[rank], *value);
    MPI_Group_free(&others);
}

static void be_origin(MPI_Group world, int target, const int *value)
{
    MPI_Group group;
    MPI_Group_incl(world, 1, &target, &group);
    FINE(MPI_Win_start(group, 0, win));
    put_to(target, value);
    FINE(MPI_Win_complete(win));
    MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    early = argc > 1;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    memory = window_memory(RANKS_MAX * sizeof *memory);
    win = window_over(memory, RANKS_MAX * sizeof *memory, sizeof *memory);
    for (int value = 1; value <= ROUNDS; value++) {
        int target = value % test_size;
        FINE(MPI_Win_fence(0, win));
        if (test_rank == target)
            be_target(world, &value);
        else
            be_origin(world, target, &value);
        FINE(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK(test_rank == target || memory[target] == value, "after the fence: %d, expected %d",
              memory[target], value);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&world);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
