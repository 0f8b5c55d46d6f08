/* The target's datatype may have room for more data than is put, and the origin's for more than is
 * fetched; bytes beyond the data are unchanged. Origin and target may use different datatypes. */
#include "test.h"

enum { ROOM = 32 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(ROOM * sizeof *memory), values[ROOM], back[ROOM];
    MPI_Win win = window_over(memory, ROOM * sizeof *memory, sizeof *memory);
    MPI_Datatype five, spread;
    MPI_Type_contiguous(5, MPI_INT, &five);
    MPI_Type_vector(4, 1, 2, MPI_INT, &spread); /* elements 0, 2, 4, 6 of 7 */
    MPI_Type_commit(&five);
    MPI_Type_commit(&spread);
    for (int i = 0; i < ROOM; i++) {
        memory[i] = -1;
        values[i] = i + 1;
        back[i] = -2;
    }
    MPI_Win_fence(0, win);
    MPI_Put(values, 3, MPI_INT, test_next(), 0, 10, MPI_INT, win);
    MPI_Put(values, 3, MPI_INT, test_next(), 10, 1, five, win);
    MPI_Put(values, 2, MPI_INT, test_next(), 20, 1, spread, win);
    MPI_Win_fence(0, win);
    const int expected[ROOM] = {[0] = 1, 2, 3, [10] = 1, 2, 3, [20] = 1, [22] = 2};
    for (int i = 0; i < ROOM; i++)
        CHECK(memory[i] == (expected[i] ? expected[i] : -1), "element %d is %d", i, memory[i]);
    MPI_Win_fence(0, win);
    MPI_Accumulate(values, 3, MPI_INT, test_next(), 10, 1, five, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 5; i++)
        CHECK(memory[10 + i] == (i < 3 ? 2 * (i + 1) : -1), "element %d is %d", i, memory[10 + i]);
    MPI_Win_fence(0, win);
    MPI_Get(back, ROOM, MPI_INT, test_next(), 0, 3, MPI_INT, win);
    MPI_Get(back + 10, 2, five, test_next(), 20, 1, spread, win);
    MPI_Win_fence(0, win);
    const int got[ROOM] = {[0] = 1, 2, 3, [10] = 1, 2, -1, -1};
    for (int i = 0; i < ROOM; i++)
        CHECK(back[i] == (got[i] ? got[i] : -2), "got element %d: %d", i, back[i]);
    MPI_Type_free(&five);
    MPI_Type_free(&spread);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
