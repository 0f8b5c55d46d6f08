/* Windows over any part of an allocation: an odd address in the middle, two overlapping windows,
 * one that ends exactly at the allocation's end, one of the last byte only (H20: unusual windows).
 */
#include "test.h"

enum { SIZE = 10000, FIRST = 333, OVERLAP = 5001 };

static unsigned char *memory;

static MPI_Win window_from(size_t first, size_t bytes)
{
    return window_over(memory + first, bytes, 1);
}

static void put_byte(MPI_Win win, MPI_Aint disp, unsigned char value)
{
    MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win);
    MPI_Put(&value, 1, MPI_BYTE, test_next(), disp, 1, MPI_BYTE, win);
    MPI_Win_unlock(test_next(), win);
}

static unsigned char get_byte(MPI_Win win, MPI_Aint disp)
{
    unsigned char value = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win);
    MPI_Get(&value, 1, MPI_BYTE, test_next(), disp, 1, MPI_BYTE, win);
    MPI_Win_unlock(test_next(), win);
    return value;
}

static void settle(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Alloc_mem(SIZE, MPI_INFO_NULL, &memory);
    memset(memory, 0xee, SIZE);
    MPI_Win first = window_from(FIRST, 6000), second = window_from(OVERLAP, SIZE - OVERLAP),
            last = window_from(SIZE - 1, 1), one = window_from(0, 1);
    settle();
    put_byte(first, 0, 1);
    put_byte(first, 5999, 2);
    put_byte(second, 0, 3);
    put_byte(second, SIZE - OVERLAP - 2, 4);
    put_byte(last, 0, 5);
    put_byte(one, 0, 6);
    CHECK(get_byte(first, OVERLAP - FIRST) == 3, "one window shows what came through another");
    CHECK(get_byte(second, FIRST + 5999 - OVERLAP) == 2, "and the other way round");
    CHECK(get_byte(second, SIZE - 1 - OVERLAP) == 5, "the last byte");
    settle();
    MPI_Win_free(&first);
    MPI_Win_free(&second);
    MPI_Win_free(&last);
    MPI_Win_free(&one);
    const struct {
        int at;
        unsigned char value;
    } expected[] = {{0, 6},        {FIRST, 1},   {OVERLAP, 3}, {FIRST + 5999, 2},
                    {SIZE - 2, 4}, {SIZE - 1, 5}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CHECK(memory[expected[i].at] == expected[i].value, "byte %d is %d", expected[i].at,
              memory[expected[i].at]);
        memory[expected[i].at] = 0xee;
    }
    for (int i = 0; i < SIZE; i++)
        CHECK(memory[i] == 0xee, "byte %d was written", i);
    MPI_Free_mem(memory);
    return test_end();
}
