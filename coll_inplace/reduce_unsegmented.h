/* Long reductions that are not done segment by segment: those of user-defined operations, and all
 * of intercommunicators.
 *
 * The function of a user-defined operation may rely on being called once for all elements, unless
 * the host itself divides operands. In an intercommunicator, dividing them would take a third step
 * in which the results move within a group.
 *
 * unsegmented_reduce(): each rank copies its operand into a block of shared memory. Operands are
 * combined where they are, and the result replaces the right operand. If the function needs all
 * elements, they are combined in pairs up a binary tree whose subtrees are ranges of ranks. Once a
 * rank has published its operand, only its parent accesses the block until the parent, too, has
 * published: in a second operation, each rank publishes the address of the result of its subtree.
 * Otherwise each rank combines the same share of all operands, which no other rank accesses
 * meanwhile, and the second operation publishes that it has. Whether all ranks can divide their
 * operands in the same way is known from the slots of the first operation.
 *
 * unsegmented_reduce_for_all(): each rank makes its operand accessible, as a copy in shared memory
 * or by reference, and combines what it needs of the others'.
 *
 * In both, a rank that has no memory for its operand publishes the address 0; then all ranks leave
 * the call to the host. In an intracommunicator all ranks read all slots, so all know. In an
 * intercommunicator each rank reads only the other group's slots; a second operation, in which each
 * rank publishes whether it has found an address 0, completes the knowledge of both groups.
 *
 * If only the root of an intercommunicator receives a result, the other ranks must not wait for
 * each other, so there is no such agreement: a rank sends its operand by reference or through its
 * stream, and if the root has no memory it reports an error.
 */
#ifndef MPIACCEL_REDUCE_UNSEGMENTED_H
#define MPIACCEL_REDUCE_UNSEGMENTED_H

#include "coll_inplace/coll.h"

/* In larger groups the hosts' trees are faster, and these calls are left to them. */
enum { UNSEGMENTED_RANKS_MAX = TREE_FLAT };

/* What a rank receives: bytes [first, first + bytes) of the combined operands of ranks 0 ..
 * count - 1; count 0: nothing. */
struct part {
    uint32_t count;
    size_t first, bytes;
};

/* MPI_Reduce, or MPI_Allreduce with the root SEGMENTED_FOR_ALL; only for intracommunicators, and
 * for reducers without a kernel. */
enum coll_error unsegmented_reduce(struct team *team, const struct reducer *reducer,
                                   struct buffer from, struct buffer to, uint32_t root);

enum coll_error unsegmented_reduce_for_all(struct team *team, const struct reducer *reducer,
                                           struct buffer from, struct buffer to, struct part part);

/* Only for intercommunicators. */
enum coll_error unsegmented_reduce_for_root(struct team *team, const struct reducer *reducer,
                                            struct buffer from, struct buffer to, uint32_t root);

#endif
