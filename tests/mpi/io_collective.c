/* Collective and shared-pointer file I/O between one-sided epochs. The host's I/O library calls MPI
 * internally, and these calls enter the library too (H4: the host calls itself). Fails with wrong
 * data or a hang if such a call is treated as one of the program. */
#include "test.h"

#include <unistd.h>

enum { BLOCKS = 64, BLOCK = 100 };

static int value(int rank, int block, int i)
{
    return (rank * BLOCKS + block) * BLOCK + i;
}

/* Each rank has every size-th block of the file, so both phases of collective buffering are used.
 */
static void interleaved(MPI_File file)
{
    static int mine[BLOCKS][BLOCK], back[BLOCKS][BLOCK];
    MPI_Datatype view;
    MPI_Status status;
    MPI_Type_vector(BLOCKS, BLOCK, BLOCK * test_size, MPI_INT, &view);
    MPI_Type_commit(&view);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < BLOCK; i++)
            mine[b][i] = value(test_rank, b, i);
    MPI_Offset start = (MPI_Offset)test_rank * BLOCK * (MPI_Offset)sizeof(int);
    MPI_File_set_view(file, start, MPI_INT, view, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, mine, BLOCKS * BLOCK, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_all(file, 0, back, BLOCKS * BLOCK, MPI_INT, &status);
    CHECK(!memcmp(mine, back, sizeof mine), "blocks came back different");

    /* written by the next rank */
    int next = (test_rank + 1) % test_size;
    start = (MPI_Offset)next * BLOCK * (MPI_Offset)sizeof(int);
    MPI_File_set_view(file, start, MPI_INT, view, "native", MPI_INFO_NULL);
    MPI_File_read_all(file, back, BLOCKS * BLOCK, MPI_INT, &status);
    CHECK(back[BLOCKS - 1][7] == value(next, BLOCKS - 1, 7), "%d", back[BLOCKS - 1][7]);
    MPI_Type_free(&view);
}

/* With the shared file pointer, which hosts keep in windows, files or shared memory. */
static void ordered(MPI_File file)
{
    int mine = 100 + test_rank, back = -1;
    MPI_Status status;
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_ordered(file, &mine, 1, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, test_rank, &back, 1, MPI_INT, &status);
    CHECK(back == mine, "%d, expected %d", back, mine);
}

static void put_around(MPI_Win win, int *memory, int what)
{
    int mine = what + test_rank, next = (test_rank + 1) % test_size;
    int expected = what + (test_rank + test_size - 1) % test_size;
    MPI_Win_fence(0, win);
    MPI_Put(&mine, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(*memory == expected, "%d, expected %d", *memory, expected);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(sizeof *memory);
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char name[4096] = "";
    if (test_rank == 0)
        snprintf(name, sizeof name, "%s/io_collective.%d", folder, (int)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);

    MPI_Win win;
    MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_File file;
    int error =
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CHECK(error == MPI_SUCCESS, "%s does not open", name);
    if (!error) {
        put_around(win, memory, 10);
        interleaved(file);
        put_around(win, memory, 20);
        ordered(file);
        put_around(win, memory, 30);
        MPI_File_close(&file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0)
        unlink(name);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
