/* Every rank passes a different size, displacement unit and info; some ranks pass size 0, with and
 * without a base (H20: unusual windows). */
#include "test.h"

static size_t size_of(int rank)
{
    return rank % 4 == 1 || rank % 4 == 2 ? 0 : (size_t)(rank + 1) * 104;
}

static int unit_of(int rank)
{
    static const int units[] = {1, 8, 13, 4};
    return units[rank % 4];
}

/* In the last element of the rank's window. */
static void put_to(int rank, MPI_Win win)
{
    int64_t value = 1000 * rank + test_rank;
    size_t displs = (size_of(rank) - sizeof value) / (size_t)unit_of(rank);
    MPI_Aint last = (MPI_Aint)displs - test_rank * 8;
    if (last >= 0)
        MPI_Put(&value, 1, MPI_INT64_T, rank, last, 1, MPI_INT64_T, win);
}

static void check_from(int rank, const char *memory)
{
    int64_t value;
    size_t displs = (size_of(test_rank) - sizeof value) / (size_t)unit_of(test_rank);
    MPI_Aint last = (MPI_Aint)displs - rank * 8;
    if (last < 0)
        return;
    memcpy(&value, memory + last * unit_of(test_rank), sizeof value);
    CHECK(value == 1000 * test_rank + rank, "from rank %d: %ld", rank, (long)value);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    size_t size = size_of(test_rank);
    char *memory = window_memory(size);
    MPI_Info info = MPI_INFO_NULL;
    if (test_rank % 2) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "a_key_of_one_rank", "1");
    }
    MPI_Win win;
    void *base = test_rank % 4 == 1 ? NULL : memory;
    MPI_Win_create(base, (MPI_Aint)size, unit_of(test_rank), info, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    for (int rank = 0; rank < test_size; rank++) {
        if (size_of(rank))
            put_to(rank, win);
        else /* an empty put there succeeds */
            MPI_Put(&rank, 0, MPI_INT, rank, 0, 0, MPI_INT, win);
    }
    MPI_Win_fence(0, win);
    for (int rank = 0; size && rank < test_size; rank++)
        check_from(rank, memory);
    MPI_Win_free(&win);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    MPI_Free_mem(memory);
    return test_end();
}
