/* Put and get (MPI-4.0, 12.3), and where data of a target lie.
 *
 * `target_data` is a buffer at the displacement `disp` of the target: its address is ignored. */
#ifndef MPIACCEL_ACCESS_H
#define MPIACCEL_ACCESS_H

#include "core/typemap.h"
#include "rma_shm/win.h"

enum win_error win_put(struct win *win, struct buffer origin, int target, int64_t disp,
                       struct buffer target_data);
enum win_error win_get(struct win *win, struct buffer origin, int target, int64_t disp,
                       struct buffer target_data);

/* Find the bytes [disp * unit + low, disp * unit + high) of the target. Opens the peer if needed,
 * which may wait; checks everything that win_at() in win.h leaves out. */
enum win_error win_locate(struct win *win, int target, int64_t disp, ptrdiff_t low, ptrdiff_t high,
                          char **at);

/* Keep the range of a dynamic window that was found last on an open peer, so that win_at() and
 * win_locate() need not search the table of the target. If several threads may operate on the peer
 * at once, nothing is kept. */
void win_keep_range(struct peer *peer, const struct attached_found *range);

/* Find the first `bytes` bytes of data of a buffer in the window of the target. */
enum win_error win_locate_data(struct win *win, int target, int64_t disp, const struct typemap *map,
                               size_t bytes, char **at);

#endif
