/* Fortran's way to a window's attributes, which in both hosts goes past MPI_Win_get_attr: Open
 * MPI's Fortran library reads the attributes itself, MPICH's calls an internal function. What a
 * fast window has different from the host's window below it (its flavour, if MPI_Win_allocate made
 * it) is put right here.
 */
#include "pmpi_wrap/host.h"

#define EXPORT __attribute__((visibility("default")))

static void correct(int window, int keyval, int64_t *value)
{
    const struct abi *abi = host_abi();
    if (abi)
        abi->window_attribute(window, keyval, value);
}

/* All arguments by reference, as Fortran passes them; logical true is not 0. */
typedef void get_attr_fn(int *window, int *keyval, int64_t *value, int *flag, int *error);

static void get_attr(get_attr_fn *next, int *window, int *keyval, int64_t *value, int *flag,
                     int *error)
{
    if (!next) /* a C program that never had this symbol */
        return;
    next(window, keyval, value, flag, error);
    if (!*error && *flag)
        correct(*window, *keyval, value);
}

EXPORT get_attr_fn mpi_win_get_attr_, pmpi_win_get_attr_;

void mpi_win_get_attr_(int *window, int *keyval, int64_t *value, int *flag, int *error)
{
    get_attr((get_attr_fn *)host_next("mpi_win_get_attr_"), window, keyval, value, flag, error);
}

void pmpi_win_get_attr_(int *window, int *keyval, int64_t *value, int *flag, int *error)
{
    get_attr((get_attr_fn *)host_next("pmpi_win_get_attr_"), window, keyval, value, flag, error);
}

/* MPICH's internal function, called by its Fortran library only: `value` receives an integer. */
typedef int inner_fn(int window, int keyval, int64_t *value, int *flag, int kind);
EXPORT inner_fn MPII_Win_get_attr;

int MPII_Win_get_attr(int window, int keyval, int64_t *value, int *flag, int kind)
{
    inner_fn *next = (inner_fn *)host_next("MPII_Win_get_attr");
    int error = next ? next(window, keyval, value, flag, kind) : 16;
    if (!error && *flag)
        correct(window, keyval, value);
    return error;
}
