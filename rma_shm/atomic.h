/* The accumulate family (MPI-4.0, 12.3.4 and 12.7.1): atomic for each element, ordered for each
 * origin and target, whatever path an operation takes (H18).
 *
 * Every target of a window is in one of two modes, and all origins agree on which:
 *
 * element mode (at first): an operation on one or a few aligned elements of up to 8 bytes is that
 *     many native atomic instructions. Nobody takes a lock.
 * bulk mode (for good, once an operation needs it: many elements, or wide or unaligned ones): every
 *     operation holds the mutex `combining` and works with plain, vectorised loads and stores.
 *
 * Neither is needed in a single-threaded rank that holds the target's lock exclusively: no other
 * operation on the target can be in flight, and those before and after are ordered by the lock. It
 * combines without locked instructions, and does not change the mode.
 *
 * So a window of counters runs at the speed of the processor's atomics, and a window of arrays at
 * the speed of vector code, and the two never meet on one location.
 *
 * The change of mode. A native operation makes its thread's `inflight` count odd, looks at `bulk`,
 * works, and makes the count even. Who needs bulk mode takes the mutex, sets `bulk`, and waits
 * until every thread of every rank of the window has been seen outside: its count even, or changed.
 * The count is written before `bulk` is read, and `bulk` is written before the counts are read, all
 * four sequentially consistent, so either the operation sees bulk mode or the changer sees the
 * operation. A thread that has no inflight line goes to bulk mode.
 */
#ifndef MPIACCEL_ATOMIC_H
#define MPIACCEL_ATOMIC_H

#include "core/kernels.h"
#include "core/thread.h"
#include "rma_shm/access.h"

/* How to combine elements of a datatype with an operation. */
struct reduction_function {
    enum op op;
    uint32_t element;   /* bytes */
    combine_fn *kernel; /* NULL: the host combines, or OP_REPLACE, OP_NO_OP */
    /* One aligned element, atomically: what was there goes to `result` unless that is NULL. NULL:
     * the processor has no instruction for it. */
    void (*native)(const struct reduction_function *function, void *at, const void *origin,
                   void *result);
    void (*host)(const struct reduction_function *function, void *inout, const void *in, size_t n);
    uintptr_t host_type, host_op;
};

/* For elements of `bytes` bytes that are of this prim. `kernel` NULL: only OP_REPLACE and OP_NO_OP
 * can do without the host. */
struct reduction_function reduction_function_of(enum op op, enum prim prim, uint32_t bytes,
                                                combine_fn *kernel);

/* The most elements that are combined one by one. Without contention bulk mode costs as much as one
 * element; with two ranks at the same elements it costs as much as four. */
enum { ATOMIC_FEW = 4 };

/* Accumulate (`result.map` NULL) or get_accumulate. `element` is the predefined datatype that the
 * sides are made of; replacing and fetching alone take any. With OP_NO_OP `origin` is not looked
 * at. */
enum win_error win_accumulate(struct win *win, const struct reduction_function *function,
                              const struct typemap *element, struct buffer origin,
                              struct buffer result, int target, int64_t disp, struct buffer there);

/* Compare_and_swap of `bytes` bytes at `at`, in the window of `target`. `thread` is the caller's.
 */
void win_compare_and_swap(struct win *win, struct thread *thread, uint32_t target, char *at,
                          const void *origin, const void *compare, void *result, size_t bytes);

/* `bytes` bytes of contiguous elements, at least one, at `at` in the window of `target`. `thread`
 * is the caller's; `origin` is not looked at with OP_NO_OP; `result` may be NULL. */
void win_combine(struct win *win, struct thread *thread, const struct reduction_function *function,
                 uint32_t target, char *at, const char *origin, char *result, size_t bytes);

#endif
