/* Long reductions of predefined operations: the vector is divided into one segment per rank, and
 * every rank combines its segment of all operands.
 *
 * First, all ranks publish where their operands and results are. Then each rank, for its segment,
 * reads the operands of all ranks and writes the result to the ranks that receive it. An operand in
 * the heap, or in private memory that peers copy through the OS, is read by reference. The owner of
 * any other operand copies the segments of the other ranks into cells, in steps: a chunk of each
 * segment per step. A result buffer that can be accessed is written by the rank that combines the
 * segment; any other result is read from cells, in a second slot of the same step. If all buffers
 * can be accessed there is a single step. A barrier at the end keeps every rank in the call while
 * others access its buffers.
 *
 * In a team of more than TREE_FLAT ranks, shorter private vectors are copied into memory that
 * others access, and the result is written there and copied from there after the barrier
 * (transport_holds_vector()).
 *
 * In a scan each rank combines all elements for itself, so its segment is the complete vector. The
 * operand is copied into cells if the result overwrites it, and, among more than two ranks, if the
 * OS would have to copy it for each of them.
 *
 * In place this is safe: only the rank that owns a segment reads its bytes in other buffers, and it
 * writes them afterwards; data in cells were copied before.
 *
 * A rank sends the operands of a step before it has read the results of the step before, so that
 * both are in flight. Therefore a rank whose slot holds k need not be done with all operations
 * before k here; only `done` counts.
 */
#ifndef MPIACCEL_REDUCE_SEGMENTED_H
#define MPIACCEL_REDUCE_SEGMENTED_H

#include "coll_inplace/coll.h"

/* MPI_Reduce, or MPI_Allreduce with the root REDUCE_FOR_ALL. */
enum coll_error segmented_reduce(struct team *team, const struct reducer *reducer,
                                 struct buffer from, struct buffer to, uint32_t root);

/* The segment of rank r is bytes [begin[r], begin[r + 1]), and only rank r receives its result: at
 * the start of `to`, or, if `in_vector`, where the segment is in the vector. */
enum coll_error segmented_reduce_scatter(struct team *team, const struct reducer *reducer,
                                         struct buffer from, struct buffer to, size_t *begin,
                                         bool in_vector);

/* Each rank combines the operands of the ranks before it, and its own unless `exclusive`. */
enum coll_error segmented_scan(struct team *team, const struct reducer *reducer, struct buffer from,
                               struct buffer to, bool exclusive);

#endif
