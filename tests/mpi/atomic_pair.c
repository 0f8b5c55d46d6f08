/* MPI_REPLACE and MPI_NO_OP on a datatype of many MPI_SHORT_INT. Each operation gives way to others
 * while it is in progress, but each pair is atomic (H18): no value has another one's index. */
#include "test.h"

enum { PAIRS = 40000, ROUNDS = 100 };

struct pair {
    short value;
    int index;
};

int main(int argc, char **argv)
{
    static struct pair own[PAIRS], seen[PAIRS];
    test_begin(&argc, &argv);
    MPI_Datatype type;
    MPI_Type_contiguous(PAIRS, MPI_SHORT_INT, &type);
    MPI_Type_commit(&type);
    struct pair *memory = window_memory(sizeof own);
    memset(memory, 0, sizeof own);
    MPI_Win win = window_over(memory, sizeof own, 1);
    int torn = 0;
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PAIRS; i++)
            own[i] = (struct pair){(short)(test_rank + 1), test_rank + 1};
        MPI_Accumulate(own, 1, type, 0, 0, 1, type, MPI_REPLACE, win);
        MPI_Get_accumulate(NULL, 0, type, seen, 1, type, 0, 0, 1, type, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
        for (int i = 0; i < PAIRS; i++)
            torn += seen[i].value != seen[i].index;
    }
    MPI_Win_unlock_all(win);
    CHECK(!torn, "%d pairs were torn", torn);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    MPI_Type_free(&type);
    return test_end();
}
