/* MPI_Win_get_attr and MPI_Win_set_attr of Fortran programs. In neither host do they call the
 * functions of C: Open MPI's Fortran library accesses the attributes itself, MPICH's calls an
 * internal function. A fast window has other predefined attributes than the host's window below it,
 * and those of the program change what becomes of the host's window when the fast one is freed
 * (abi/windows/host_window.h).
 *
 * Compilers add one underscore to the names of external procedures, two, or none, or write them in
 * upper case. The module mpi_f08 of Open MPI 4.1 calls pmpi_win_get_attr_ and ompi_win_set_attr_f;
 * ompi_win_get_attr_f is here in case another version calls it.
 */
#include "pmpi_wrap/entry.h"
#include "pmpi_wrap/host.h"
#include "pmpi_wrap/symbols.h"

#define EXPORT __attribute__((visibility("default")))

static const struct abi *abi_in_use(void)
{
    return dispatch_open() ? host_abi() : NULL;
}

static void correct(int window, int keyval, int64_t *value)
{
    const struct abi *abi = abi_in_use();
    if (abi)
        abi->fortran_window_attribute(window, keyval, value);
}

static void note_change(int window)
{
    const struct abi *abi = abi_in_use();
    if (abi)
        abi->fortran_window_changed(window);
}

/* All arguments are passed by reference; a logical true is any value but 0. */
typedef void get_attr_fn(int *window, int *keyval, int64_t *value, int *flag, int *error);
typedef void set_attr_fn(int *window, int *keyval, int64_t *value, int *error);

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

static void set_attr(set_attr_fn *next, int *window, int *keyval, int64_t *value, int *error)
{
    if (!next)
        return;
    note_change(*window);
    next(window, keyval, value, error);
}

#define GET(name)                                                                        \
    EXPORT get_attr_fn name;                                                             \
    void name(int *window, int *keyval, int64_t *value, int *flag, int *error)           \
    {                                                                                    \
        get_attr((get_attr_fn *)symbol_next(#name), window, keyval, value, flag, error); \
    }
#define SET(name)                                                                  \
    EXPORT set_attr_fn name;                                                       \
    void name(int *window, int *keyval, int64_t *value, int *error)                \
    {                                                                              \
        set_attr((set_attr_fn *)symbol_next(#name), window, keyval, value, error); \
    }

#define SPELLINGS(DEFINE, name, NAME) \
    DEFINE(name)                      \
    DEFINE(name##_)                   \
    DEFINE(name##__)                  \
    DEFINE(NAME)
SPELLINGS(GET, mpi_win_get_attr, MPI_WIN_GET_ATTR)
SPELLINGS(GET, pmpi_win_get_attr, PMPI_WIN_GET_ATTR)
SPELLINGS(SET, mpi_win_set_attr, MPI_WIN_SET_ATTR)
SPELLINGS(SET, pmpi_win_set_attr, PMPI_WIN_SET_ATTR)
GET(ompi_win_get_attr_f)
SET(ompi_win_set_attr_f)

/* MPICH's internal functions, called by its Fortran library, and the second one also by its
 * MPI_Win_set_attr: `kind` is the type of the value, and `value` receives or is an integer. */
enum { ERR_OTHER = 16 };
typedef int inner_get_fn(int window, int keyval, int64_t *value, int *flag, int kind);
typedef int inner_set_fn(int window, int keyval, void *value, int kind);
EXPORT inner_get_fn MPII_Win_get_attr;
EXPORT inner_set_fn MPII_Win_set_attr;

int MPII_Win_get_attr(int window, int keyval, int64_t *value, int *flag, int kind)
{
    inner_get_fn *next = (inner_get_fn *)symbol_next("MPII_Win_get_attr");
    int error = next ? next(window, keyval, value, flag, kind) : ERR_OTHER;
    if (!error && *flag)
        correct(window, keyval, value);
    return error;
}

int MPII_Win_set_attr(int window, int keyval, void *value, int kind)
{
    inner_set_fn *next = (inner_set_fn *)symbol_next("MPII_Win_set_attr");
    note_change(window);
    return next ? next(window, keyval, value, kind) : ERR_OTHER;
}
