/* The accumulate family (MPI-4.0, 12.3.4 and 12.7.1): atomic per element, and ordered per origin
 * and target, whatever path an operation takes.
 *
 * Mixing native atomics and locked loops on one location would lose updates. Every target of a
 * window is therefore in one of two modes, and all origins agree on which:
 *
 * element mode (at first): an operation on one or a few aligned elements of up to 8 bytes consists
 *     of that many native atomic instructions. No lock is taken.
 *
 * bulk mode (from the first operation on many elements, or on elements that are unaligned or longer
 *     than 8 bytes, until the window is freed): every operation holds `bulk_mutex` and uses plain,
 *     vectorized loads and stores.
 *
 * A window of counters thus runs at the speed of the atomic instructions, a window of arrays at the
 * speed of vector code, and the two never meet on one location.
 *
 * A single-threaded rank that holds the lock of the target exclusively needs neither mode: no other
 * operation on the target can be in flight, and the lock orders it after earlier operations and
 * before later ones. The rank uses plain loads and stores and does not change the mode. This ends
 * when a rank first makes use of the leniency of a window (epoch.h): from then on, ranks without
 * the lock may operate on the target.
 *
 * The change of mode. A native operation makes the `inflight` count of its thread odd, reads
 * `bulk_mode`, works, and makes the count even. A rank that needs bulk mode takes the mutex, sets
 * `bulk_mode`, and waits until it has seen every thread of every rank of the window outside a
 * native operation: the count is even or has changed. The operation writes its count before it
 * reads the mode; the changer writes the mode before it reads the counts. All four accesses are
 * sequentially consistent, so either the operation sees bulk mode or the changer sees the
 * operation. A thread without an inflight slot always uses bulk mode. An operation that already
 * reads bulk mode before it would count takes the mutex without counting.
 */
#ifndef MPIACCEL_ATOMIC_H
#define MPIACCEL_ATOMIC_H

#include "core/reducer.h"
#include "core/thread.h"
#include "rma_shm/access.h"

/* Make the reducer of an operation. `prim` and `bytes` describe one element. With neither a kernel
 * nor `apply` (core/reducer.h), only OP_REPLACE and OP_NO_OP work. */
struct reducer atomic_reducer(enum op op, enum prim prim, uint32_t bytes, combine_fn *kernel);

/* The most elements that element mode handles in one operation. Without contention, an operation in
 * bulk mode takes as long as one native instruction; with two ranks that access the same elements,
 * as long as four. */
enum { ATOMIC_FEW = 4 };

/* MPI_Accumulate (`result.map` is NULL) or MPI_Get_accumulate. `element` is the predefined datatype
 * of all buffers; OP_REPLACE and OP_NO_OP accept any. OP_NO_OP ignores `origin`. The address of
 * `target_data` is ignored, as in access.h. */
enum win_error win_accumulate(struct win *win, const struct reducer *reducer,
                              const struct typemap *element, struct buffer origin,
                              struct buffer result, int target, int64_t disp,
                              struct buffer target_data);

/* Perform MPI_Compare_and_swap of `bytes` bytes at the address `at` in the window of `target`.
 * `thread` is the calling thread. */
void win_compare_and_swap(struct win *win, struct thread *thread, uint32_t target, char *at,
                          const void *origin, const void *compare, void *result, size_t bytes);

/* Apply `reducer` to `bytes` bytes of contiguous elements, at least one element, at the address
 * `at` in the window of `target`. `thread` is the calling thread. OP_NO_OP ignores `origin`, which
 * may be NULL only then. `result` may be NULL. */
void win_combine(struct win *win, struct thread *thread, const struct reducer *reducer,
                 uint32_t target, char *at, const char *origin, char *result, size_t bytes);

#endif
