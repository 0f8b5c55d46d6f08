/* MPI_Win_get_attr of Fortran programs. In both hosts it does not call MPI_Win_get_attr: Open MPI's
 * Fortran library reads the attributes itself, MPICH's calls an internal function. Where a fast
 * window has other attributes than the host's window below it (its flavor, if MPI_Win_allocate made
 * it), these wrappers correct the value.
 */
#include "pmpi_wrap/entry.h"
#include "pmpi_wrap/host.h"
#include "pmpi_wrap/symbols.h"

#define EXPORT __attribute__((visibility("default")))

static void correct(int window, int keyval, int64_t *value)
{
    const struct abi *abi = dispatch_open() ? host_abi() : NULL;
    if (abi)
        abi->fortran_window_attribute(window, keyval, value);
}

/* All arguments are passed by reference; a logical true is any value but 0. */
typedef void get_attr_fn(int *window, int *keyval, int64_t *value, int *flag, int *error);

/* `next` is NULL in a C program, whose MPI library has no such symbol. */
static void get_attr(get_attr_fn *next, int *window, int *keyval, int64_t *value, int *flag,
                     int *error)
{
    if (!next)
        return;
    next(window, keyval, value, flag, error);
    if (!*error && *flag)
        correct(*window, *keyval, value);
}

EXPORT get_attr_fn mpi_win_get_attr_, pmpi_win_get_attr_;

void mpi_win_get_attr_(int *window, int *keyval, int64_t *value, int *flag, int *error)
{
    get_attr((get_attr_fn *)symbol_next("mpi_win_get_attr_"), window, keyval, value, flag, error);
}

void pmpi_win_get_attr_(int *window, int *keyval, int64_t *value, int *flag, int *error)
{
    get_attr((get_attr_fn *)symbol_next("pmpi_win_get_attr_"), window, keyval, value, flag, error);
}

/* MPICH's internal function, called by its Fortran library only: `value` receives an integer. */
typedef int inner_fn(int window, int keyval, int64_t *value, int *flag, int kind);
EXPORT inner_fn MPII_Win_get_attr;

int MPII_Win_get_attr(int window, int keyval, int64_t *value, int *flag, int kind)
{
    enum { ERR_OTHER = 16 };
    inner_fn *next = (inner_fn *)symbol_next("MPII_Win_get_attr");
    int error = next ? next(window, keyval, value, flag, kind) : ERR_OTHER;
    if (!error && *flag)
        correct(window, keyval, value);
    return error;
}
