#ifndef MPIACCEL_WHOLE_H
#define MPIACCEL_WHOLE_H

#include "coll_inplace/coll.h"

/* What a rank wants of the result: bytes [first, first + bytes) of the operands of ranks 0 ..
 * count - 1 combined; count 0: nothing. */
struct part {
    uint32_t count;
    size_t first, bytes;
};

/* Beyond so many ranks a tree would serve better: the host's. */
enum { USER_OP_RANKS_MAX = TREE_FLAT };

enum coll_error user_op_reduce(struct team *team, const struct reducer *reducer, struct buffer from,
                               struct buffer to, struct part part);

#endif
