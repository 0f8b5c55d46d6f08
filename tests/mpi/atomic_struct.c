/* MPI_REPLACE and MPI_NO_OP on a structure of several types, no longer than a machine word. Each
 * element is atomic (H18): no short is read half old and half new. */
#include "test.h"

enum { ROUNDS = 100000 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Datatype type;
    MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 2},
                           (MPI_Datatype[]){MPI_SHORT, MPI_SIGNED_CHAR}, &type);
    MPI_Type_commit(&type);
    uint16_t *memory = window_memory(2 * sizeof *memory);
    memory[0] = memory[1] = 0;
    MPI_Win win = window_over(memory, 2 * sizeof *memory, 1);
    int torn = 0;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        uint16_t element[2] = {0, 0};
        if (test_rank == 0) {
            memset(element, i % 2 ? 0xff : 0, sizeof element);
            MPI_Accumulate(element, 1, type, 0, 0, 1, type, MPI_REPLACE, win);
        } else {
            MPI_Get_accumulate(NULL, 0, type, element, 1, type, 0, 0, 1, type, MPI_NO_OP, win);
        }
        MPI_Win_flush(0, win);
        torn += element[0] != 0 && element[0] != 0xffff;
    }
    MPI_Win_unlock_all(win);
    CHECK(!torn, "%d of %d shorts were torn", torn, ROUNDS);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    MPI_Type_free(&type);
    return test_end();
}
