/* Post, start, complete and wait (or test) between uneven groups that change with each epoch: empty
 * groups, the rank itself, all ranks. Nothing else synchronises the ranks, so some run ahead. */
#include "test.h"

#include <unistd.h>

enum { EPOCHS = 300, RANKS_MAX = 64 };

static MPI_Group world;

static unsigned hash(unsigned x)
{
    x = (x ^ x >> 16) * 0x45d9f3bu;
    x = (x ^ x >> 16) * 0x45d9f3bu;
    return x ^ x >> 16;
}

/* Whether this origin accesses this target in this epoch. Some epochs have no access, some all. */
static bool accesses(int epoch, int origin, int target)
{
    if (epoch % 10 == 3)
        return false;
    if (epoch % 10 == 7)
        return true;
    if (epoch % 10 == 8)
        return target == 0;
    return hash((unsigned)(epoch * 4096 + origin * 64 + target)) % 3 == 0;
}

/* The origins of this rank, or its targets, in an order that depends on the epoch. */
static MPI_Group group_of(int epoch, bool targets)
{
    int ranks[RANKS_MAX], count = 0;
    for (int i = 0; i < test_size; i++) {
        int rank = (i + epoch) % test_size;
        if (targets ? accesses(epoch, test_rank, rank) : accesses(epoch, rank, test_rank))
            ranks[count++] = rank;
    }
    MPI_Group group;
    MPI_Group_incl(world, count, ranks, &group);
    return group;
}

static void end_exposure(MPI_Win win, int epoch)
{
    int done = epoch % 2;
    if (done)
        MPI_Win_wait(win);
    while (!done)
        MPI_Win_test(win, &done);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int *memory = window_memory((size_t)test_size * sizeof *memory), expected[RANKS_MAX] = {0};
    MPI_Win win = window_over(memory, (size_t)test_size * sizeof *memory, sizeof *memory);
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        MPI_Group origins = group_of(epoch, false), targets = group_of(epoch, true);
        bool no_check = epoch % 5 == 0;
        if (hash((unsigned)(epoch + 7777 * test_rank)) % 20 == 0)
            usleep(500);
        CHECK(MPI_Win_post(origins, no_check ? MPI_MODE_NOCHECK : 0, win) == MPI_SUCCESS);
        if (no_check)
            MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Win_start(targets, no_check ? MPI_MODE_NOCHECK : 0, win) == MPI_SUCCESS);
        for (int target = 0; target < test_size; target++)
            /* In some epochs, one target of the group is not accessed. */
            if (accesses(epoch, test_rank, target) && (epoch + target) % 4)
                MPI_Put(&epoch, 1, MPI_INT, target, test_rank, 1, MPI_INT, win);
        CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
        end_exposure(win, epoch);
        for (int origin = 0; origin < test_size; origin++) {
            if (accesses(epoch, origin, test_rank) && (epoch + test_rank) % 4)
                expected[origin] = epoch;
            CHECK(memory[origin] == expected[origin], "epoch %d, origin %d: %d, expected %d", epoch,
                  origin, memory[origin], expected[origin]);
        }
        MPI_Group_free(&origins);
        MPI_Group_free(&targets);
    }
    MPI_Group_free(&world);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
