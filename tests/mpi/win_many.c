/* Many windows at once, freed in another order than they were created. Fails if two windows share
 * any state. */
#include "test.h"

enum { WINDOWS = 150 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Win win[WINDOWS];
    int *memory[WINDOWS], *all = window_memory(WINDOWS * sizeof(int));
    for (int i = 0; i < WINDOWS; i++) { /* half of them in one allocation */
        memory[i] = i % 2 ? &all[i] : window_memory(sizeof(int));
        win[i] = window_over(memory[i], sizeof(int), 1);
    }
    for (int i = 0; i < WINDOWS; i++) /* all are locked before any is unlocked */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_next(), 0, win[i]);
    for (int i = 0; i < WINDOWS; i++) {
        int value = 1000 * test_rank + i;
        MPI_Put(&value, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win[i]);
    }
    for (int i = 0; i < WINDOWS; i++)
        MPI_Win_unlock(test_next(), win[i]);
    for (int i = 0; i < WINDOWS; i++) {
        int w = i * 7 % WINDOWS; /* WINDOWS is not a multiple of 7 */
        MPI_Win_free(&win[w]);
        CHECK(*memory[w] == 1000 * test_previous() + w, "window %d: %d", w, *memory[w]);
        if (w % 2 == 0)
            MPI_Free_mem(memory[w]);
    }
    MPI_Free_mem(all);
    return test_end();
}
