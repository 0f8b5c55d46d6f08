/* Put and get (MPI-4.0, 12.3). */
#ifndef MPIACCEL_ACCESS_H
#define MPIACCEL_ACCESS_H

#include "core/typemap.h"
#include "rma_shm/win.h"

enum win_error win_put(struct win *win, struct buffer origin, int target, int64_t disp,
                       struct buffer there);
enum win_error win_get(struct win *win, struct buffer origin, int target, int64_t disp,
                       struct buffer there);

/* Find the first `bytes` bytes of data of a buffer in the target's window. */
enum win_error win_locate_data(struct win *win, int target, int64_t disp, const struct typemap *map,
                               size_t bytes, char **at);

#endif
