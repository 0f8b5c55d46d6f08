/* Long reductions that are not done segment by segment: those of user-defined operations, and all
 * of intercommunicators.
 *
 * The function of a user-defined operation may rely on being called once for all elements, unless
 * the host itself divides operands. In an intercommunicator, dividing them would take a third step
 * in which the results move within a group.
 *
 * unsegmented_reduce(): each rank copies its operand into a block of shared memory and publishes
 * the address, with the length of an element as the length of the slot, or 0 if it does not divide
 * operands. So all ranks know whether all can divide them in the same way. Two operands are
 * combined where they are, and the result replaces the right one, so the result of a range of ranks
 * is in the block of its last rank. Ranges are combined in pairs, up a binary tree. In a second
 * operation, each rank publishes that it is done with its work:
 * - If operands are divided, each rank combines its share of all of them. No other rank accesses
 *   that share before it has published.
 * - Otherwise each rank combines the results of its subtree, and publishes the address of the
 *   result. Until then, only this rank and those below it access the blocks of the subtree; then
 *   only its parent does, until that has published.
 *
 * unsegmented_reduce_part(): each rank makes its operand accessible, as a copy in shared memory or
 * by reference, and combines what it needs of all of them, from the left.
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

/* In larger groups, these calls are left to the host: where each rank combines all operands, the
 * host's trees are faster, and the others have not been measured. */
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

enum coll_error unsegmented_reduce_part(struct team *team, const struct reducer *reducer,
                                        struct buffer from, struct buffer to, struct part part);

/* Only for intercommunicators. */
enum coll_error unsegmented_reduce_for_root(struct team *team, const struct reducer *reducer,
                                            struct buffer from, struct buffer to, uint32_t root);

#endif
