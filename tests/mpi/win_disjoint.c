/* Windows that are created at the same time on disjoint communicators of a node: each rank finds
 * what its neighbour has put, and nothing hangs.
 *
 * Open MPI 4.1 alone fails at random (open-mpi/ompi#7393). DBCSR creates windows in this way.
 */
#include "test.h"

#include <setjmp.h>

enum { ROUNDS = 60, ELEMENTS = 100, SLOT = 3, KINDS = 3 };

static MPI_Win create(int kind, MPI_Comm comm, double **base)
{
    MPI_Aint bytes = ELEMENTS * (MPI_Aint)sizeof **base;
    int unit = sizeof **base;
    MPI_Win win;
    if (kind == 0) {
        MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, comm, base, &win);
        return win;
    }
    if (kind == 1)
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, base);
    else
        *base = malloc((size_t)bytes);
    MPI_Win_create(*base, bytes, unit, MPI_INFO_NULL, comm, &win);
    return win;
}

static void discard(int kind, MPI_Win *win, double *base)
{
    MPI_Win_free(win);
    if (kind == 1)
        MPI_Free_mem(base);
    else if (kind == 2)
        free(base);
}

static void put_around(int kind, MPI_Comm comm, int round)
{
    double *base, mine = 1000 * round + test_rank, got;
    int rank, size;
    MPI_Win win = create(kind, comm, &base);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Win_fence(0, win);
    MPI_Put(&mine, 1, MPI_DOUBLE, (rank + 1) % size, SLOT, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    got = base[SLOT];
    double expected;
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 0, &expected, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
    CHECK(got == expected);
    discard(kind, &win, base);
}

static jmp_buf left;

static void leave(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    longjmp(left, 1);
}

/* The error handler of one communicator leaves MPI_Win_create for good. The ranks of the other one
 * create windows nevertheless, and do not wait for long. */
static void leave_one_half(MPI_Comm half)
{
    MPI_Errhandler leaves;
    MPI_Win win;
    bool first = test_rank < test_size / 2;
    MPI_Comm_create_errhandler(leave, &leaves);
    if (first) {
        MPI_Comm_set_errhandler(half, leaves);
        if (!setjmp(left)) {
            MPI_Win_create(NULL, 0, 0, MPI_INFO_NULL, half, &win);
            CHECK(false, "a displacement unit of 0 is accepted");
        }
        MPI_Comm_set_errhandler(half, MPI_ERRORS_ARE_FATAL);
    }
    MPI_Errhandler_free(&leaves);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!first)
        for (int i = 0; i < KINDS; i++)
            put_around(i, half, i);
    MPI_Barrier(MPI_COMM_WORLD);
    put_around(0, half, ROUNDS);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, test_rank < test_size / 2, test_rank, &half);
    for (int i = 0; i < ROUNDS; i++)
        put_around(i % KINDS, half, i);
    leave_one_half(half);
    MPI_Comm_free(&half);
    return test_end();
}
