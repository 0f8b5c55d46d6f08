/* Allgather: each rank posts its part and takes the others'. Long parts by_reference where they are
 * if the others can reach them there; else all ranks that have such parts slot pieces of them,
 * round by round. What each does is in its slot, so all know how many rounds there are. */
#include "coll_inplace/coll.h"

static bool takes_rounds(const struct slot *slot)
{
    return slot_kind(slot) == SLOT_PIPELINED;
}

/* What one rank posts in pieces. */
struct long_part {
    uint32_t rank;
    size_t bytes;
};

static enum coll_error run_rounds(struct team *t, struct buffer mine, const struct blocks *all,
                                  const struct long_part *parts, uint32_t count, size_t longest)
{
    enum coll_error error = COLL_OK;
    for (size_t at = 0; at < longest; at += PIECE) {
        uint32_t op = team_begin_piece(t);
        for (uint32_t i = 0; i < count; i++)
            if (parts[i].rank == t->rank && at < parts[i].bytes)
                team_publish_piece(t, op, mine, at, min_size(PIECE, parts[i].bytes - at));
        for (uint32_t i = 0; i < count; i++) {
            uint32_t r = parts[i].rank;
            if (r == t->rank || at >= parts[i].bytes)
                continue;
            const struct slot *slot = team_wait(t, r, op);
            error |= coll_take(block_of(all, r), at, piece_of(t->mailbox[r], op), slot_bytes(slot));
        }
        team_done(t, t->op);
    }
    return error;
}

enum coll_error coll_allgather(struct team *t, struct buffer mine, const struct blocks *all,
                               bool in_place)
{
    uint32_t blocks = t->size * (1 + t->size);
    enum coll_error error = in_place ? COLL_OK : coll_copy(block_of(all, t->rank), mine, blocks);
    if (t->size == 1)
        return error;
    if (!bytes_of(mine) && !blocks_any(all, t->size)) {
        team_begin(t);
        team_end(t);
        return error;
    }
    struct long_part parts[TEAM_RANKS_MAX];
    uint32_t count = 0;
    size_t longest = 0;
    uint32_t op = team_begin(t);
    bool bound = false, binds = team_publish_data(t, op, mine, BY_REFERENCE, 0) == SLOT_REFERENCE;
    for (uint32_t i = 0; i < t->size; i++) {
        uint32_t r = t->rank + i < t->size ? t->rank + i : t->rank + i - t->size;
        const struct slot *slot = team_wait(t, r, op);
        size_t bytes = slot_bytes(slot);
        if (takes_rounds(slot)) {
            parts[count++] = (struct long_part){r, bytes};
            longest = bytes > longest ? bytes : longest;
        } else if (r != t->rank) {
            bound |= slot_kind(slot) == SLOT_REFERENCE;
            error |= coll_take_post(t, r, op, slot, block_of(all, r));
        }
    }
    team_note_all_done(t, op - 1);
    if (bound)
        team_done(t, op);
    error |= run_rounds(t, mine, all, parts, count, longest);
    if (binds)
        team_wait_all(t, op);
    team_end(t);
    return error;
}
