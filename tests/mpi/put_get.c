/* Put and get of every small size and some large ones, at unaligned offsets, to every rank. */
#include "test.h"

enum { ROOM = 3 << 20 };

static void fill(unsigned char *at, size_t bytes, int seed)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(i * 7 + (size_t)seed * 31 + (i >> 8));
}

static void one(MPI_Win win, unsigned char *window, unsigned char *here, unsigned char *back,
                int target, int from, size_t bytes, size_t disp)
{
    (void)window;
    fill(here, bytes, from + (int)bytes);
    MPI_Put(here, (int)bytes, MPI_BYTE, target, (MPI_Aint)disp, (int)bytes, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    memset(back, 0xee, bytes + 1);
    MPI_Get(back, (int)bytes, MPI_BYTE, target, (MPI_Aint)disp, (int)bytes, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    CHECK(!memcmp(here, back, bytes), "%zu bytes at %zu", bytes, disp);
    CHECK(back[bytes] == 0xee, "%zu bytes at %zu wrote too much", bytes, disp);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    /* every rank has its own part of every window */
    size_t stretch = ROOM;
    unsigned char *window = window_memory(stretch * (size_t)test_size);
    unsigned char *here = malloc(ROOM), *back = malloc(ROOM + 1);
    MPI_Win win;
    MPI_Win_create(window, (MPI_Aint)(stretch * (size_t)test_size), 1, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int target = 0; target < test_size; target++) {
        size_t base = stretch * (size_t)test_rank;
        for (size_t bytes = 0; bytes < 300; bytes++)
            one(win, window, here, back, target, test_rank, bytes, base + bytes % 13);
        for (size_t bytes = 1000; bytes < ROOM - 100; bytes = bytes * 3 + 1)
            one(win, window, here, back, target, test_rank, bytes, base + 5);
        one(win, window, here, back, target, test_rank, ROOM, base);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(window);
    free(here);
    free(back);
    return test_end();
}
