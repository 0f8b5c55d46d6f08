/* Put and get (MPI-4.0, 12.3). */
#ifndef MPIACCEL_ACCESS_H
#define MPIACCEL_ACCESS_H

#include "core/typemap.h"
#include "rma_shm/win.h"

/* One side of an operation: `count` copies of a datatype, at an address or at a displacement. */
struct buffer {
    char *at; /* of the origin's side; the target's is found by target and displacement */
    const struct typemap *map;
    size_t count;
};

enum win_error win_put(struct win *win, struct buffer origin, int target, int64_t disp,
                       struct buffer there);
enum win_error win_get(struct win *win, struct buffer origin, int target, int64_t disp,
                       struct buffer there);

/* Bytes of data in a buffer as it is moved. False: more than there can be. */
static inline bool buffer_bytes(struct buffer b, size_t *bytes)
{
    return !__builtin_mul_overflow(typemap_to_move(b.map)->size, b.count, bytes);
}

/* Find the first `bytes` bytes of data of a buffer in the target's window. */
enum win_error win_locate_data(struct win *win, int target, int64_t disp, const struct typemap *map,
                               size_t bytes, char **at);

#endif
