/* Request-based operations outside passive-target epochs. MPI defines them only there (MPI-4.0,
 * 12.3.5), but both hosts accept them in every epoch, so programs use them that way. */
#include "test.h"

static int *memory, fetched;
static MPI_Win win;

static void operate(int value, int target)
{
    MPI_Request r[4];
    int one = 1;
    CHECK_CLASS(MPI_Rput(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win, &r[0]), MPI_SUCCESS);
    CHECK_CLASS(MPI_Raccumulate(&value, 1, MPI_INT, target, 1, 1, MPI_INT, MPI_SUM, win, &r[1]),
                MPI_SUCCESS);
    CHECK_CLASS(MPI_Rget_accumulate(&one, 1, MPI_INT, &fetched, 1, MPI_INT, target, 2, 1, MPI_INT,
                                    MPI_SUM, win, &r[2]),
                MPI_SUCCESS);
    CHECK_CLASS(MPI_Rget(&fetched, 1, MPI_INT, target, 3, 1, MPI_INT, win, &r[3]), MPI_SUCCESS);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static void expect(int put, int sum, int times)
{
    CHECK(memory[0] == put && memory[1] == sum && memory[2] == times && fetched == 77,
          "%d, %d, %d; got %d", memory[0], memory[1], memory[2], fetched);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    memory = window_memory(4 * sizeof *memory);
    memory[3] = 77;
    win = window_over(memory, 4 * sizeof *memory, sizeof *memory);
    int target = test_next(), origin = test_previous();
    MPI_Win_fence(0, win);
    operate(5, target);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    expect(5, 5, 1);
    MPI_Group world, origins, targets;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &origin, &origins);
    MPI_Group_incl(world, 1, &target, &targets);
    MPI_Win_post(origins, 0, win);
    MPI_Win_start(targets, 0, win);
    operate(6, target);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    expect(6, 11, 2);
    MPI_Group_free(&world);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
