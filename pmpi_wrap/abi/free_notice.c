#include "pmpi_wrap/abi/free_notice.h"

#include "pmpi_wrap/abi/buffered_sends/persistent.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"
#include "pmpi_wrap/abi/datatypes/predefined.h"
#include "pmpi_wrap/abi/windows/window_setup.h"

/* Whether notices are wanted, and whether there are keyvals: a host may lack memory for them. */
static _Atomic bool active;
static int comm_keyval, type_keyval, win_keyval;

/* The object whose attribute this thread is setting. If the object has the attribute already,
 * because two threads have first used it at the same time, the host calls the delete function for
 * the old value. */
static __thread uintptr_t setting = NO_HANDLE;

static bool is_notice(uintptr_t handle)
{
    return atomic_load_explicit(&active, memory_order_relaxed) && setting != handle;
}

/* ---- functions that the host calls ---- */

static int comm_freed(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)keyval, (void)value, (void)state;
    if (is_notice(BITS(comm))) {
        persistent_forget_comm(&comm);
        team_freed(comm);
    }
    return MPI_SUCCESS;
}

static int type_freed(MPI_Datatype type, int keyval, void *value, void *state)
{
    (void)keyval, (void)value, (void)state;
    if (is_notice(BITS(type)))
        datatype_freed(type);
    return MPI_SUCCESS;
}

static int win_freed(MPI_Win win, int keyval, void *value, void *state)
{
    (void)keyval, (void)value, (void)state;
    if (is_notice(BITS(win)))
        window_freed(win);
    return MPI_SUCCESS;
}

/* A copy of the object gets no attribute until it is registered, when it is first used. */
static int copy_no_notice(int *copied)
{
    *copied = 0;
    return MPI_SUCCESS;
}

static int copy_comm(MPI_Comm comm, int keyval, void *state, void *value, void *copy, int *copied)
{
    (void)comm, (void)keyval, (void)state, (void)value, (void)copy;
    return copy_no_notice(copied);
}

static int copy_type(MPI_Datatype type, int keyval, void *state, void *value, void *copy,
                     int *copied)
{
    (void)type, (void)keyval, (void)state, (void)value, (void)copy;
    return copy_no_notice(copied);
}

static int copy_win(MPI_Win win, int keyval, void *state, void *value, void *copy, int *copied)
{
    (void)win, (void)keyval, (void)state, (void)value, (void)copy;
    return copy_no_notice(copied);
}

/* ---- setting ---- */

void free_notice_comm(MPI_Comm comm)
{
    if (!active || comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF)
        return;
    setting = BITS(comm);
    host.Comm_set_attr(comm, comm_keyval, NULL);
    setting = NO_HANDLE;
}

void free_notice_type(MPI_Datatype type)
{
    if (!active)
        return;
    setting = BITS(type);
    host.Type_set_attr(type, type_keyval, NULL);
    setting = NO_HANDLE;
}

void free_notice_win(MPI_Win win)
{
    if (!active)
        return;
    setting = BITS(win);
    enter_host(); /* no attribute of the program: see MPII_Win_set_attr in fortran_win_attr.c */
    host.Win_set_attr(win, win_keyval, NULL);
    leave_host();
    setting = NO_HANDLE;
}

/* ---- beginning and ending ---- */

void free_notice_begin(void)
{
    if (active)
        return;
    if (host.Comm_create_keyval(copy_comm, comm_freed, &comm_keyval, NULL))
        return;
    if (host.Type_create_keyval(copy_type, type_freed, &type_keyval, NULL)) {
        host.Comm_free_keyval(&comm_keyval);
        return;
    }
    if (host.Win_create_keyval(copy_win, win_freed, &win_keyval, NULL)) {
        host.Comm_free_keyval(&comm_keyval);
        host.Type_free_keyval(&type_keyval);
        return;
    }
    active = true;
}

void free_notice_end(void)
{
    if (!atomic_exchange(&active, false))
        return;
    host.Comm_free_keyval(&comm_keyval);
    host.Type_free_keyval(&type_keyval);
    host.Win_free_keyval(&win_keyval);
}
