/* Absolute addresses: MPI_BOTTOM and a datatype built from MPI_Get_address, as origin buffer and as
 * result buffer. */
#include "test.h"

static int first[3] = {1, 2, 3}, second[2] = {4, 5};

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int third = 6, back[6], *memory = window_memory(6 * sizeof *memory);
    int *heap = malloc(3 * sizeof *heap), parts[2] = {0}, single = 0;
    MPI_Win win = window_over(memory, 6 * sizeof *memory, sizeof *memory);
    MPI_Datatype from, to, one;
    int lengths[] = {3, 2, 1}, to_lengths[] = {1, 3, 2}, length = 1;
    MPI_Aint addresses[3], to_addresses[3], address;
    MPI_Get_address(first, &addresses[0]);
    MPI_Get_address(second, &addresses[1]);
    MPI_Get_address(&third, &addresses[2]);
    MPI_Get_address(&single, &to_addresses[0]);
    MPI_Get_address(heap, &to_addresses[1]);
    MPI_Get_address(parts, &to_addresses[2]);
    MPI_Get_address(&third, &address);
    MPI_Type_create_hindexed(3, lengths, addresses, MPI_INT, &from);
    MPI_Type_create_hindexed(3, to_lengths, to_addresses, MPI_INT, &to);
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &one);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    MPI_Type_commit(&one);

    MPI_Win_fence(0, win);
    MPI_Put(MPI_BOTTOM, 1, from, test_next(), 0, 6, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 6; i++)
        CHECK(memory[i] == i + 1, "put: element %d is %d", i, memory[i]);
    MPI_Win_fence(0, win);
    MPI_Get(MPI_BOTTOM, 1, to, test_next(), 0, 6, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(single == 1 && heap[0] == 2 && heap[1] == 3 && heap[2] == 4 && parts[0] == 5 &&
              parts[1] == 6,
          "got %d, %d %d %d, %d %d", single, heap[0], heap[1], heap[2], parts[0], parts[1]);
    MPI_Win_fence(0, win);
    MPI_Accumulate(MPI_BOTTOM, 1, from, test_next(), 0, 6, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get_accumulate(MPI_BOTTOM, 1, one, MPI_BOTTOM, 1, one, test_next(), 5, 1, MPI_INT, MPI_SUM,
                       win);
    MPI_Win_fence(0, win);
    CHECK(third == 12, "fetched %d", third);
    MPI_Get(back, 6, MPI_INT, test_rank, 0, 6, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 6; i++)
        CHECK(back[i] == (i < 5 ? 2 * (i + 1) : 18), "element %d is %d", i, back[i]);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    MPI_Type_free(&one);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    free(heap);
    return test_end();
}
