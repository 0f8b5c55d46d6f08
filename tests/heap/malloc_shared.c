/* A program that knows nothing of the library, with all buffers from malloc, some of them from
 * before MPI_Init: windows over them are accelerated, the host's long messages become plain copies,
 * and collectives give the right results. */
#include "where.h"

enum { LENGTH = 1 << 20, COUNT = LENGTH / sizeof(int) };

static void windows(char *memory)
{
    MPI_Win win;
    char *data = malloc(LENGTH);
    int next = (test_rank + 1) % test_size;
    memset(data, test_rank + 1, LENGTH);
    MPI_Win_create(memory, LENGTH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(data, LENGTH, MPI_CHAR, next, 0, LENGTH, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < LENGTH; i += 1000)
        CHECK(memory[i] == (test_rank + test_size - 1) % test_size + 1);
    MPI_Win_free(&win);
    free(data);
}

static void messages(char *early)
{
    enum { TIMES = 20 };
    int next = (test_rank + 1) % test_size, previous = (test_rank + test_size - 1) % test_size;
    char *other = malloc(LENGTH);
    for (int i = 0; i < TIMES; i++) {
        char *sent = i % 2 ? early : other, *received = malloc(LENGTH);
        fill(sent, LENGTH, (unsigned)(i + test_rank));
        MPI_Sendrecv(sent, LENGTH, MPI_CHAR, next, i, received, LENGTH, MPI_CHAR, previous, i,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(holds(received, LENGTH, (unsigned)(i + previous)), "message %d", i);
        free(received);
    }
    free(other);
}

static void collectives(void)
{
    int *operand = malloc(LENGTH), *result = calloc(COUNT, sizeof *result);
    for (int i = 0; i < COUNT; i++)
        operand[i] = test_rank + i;
    for (int n = 0; n < 10; n++)
        MPI_Allreduce(operand, result, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i += 100)
        CHECK(result[i] == test_size * i + test_size * (test_size - 1) / 2);
    free(operand);
    free(result);
}

int main(int argc, char **argv)
{
    char *early = malloc(LENGTH);
    memset(early, 0, LENGTH);
    test_begin(&argc, &argv);
    windows(early);
    messages(early);
    collectives();
    free(early);
    return test_end();
}
