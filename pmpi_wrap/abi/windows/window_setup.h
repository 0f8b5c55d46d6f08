/* Creating and freeing windows: which ones are fast, and how the ranks agree on that. */
#ifndef MPIACCEL_WINDOW_SETUP_H
#define MPIACCEL_WINDOW_SETUP_H

#include "core/stats.h"
#include "pmpi_wrap/abi/host_api.h"

/* The arguments of a call that creates a window, and the size of the communicator, which
 * window_create() fills in if it determines the size. */
struct window_request {
    enum call call;
    int flavor;
    void *base; /* of MPI_Win_create */
    MPI_Aint size;
    MPI_Aint unit;
    MPI_Info info;
    MPI_Comm comm;
    MPI_Win *win; /* for the handle */
    int ranks;    /* 0: not known */
};

/* Returns REASON_NONE if the call is done. Then `result` is its result and, unless that is an
 * error, the memory's address has been stored at `baseptr`. Any other reason is why the host has to
 * create the window. Pass NULL as `baseptr` in calls that allocate no memory. */
enum reason window_create(struct window_request *r, void *baseptr, int *result);

/* The alignment that the program requests for the memory. */
size_t window_alignment(const struct window_request *r);

/* Call after the host has created a window for the program, with the host's result, which is
 * returned. */
int window_deferred(struct window_request *r, int result, enum reason reason);

/* Perform MPI_Win_free. */
int window_free(MPI_Win *win);

/* Call when the host is freeing a window, also if that was requested past this library: in the
 * delete function of an attribute (free_notice.h). Other ranks may still access the window memory,
 * since hosts call delete functions before MPI_Win_free has synchronised. */
void window_freed(MPI_Win win);

#endif
