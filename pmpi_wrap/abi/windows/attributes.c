/* MPI_Win_get_attr, MPI_Win_set_attr and MPI_Win_set_info (MPI-4.0, 7.7.3, 12.2.6 and 12.2.7). */
#include "pmpi_wrap/abi/windows/attributes.h"

#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/nodes/spanning_window.h"
#include "pmpi_wrap/abi/windows/host_window.h"
#include "pmpi_wrap/abi/windows/window.h"

/* The host's window has no memory and, in most cases, the flavor of MPI_Win_create. So flavor,
 * base, size and displacement unit come from the fast window. */
static bool window_attribute(MPI_Win win, int keyval, MPI_Aint *value)
{
    struct entry *e = registry_find(&window_registry, BITS(win));
    struct win *fast = e ? e->object : NULL;
    if (!fast) {
        /* the host has created the window of MPI_Win_allocate over memory of this library */
        const struct spanning_window *s = spanning_window_of(win);
        *value = MPI_WIN_FLAVOR_ALLOCATE;
        return keyval == MPI_WIN_CREATE_FLAVOR && s && s->memory;
    }
    if (fast->attached) /* the host's window is a dynamic one, too */
        return false;
    if (keyval == MPI_WIN_CREATE_FLAVOR)
        *value = window_flavor(window_unpack(e->detail));
    else if (keyval == MPI_WIN_BASE)
        *value = (MPI_Aint)fast->self.base;
    else if (keyval == MPI_WIN_SIZE)
        *value = (MPI_Aint)fast->self.size;
    else if (keyval == MPI_WIN_DISP_UNIT)
        *value = fast->self.unit;
    else
        return false;
    return true;
}

/* In C the value of an attribute that is a number is the address of that number. */
static const int *number_of_flavor(MPI_Aint flavor)
{
    static const int create = MPI_WIN_FLAVOR_CREATE, allocate = MPI_WIN_FLAVOR_ALLOCATE,
                     shared = MPI_WIN_FLAVOR_SHARED;
    return flavor == MPI_WIN_FLAVOR_CREATE     ? &create
           : flavor == MPI_WIN_FLAVOR_ALLOCATE ? &allocate
                                               : &shared;
}

/* The value is an address: of the window's memory, or of a number, which must outlive the call. */
int accel_Win_get_attr(MPI_Win win, int keyval, void *attribute, int *flag)
{
    int result = host.Win_get_attr(win, keyval, attribute, flag);
    MPI_Aint value;
    if (result != MPI_SUCCESS || !*flag || !window_attribute(win, keyval, &value))
        return result;
    struct win *fast = fast_window(win);
    if (keyval == MPI_WIN_BASE)
        *(void **)attribute = (void *)value;
    else if (keyval == MPI_WIN_SIZE)
        *(void **)attribute = &fast->self.size;
    else if (keyval == MPI_WIN_DISP_UNIT)
        *(int **)attribute = &fast->self_unit;
    else
        *(const int **)attribute = number_of_flavor(value);
    return result;
}

int accel_Win_set_attr(MPI_Win win, int keyval, void *value)
{
    host_window_changed(win);
    return host.Win_set_attr(win, keyval, value);
}

int accel_Win_set_info(MPI_Win win, MPI_Info info)
{
    host_window_changed(win);
    return host.Win_set_info(win, info);
}

#if defined(MPIACCEL_STANDARD_ABI_H)
/* No host has Fortran bindings for this ABI. Those that work on all hosts call MPI_Win_get_attr. */
bool fortran_window_attribute(int window, int keyval, int64_t *value)
{
    (void)window;
    (void)keyval;
    (void)value;
    return false;
}

void fortran_window_changed(int window)
{
    (void)window;
}
#else
static MPI_Win window_of_fortran(int window)
{
#if defined(OPEN_MPI)
    return host.Win_f2c(window);
#else
    return window;
#endif
}

void fortran_window_changed(int window)
{
    if (!inside_host())
        host_window_changed(window_of_fortran(window));
}

bool fortran_window_attribute(int window, int keyval, int64_t *value)
{
#if !defined(OPEN_MPI)
    /* MPICH's predefined keyvals are odd numbers in C; Fortran's are those numbers plus 1. */
    keyval = (keyval - 1) | 1;
#endif
    MPI_Aint found;
    if (!window_attribute(window_of_fortran(window), keyval, &found))
        return false;
    *value = found;
    return true;
}
#endif
