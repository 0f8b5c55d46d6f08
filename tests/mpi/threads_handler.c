/* One thread causes errors on MPI_COMM_WORLD and MPI_COMM_SELF, while another one accumulates with
 * operations and datatypes that only the host can combine, or cannot: each error reaches the
 * program's handler (H25: threads). */
#include "threads.h"

#include <stdatomic.h>

enum { BYTES = 64 };

static _Atomic int handled;
static _Atomic bool done;
static int raised;
static MPI_Win win;

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    handled++;
}

static void *cause_errors(void)
{
    char data = 0;
    while (!done) {
        MPI_Send(&data, 1, MPI_CHAR, test_size, 0, MPI_COMM_WORLD);
        MPI_Send(&data, 1, MPI_CHAR, 1, 0, MPI_COMM_SELF);
        raised += 2;
    }
    return NULL;
}

/* No floating-point datatypes: MPICH 4.0 alone aborts in their logical operations. */
static void *accumulate(void)
{
    const MPI_Datatype types[] = {
        MPI_BYTE, MPI_WCHAR,    MPI_CHARACTER, MPI_PACKED,     MPI_C_BOOL,   MPI_LOGICAL,
        MPI_INT,  MPI_SHORT,    MPI_LONG,      MPI_INT8_T,     MPI_INT16_T,  MPI_UINT64_T,
        MPI_2INT, MPI_LONG_INT, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_SHORT_INT};
    const MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                          MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    char data[BYTES] = {0};
    MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
            MPI_Accumulate(data, 1, types[t], test_rank, 0, 1, types[t], ops[o], win);
#ifdef OPEN_MPI
    for (int p = 1; p <= 15; p++) /* each is another datatype */
        for (int r = 1; r <= 30; r++) {
            MPI_Datatype real;
            MPI_Type_create_f90_real(p, r, &real);
            for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
                MPI_Accumulate(data, 1, real, test_rank, 0, 1, real, ops[o], win);
        }
#endif
    MPI_Win_unlock(test_rank, win);
    done = true;
    return NULL;
}

static void *work(void *number)
{
    return number ? cause_errors() : accumulate();
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    MPI_Errhandler handler;
    win = window_over(window_memory(BYTES), BYTES, 1);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    threads_run(2, work);
    CHECK(handled == raised, "%d of %d errors", handled, raised);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Win_free(&win);
    return test_end();
}
