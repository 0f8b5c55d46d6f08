/* Long reductions: every rank combines one share of the elements.
 *
 * First all tell each other where their operands and results lie. Then each rank, for its share,
 * reads the operands of all, and the result goes to whom it is for. An operand in the heap is read
 * where it lies, and one in memory that the kernel copies from, part by part; of others the shares
 * of the others are copied into cells, a chunk of each share in a step. A result that can be
 * reached is written by whoever made it; others are taken from cells, in a second slot of the same
 * step. If all can be reached there is one step, and a barrier at the end, since nobody may leave
 * while others use its buffers.
 *
 * In a scan each rank combines all elements for itself: a share is all of the vector. An operand
 * that lies where a result goes is copied into cells, and of more than two ranks one that the
 * kernel would copy for each of them.
 *
 * In place this is safe: bytes of a share are read by the rank that owns the share, and then
 * written by it; staged ones were copied before.
 *
 * A rank posts the operands of a step before it has taken the results of the step before, so that
 * both are on their way; `done` says what has been read, and "who posts k has done all before k"
 * does not hold here.
 */
#ifndef MPIACCEL_SHARES_H
#define MPIACCEL_SHARES_H

#include "coll_inplace/coll.h"

#define SEGMENTED_FOR_ALL UINT32_MAX

/* To `root`, or to all. */
enum coll_error segmented_reduce(struct team *team, const struct reducer *reducer,
                                 struct buffer from, struct buffer to, uint32_t root);

/* Rank r's share is bytes [begin[r], begin[r + 1]), and only it gets the result. */
enum coll_error segmented_reduce_scatter(struct team *team, const struct reducer *reducer,
                                         struct buffer from, struct buffer to, size_t *begin);

/* Each rank combines the operands up to its own, all elements. */
enum coll_error segmented_scan(struct team *team, const struct reducer *reducer, struct buffer from,
                               struct buffer to, bool exclusive);

#endif
