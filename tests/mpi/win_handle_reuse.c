/* A host reuses the handle of a freed window for one with other memory, another displacement unit
 * or another flavor. Fails if state of the freed window is used (H24: stale handles and mappings).
 */
#include "test.h"

enum { COUNT = 64 };

static int *shared[2], *foreign;

static void use(int *memory, int unit, int round)
{
    MPI_Win win;
    memset(memory, 0, COUNT * sizeof *memory);
    win = window_over(memory, COUNT * sizeof *memory, unit);
    MPI_Win_fence(0, win);
    MPI_Put(&round, 1, MPI_INT, test_next(), 32 / unit, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < COUNT; i++)
        CHECK(memory[i] == (i == 8 ? round : 0), "round %d: element %d is %d", round, i, memory[i]);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    shared[0] = window_memory(COUNT * sizeof(int));
    shared[1] = window_memory(COUNT * sizeof(int));
    foreign = calloc(COUNT, sizeof(int));
    for (int round = 1; round < 60; round++) {
        use(shared[round % 2], 1 << round % 4, round);
        if (round % 3 == 0)
            use(foreign, 4, round);
        if (round % 5 == 0) { /* the address is reused for something else */
            MPI_Free_mem(shared[0]);
            shared[0] = window_memory(COUNT * sizeof(int));
        }
    }
    MPI_Free_mem(shared[0]);
    MPI_Free_mem(shared[1]);
    free(foreign);
    return test_end();
}
