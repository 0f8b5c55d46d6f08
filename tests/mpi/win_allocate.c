/* MPI_Win_allocate of any size: zero, odd sizes, a different size per rank. Every byte belongs to
 * this window only and is zero at first, as with the hosts alone, and a put arrives at the target's
 * address. */
#include "test.h"

static MPI_Aint size_of(int rank, int round)
{
    static const MPI_Aint sizes[] = {0, 1, 63, 64, 65, 100, 4095, 4097, 100001, 3 << 20};
    return sizes[(rank * 3 + round) % 10];
}

static unsigned char byte_of(int rank, MPI_Aint i)
{
    return (unsigned char)(rank * 31 + i * 7 + i / 251);
}

static void use(int round)
{
    unsigned char *memory = NULL, *data = malloc(4 << 20);
    MPI_Aint mine = size_of(test_rank, round), theirs = size_of(test_next(), round);
    MPI_Win win;
    MPI_Win_allocate(mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    CHECK(!mine || ((uintptr_t)memory % 8 == 0 && memory), "%p", (void *)memory);
    for (MPI_Aint i = 0; i < mine; i++) {
        CHECK(!memory[i], "byte %ld of %ld is %d at first", (long)i, (long)mine, memory[i]);
        memory[i] = byte_of(test_rank, i);
    }
    MPI_Win_fence(0, win);
    memset(data, 0, (size_t)theirs);
    MPI_Get(data, (int)theirs, MPI_BYTE, test_next(), 0, (int)theirs, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (MPI_Aint i = 0; i < theirs; i++)
        CHECK(data[i] == byte_of(test_next(), i), "got byte %ld of %ld", (long)i, (long)theirs);
    for (MPI_Aint i = 0; i < theirs; i++)
        data[i] = byte_of(test_rank + 100, i);
    MPI_Put(data, (int)theirs, MPI_BYTE, test_next(), 0, (int)theirs, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (MPI_Aint i = 0; i < mine; i++)
        CHECK(memory[i] == byte_of(test_previous() + 100, i), "byte %ld of %ld", (long)i,
              (long)mine);
    MPI_Win_free(&win);
    free(data);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int round = 0; round < 10; round++)
        use(round);
    return test_end();
}
