/* MPI_Allgather: each rank sends its part in its slot and reads the parts of the others. Long parts
 * are read by reference if the other ranks can access them.
 *
 * Otherwise they are pipelined. In an intracommunicator, all ranks with such parts send pieces of
 * them, round by round; every rank reads all slots, so each of them can compute the number of
 * rounds. In an intercommunicator a rank does not know the lengths of its own group, so streams are
 * used. */
#include "coll_inplace/receive.h"
#include "coll_inplace/stream.h"

/* A part that is sent in pieces. */
struct long_part {
    uint32_t rank;
    size_t bytes;
};
_Static_assert(sizeof(struct long_part) == 2 * sizeof(uint64_t), "an entry of TABLE_PAIRS");

static enum coll_error run_rounds(struct team *t, struct buffer mine, const struct blocks *all,
                                  const struct long_part *parts, uint32_t count)
{
    enum coll_error error = COLL_OK;
    size_t longest = 0;
    for (uint32_t i = 0; i < count; i++)
        longest = parts[i].bytes > longest ? parts[i].bytes : longest;
    for (size_t at = 0; at < longest; at += PIECE) {
        uint32_t op = team_begin_piece(t);
        for (uint32_t i = 0; i < count; i++)
            if (parts[i].rank == t->self && at < parts[i].bytes)
                team_publish_piece(t, op, mine, at, min_size(PIECE, parts[i].bytes - at));
        for (uint32_t i = 0; i < count; i++) {
            uint32_t r = parts[i].rank;
            if (r == t->self || at >= parts[i].bytes)
                continue;
            const struct slot *slot = team_wait(t, r, op);
            error |=
                receive_bytes(block_of(all, r), at, piece_of(t->ring[r], op), slot_bytes(slot));
        }
        team_done(t, t->op);
    }
    return error;
}

/* Exchange parts with each partner in turn: send our part and receive the partner's, each only if
 * it is pipelined. */
static enum coll_error run_streams(struct team *t, uint32_t op, struct buffer mine,
                                   const struct blocks *all, bool we_stream)
{
    enum coll_error error = COLL_OK;
    for (uint32_t i = 0; i < t->size; i++) {
        uint32_t r = team_partner(t, i);
        const struct slot *slot = team_wait(t, r, op);
        struct stream in = stream_none(t), out = stream_none(t);
        if (slot_kind(slot) == SLOT_PIPELINED)
            in = stream_of_partner(t, r, slot, block_of(all, r));
        if (we_stream)
            out = stream_out(t, mine, team_stream_start(t));
        error |= stream_run(&out, &in, false);
    }
    return error;
}

/* The buffer from which the others read the part of this rank, which has also been copied into
 * `own`, its place in the result. This is `own` for a long part if they can read only `own` (`mine`
 * may have holes), or if they would read `mine` through the OS, and `own` is at a distance from it
 * at which copies are slow: their own results usually are, too. */
static struct buffer part_to_send(const struct team *t, struct buffer mine, struct buffer own)
{
    size_t bytes = bytes_of(mine);
    if (LIKELY(bytes <= EAGER_MAX) || bytes_of(own) != bytes)
        return mine;
    remote_addr_t address = remote_addr_to_read(t, mine, bytes);
    if (address && (remote_addr_local(address) || !copy_is_slow_between(own.at, mine.at)))
        return mine;
    return remote_addr_to_read(t, own, bytes) ? own : mine;
}

enum coll_error coll_allgather(struct team *t, struct buffer mine, const struct blocks *all,
                               bool in_place)
{
    bool inter = team_is_inter(t);
    uint32_t blocks = t->size * (1 + t->size);
    enum coll_error error = COLL_OK;
    if (!in_place && !inter)
        error = copy_own(block_of(all, t->self), mine, blocks);
    if (t->alone)
        return error;
    if (!in_place && !inter)
        mine = part_to_send(t, mine, block_of(all, t->self));
    if (!bytes_of(mine) && !inter && !blocks_any(all, t->size)) {
        team_begin(t);
        team_end(t);
        return error;
    }
    struct long_part *parts = team_table(t, TABLE_PAIRS); /* of this rank and of all partners */
    uint32_t count = 0, first = inter ? t->first_partner : t->self + 1;
    uint32_t op = team_begin(t);
    bool reads = false;
    enum slot_kind kind = team_publish_data(t, op, mine, BY_REFERENCE);
    if (kind == SLOT_PIPELINED)
        parts[count++] = (struct long_part){t->self, bytes_of(mine)};
    for (uint32_t i = 0; i < t->peers; i++) {
        uint32_t r = first + i < t->size ? first + i : first + i - t->size;
        const struct slot *slot = team_wait(t, r, op);
        if (slot_kind(slot) == SLOT_PIPELINED) {
            parts[count++] = (struct long_part){r, slot_bytes(slot)};
        } else {
            reads |= slot_kind(slot) == SLOT_REFERENCE;
            error |= receive_slot(t, r, op, slot, block_of(all, r));
        }
    }
    team_note_all_done(t, op - 1);
    if (reads)
        team_done(t, op);
    if (UNLIKELY(count))
        error |= inter ? run_streams(t, op, mine, all, kind == SLOT_PIPELINED)
                       : run_rounds(t, mine, all, parts, count);
    if (kind == SLOT_REFERENCE)
        team_await_readers(t, op);
    team_end(t);
    return error;
}

void coll_exchange(struct team *t, const void *mine, void *all, size_t bytes)
{
    assert(!t->alone && !team_is_inter(t));
    uint32_t op = team_begin(t);
    team_publish_inline(t, op, mine, bytes);
    char *to = all;
    for (uint32_t r = 0; r < t->size; r++, to += bytes)
        memcpy(to, r == t->self ? mine : team_wait(t, r, op)->data, bytes);
    team_note_all_done(t, op - 1);
    team_end(t);
}
