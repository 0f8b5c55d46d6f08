/* Reductions by an operation of the user's of more than fits into a cell. Its function may rely on
 * getting all elements in one call, as under the hosts, so each rank puts its whole operand into a
 * block of shared memory, and who wants the result combines them there. Each says whether it had
 * the memory, and all hear that: if one had none, all leave the call to the host. */
#include "coll_inplace/user_op.h"

#include <stdlib.h>

static const char *operand(struct team *t, uint32_t rank, uint32_t op)
{
    return remote_addr_local(slot_address(team_wait(t, rank, op)));
}

/* The operands of ranks 0 .. count - 1, as far as the part goes. */
static void combine(struct team *t, const struct reducer *red, uint32_t op, struct part part,
                    struct buffer to, char *sum)
{
    memcpy(sum, operand(t, 0, op) + part.first, part.bytes);
    for (uint32_t r = 1; r < part.count; r++)
        reducer_combine(red, sum, sum, operand(t, r, op) + part.first, part.bytes);
    reducer_write(red, to, 0, sum, part.bytes);
}

enum coll_error user_op_reduce(struct team *t, const struct reducer *red, struct buffer from,
                               struct buffer to, struct part part)
{
    size_t bytes = reducer_elements(red, from) * red->element;
    uint32_t op = team_begin(t);
    char *sum = red->starved ? NULL : malloc(part.bytes + 1),
         *block = sum ? team_hold(t, op, bytes) : NULL;
    remote_addr_t place = block ? (remote_addr_t)(block - node.base) << 1 : 0;
    if (block)
        reducer_read(red, block, from, 0, bytes);
    team_wait_room(t, SLOT_INLINE);
    memcpy(slot_of(t->mine, op)->data, &place, sizeof place);
    team_publish(t, op, SLOT_REFERENCE, bytes);
    bool all = block;
    for (uint32_t r = 0; r < t->size; r++)
        all &= slot_address(team_wait(t, r, op)) != 0;
    team_note_all_done(t, op - 1);
    if (all && part.count && part.bytes)
        combine(t, red, op, part, to, sum);
    team_done(t, op);
    free(sum);
    return all ? COLL_OK : COLL_LEFT;
}
