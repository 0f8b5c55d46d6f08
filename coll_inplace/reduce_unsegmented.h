/* Long reductions that are not done segment by segment: those of user-defined operations, and all
 * of intercommunicators.
 *
 * The function of a user-defined operation may rely on being called once for all elements, unless
 * the host itself divides operands. In an intercommunicator, dividing operands would require
 * another exchange, within each group, to distribute the results.
 *
 * unsegmented_reduce(): each rank copies its operand into a block of shared memory and publishes a
 * slot with the block's address. If operands are not divided, an inner rank of the tree does not
 * copy a contiguous operand, which only it reads. The slot's length is that of an element, or 0 if
 * this rank does not divide operands. All ranks read all slots, and divide only if all lengths are
 * equal and not 0. Two operands are combined where they are, and the result replaces the right one,
 * so the result of a range of ranks is in the block of its last rank. Ranges are combined in pairs,
 * up a binary tree. In a second operation, each rank publishes that it is done with its work:
 * - If operands are divided, each rank combines its share of all of them. Other ranks access that
 *   share only after this rank has published.
 * - Otherwise each inner rank combines the results of its children with its own operand, and
 *   publishes the address of the result. Until a rank publishes, only ranks of its subtree access
 *   the blocks of that subtree; afterwards only its parent does, until the parent publishes.
 *
 * unsegmented_reduce_scatter(): likewise; the share of a rank is its result, so it needs no second
 * operation.
 *
 * unsegmented_reduce_part(): each rank makes its operand accessible, as a copy in shared memory or
 * by reference, and combines what it needs of all of them, from the left.
 *
 * In all three, a rank that has no memory for its operand, or to combine in, publishes the address
 * 0; then all ranks leave the call to the host. In an intracommunicator every rank reads every
 * slot. In an intercommunicator a rank reads only the other group's slots, so in a second operation
 * each rank publishes whether it has found an address 0.
 *
 * If only the root of an intercommunicator receives a result, the other ranks must not wait for
 * each other, so there is no such agreement: a rank sends its operand by reference or through its
 * stream, and if the root has no memory it reports an error.
 */
#ifndef MPIACCEL_REDUCE_UNSEGMENTED_H
#define MPIACCEL_REDUCE_UNSEGMENTED_H

#include "coll_inplace/coll.h"

/* Calls in larger groups are left to the host, whose trees are faster there than
 * unsegmented_reduce_part(). In larger groups unsegmented_reduce() has not been measured. */
enum { UNSEGMENTED_RANKS_MAX = TREE_FLAT };

/* What a rank receives: bytes [first, first + bytes) of the combined operands of ranks 0 ..
 * count - 1; count 0: nothing. */
struct part {
    uint32_t count;
    size_t first, bytes;
};

/* MPI_Reduce, or MPI_Allreduce with the root REDUCE_FOR_ALL; only for intracommunicators, and for
 * reducers without a kernel. */
enum coll_error unsegmented_reduce(struct team *team, const struct reducer *reducer,
                                   struct buffer from, struct buffer to, uint32_t root);

/* MPI_Reduce_scatter; only for intracommunicators, and for reducers without a kernel. We receive
 * bytes [first, first + bytes) of the combined operands. */
enum coll_error unsegmented_reduce_scatter(struct team *team, const struct reducer *reducer,
                                           struct buffer from, struct buffer to, size_t first,
                                           size_t bytes);

/* MPI_Scan and MPI_Exscan; in intercommunicators, MPI_Allreduce and MPI_Reduce_scatter. */
enum coll_error unsegmented_reduce_part(struct team *team, const struct reducer *reducer,
                                        struct buffer from, struct buffer to, struct part part);

/* MPI_Reduce, only for intercommunicators. */
enum coll_error unsegmented_reduce_for_root(struct team *team, const struct reducer *reducer,
                                            struct buffer from, struct buffer to, uint32_t root);

#endif
