/* The registry of windows. */
#ifndef MPIACCEL_WINDOW_H
#define MPIACCEL_WINDOW_H

#include "pmpi_wrap/abi/host_api.h"
#include "pmpi_wrap/registry.h"
#include "rma_shm/win.h"

#include <string.h>

/* Objects are fast windows; NULL for windows that are left to the host. */
extern struct registry window_registry HIDDEN;

/* Call when the host has been finalized, and its handles are invalid. */
void windows_forget(void);

/* `detail` of an entry. */
struct window_detail {
    uint8_t reason; /* why the window is left to the host; REASON_NONE: it is fast */
    uint8_t flavor; /* of a fast window: MPI_WIN_FLAVOR_…, less MPI_WIN_FLAVOR_CREATE */
    uint16_t ranks; /* UINT16_MAX: that many or more */
};

static inline uint32_t window_pack(struct window_detail d)
{
    uint32_t packed;
    memcpy(&packed, &d, sizeof packed);
    return packed;
}

static inline struct window_detail window_unpack(uint32_t packed)
{
    struct window_detail d;
    memcpy(&d, &packed, sizeof d);
    return d;
}

static inline int window_flavor(struct window_detail d)
{
    return MPI_WIN_FLAVOR_CREATE + d.flavor;
}

/* The entry of a handle. NULL: it is not registered, and left to the host. */
HOT_INLINE const struct entry *window_entry(MPI_Win handle)
{
    return registry_find(&window_registry, BITS(handle));
}

/* The fast window of an entry, or of a handle. NULL: it is left to the host. */
HOT_INLINE struct win *fast_window_of(const struct entry *entry)
{
    return LIKELY(entry != NULL) ? entry->object : NULL;
}

HOT_INLINE struct win *fast_window(MPI_Win handle)
{
    return fast_window_of(window_entry(handle));
}

/* The member that owns the memory of rank `rank` of a window that is fast or spans nodes.
 * `argument`: the MPI_Win as the program passes it to a call. Negative: the window is neither, or
 * no member is known to own the memory. */
int member_of_target(long argument, int rank);

/* Count a call on a window that is left to the host; `entry` may be NULL. The first time, log the
 * reason. */
void note_deferred_on_win(enum call call, const struct entry *entry);

/* Report an error through the window's error handler (MPI-4.0, 9.3). Both functions return the
 * class of the error. */
int report_on_win(MPI_Win win, int error_class);
int report_win_error(MPI_Win win, enum win_error error);

#endif
