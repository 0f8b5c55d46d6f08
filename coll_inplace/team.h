/* A team: the ranks of a communicator, all on this node, and what they share for its collectives.
 *
 * Every rank has a mailbox (mailbox.h): 64 posts of one line each, 16 cells of memory, and
 * counters.
 *
 * Operations are numbered; all ranks make the same ones in the same order, so the numbers agree. In
 * operation k a rank that has something to tell writes it into its slot number k mod 64, the data
 * into the slot itself if they are few, into cell k mod 16 if they are some, or says where they
 * lie, and then publishes k in the slot: a release. Who needs it waits until the slot says k: an
 * acquire. The flag and few data are one line, so they take one flight.
 *
 * Nobody waits for its readers (H15): `done` of each mailbox says up to which operation its owner
 * has read what it wanted, and a slot or cell is written again only when all have done the
 * operation that it was last used for. `done` is published every eighth operation, and every fourth
 * while cells are read, so a rank may run some 56 operations ahead of the slowest one, or twelve
 * with cells. Seeing a slot k of a rank also says that this rank has done all before k; a team
 * whose collectives synchronise never has to look at `done`.
 *
 * Data that by_reference where they are (a slot that names a place, in the shared heap or in memory
 * that the kernel copies from for the others) bind their owner: it leaves the operation when those
 * who read have published that they are done. Long data elsewhere go in pieces, each an operation
 * of PIECE_CELLS numbers and as many cells, of which several are on their way at once; data of
 * lengths that only two ranks know go through a stream (stream.h).
 *
 * What is decided from facts that only one rank knows (where its buffer lies, how long its part of
 * a v-variant is) is in its slot, and the others follow it (H13).
 *
 * The two groups of an intercommunicator move data only from one to the other, so there the team of
 * a rank has the rows of the other group alone: they are its readers and those that it reads
 * (inter_coll.h).
 *
 * A rank that dies ends the job. One that runs ahead meets posts that are not free yet, and waits.
 * One that never comes keeps the others waiting inside sync_wait(), which gives the host progress.
 */
#ifndef MPIACCEL_TEAM_H
#define MPIACCEL_TEAM_H

#include "alloc/node.h"
#include "coll_inplace/mailbox.h"
#include "coll_inplace/tree.h"
#include "core/barrier.h"
#include "core/copy_policy.h"
#include "core/stats.h"
#include "core/typemap.h"

enum {
    TEAM_RANKS_MAX = 512,      /* a word of 16 bytes for each of them fits into a cell */
    SLOT_LAG = TEAM_SLOTS / 8, /* operations after which `done` is published at the latest, */
    CELL_LAG = TEAM_CELLS / 4, /* and after these if cells were read */
};
_Static_assert(SLOT_LAG + 2 * PIECE_CELLS <= TEAM_CELLS,
               "who waits for a piece's cells waits for what has been published by then");

/* In rank 0's slice, for all. */
struct team_common {
    _Alignas(LINE) _Atomic uint32_t departed; /* ranks that have freed the communicator */
    _Atomic uint32_t released;                /* ranks that will not look at this again */
    struct barrier_flag flags[];
};

struct team {
    uint32_t size, rank;   /* between groups: how many rows there are, our rank in our group */
    uint32_t group;        /* between groups: how many we are; else 0 */
    bool can_access_peers; /* all can reach each other's private memory */
    uint32_t policy;       /* enum copy_policy, as this process is configured */
    uint32_t op;           /* the last one begun */
    uint32_t published;    /* what our `done` says */
    uint32_t lag;          /* so far it may be behind */
    uint32_t all_done;     /* up to here, as far as we know */
    struct barrier barrier;
    struct team_common *common;
    struct mailbox *mine;
    struct held *held;         /* see team_hold() */
    struct team *next;         /* among those that were left */
    struct order *order;       /* of more than TREE_FLAT ranks */
    struct mailbox *mailbox[]; /* by rank */
};

/* ---- making and leaving ---- */

/* What a rank brings. Plain bytes: goes through the host's allgather. */
struct team_offer {
    int32_t reason;           /* REASON_COUNT: none against it */
    int32_t can_access_peers; /* we can read our neighbour's private memory */
    uint64_t mailbox, common; /* positions in the node's file; `common`: rank 0's */
    uint64_t domain;          /* see locality.h; in teams of a few, 0 */
};

/* A team to be, and our offer for it. NULL: the offer says why. `neighbour`: a member of the node
 * that is in it, by which we try whether we can read private memory; the next rank, or one of the
 * other group. */
struct team *team_prepare(uint32_t size, uint32_t rank, int neighbour, struct team_offer *offer);

/* The same between groups: ours, and another one of `size` ranks. */
struct team *team_prepare_between(uint32_t group, uint32_t rank, uint32_t size, int neighbour,
                                  struct team_offer *offer);

/* With the offers of all ranks (between groups: of the other one): REASON_COUNT and the team is
 * ready, or why it cannot be, the same on all ranks. */
enum reason team_settle(struct team *team, const struct team_offer *offers, uint32_t size);

/* What came to nothing. */
void team_withdraw(struct team *team, const struct team_offer *offer);

/* Of one rank: nothing is shared. NULL: no memory. */
struct team *team_of_one(void);

/* Local: the mailbox is used by slower ranks still, and freed when all have left. */
void team_leave(struct team *team);

/* Free what can be. */
void team_reap(void);

/* ---- operations ---- */

/* The next operation's number. */
static inline uint32_t team_begin(struct team *t)
{
    return ++t->op;
}

/* Of one with the cells of PIECE_CELLS posts in a mailbox: the first number. */
static inline uint32_t team_begin_piece(struct team *t)
{
    uint32_t first = (t->op + PIECE_CELLS) & ~(uint32_t)(PIECE_CELLS - 1);
    t->op = first + PIECE_CELLS - 1;
    return first;
}

/* All of us have begun what comes after `op`. */
static inline void team_note_all_done(struct team *t, uint32_t op)
{
    if (sync_reached(op, t->all_done))
        t->all_done = op;
}

void team_wait_all(struct team *team, uint32_t op);

/* Until what the last operation begun posts may be written: its slot, and, unless all of it is in
 * there, the cells up to its own. */
static inline void team_wait_room(struct team *t, enum slot_kind kind)
{
    uint32_t free = t->op - (kind == SLOT_INLINE ? TEAM_SLOTS : TEAM_CELLS);
    if (UNLIKELY(!sync_reached(t->all_done, free)))
        team_wait_all(t, free);
}

/* Whether a cell is written with non-temporal stores, which leave its lines in no cache. The reader
 * then waits for memory once, some 300 ns, which a few lines do not make up for. */
static inline bool team_uses_nontemporal(const struct team *t, size_t bytes)
{
    return bytes > CELL_FEW && (t->policy & COPY_POLICY_NONTEMPORAL);
}

/* Fill a cell, or a part of one. This process does not read it afterwards: it may be in no cache.
 */
static inline void team_copy(const struct team *t, char *cell, const char *from, size_t bytes)
{
    if (team_uses_nontemporal(t, bytes))
        copy_nontemporal(cell, from, bytes);
    else
        copy_to_peers(cell, from, bytes);
}

/* The same with bytes [first, first + bytes) of a buffer's data. */
static inline void team_fill(const struct team *t, char *cell, struct buffer from, size_t first,
                             size_t bytes)
{
    buffer_fill(cell, from, first, bytes, team_uses_nontemporal(t, bytes));
}

/* Publish our slot, written already. */
static inline void team_publish_word(struct team *t, uint32_t op, uint64_t what)
{
    struct slot *slot = slot_of(t->mine, op);
    slot->what = what;
    sync_publish(&slot->op, op);
    prefetch_to_write(slot_of(t->mine, op + SLOTS_AHEAD));
}

static inline void team_publish(struct team *t, uint32_t op, enum slot_kind kind, size_t bytes)
{
    team_publish_word(t, op, (uint64_t)bytes << 2 | kind);
    if (kind == SLOT_BUFFERED && bytes <= TEAM_CELL && !team_uses_nontemporal(t, bytes))
        prefetch_block_to_write(cell_for(t->mine, op + 1, bytes), bytes);
}

static inline enum slot_kind slot_kind(const struct slot *slot)
{
    return (enum slot_kind)(slot->what & 3);
}

static inline size_t slot_bytes(const struct slot *slot)
{
    return slot->what >> 2;
}

/* A rank's slot. Its content may be read until we publish that we are done. */
static inline const struct slot *team_wait(struct team *t, uint32_t rank, uint32_t op)
{
    struct slot *slot = slot_of(t->mailbox[rank], op);
    sync_wait_until(&slot->op, op);
    return slot;
}

/* The same of a rank that may run ahead of us: if the slot was there, the next one may be too. (Of
 * one that may not, fetching the next cell would only take it from who is about to write it.) */
static inline const struct slot *team_wait_stream(struct team *t, uint32_t rank, uint32_t op)
{
    struct slot *slot = slot_of(t->mailbox[rank], op);
    if (sync_reached(sync_load(&slot->op), op)) {
        const char *next = (const char *)slot_of(t->mailbox[rank], op + 1);
        __builtin_prefetch(next);
        __builtin_prefetch(next + PREFETCH_LINE);
        if (slot_kind(slot) == SLOT_BUFFERED)
            prefetch_block_to_read(cell_for(t->mailbox[rank], op + 1, slot_bytes(slot)),
                                   slot_bytes(slot));
    } else {
        sync_wait_until_slow(&slot->op, op);
    }
    if (slot_kind(slot) == SLOT_BUFFERED)
        t->lag = CELL_LAG;
    return slot;
}

/* Numbers are compared as if they were near each other: what is far behind would look ahead. */
#define TEAM_FAR (UINT32_C(1) << 29)
void team_keep_counters_close(struct team *team, uint32_t op);

/* We have read all that we wanted of the posts up to `op`: say so now, or soon. */
static inline void team_done(struct team *t, uint32_t op)
{
    if (UNLIKELY((op ^ t->published) >= TEAM_FAR))
        team_keep_counters_close(t, op);
    t->published = op;
    t->lag = SLOT_LAG;
    sync_publish(&t->mine->done, op);
}

static inline void team_end(struct team *t)
{
    if (t->op - t->published >= t->lag)
        team_done(t, t->op);
}

/* The same where data by_reference where they lie: a peer's that we have read, ours that peers
 * read. */
static inline void team_end_by_reference(struct team *t, uint32_t op, bool bound, bool binds)
{
    if (bound)
        team_done(t, op);
    if (binds)
        team_wait_all(t, op);
    team_end(t);
}

/* ---- data in posts ---- */

/* Where data lie that by_reference where they are: twice the position in the node's file, or twice
 * the address in their owner's memory and 1. 0: they do not lie in one piece, or out of reach. */
typedef uint64_t remote_addr_t;
remote_addr_t team_address(struct team *team, struct buffer b, size_t bytes);

/* The same of a buffer that others may write to, whoever copies else. */
remote_addr_t team_target_address(const struct team *team, struct buffer b, size_t bytes);

/* The place as an address here; NULL: it is in its owner's private memory. */
static inline char *remote_addr_local(remote_addr_t place)
{
    return place & 1 ? NULL : node.base + (place >> 1);
}

/* Then, to and from it. False: the kernel refuses, though it did not when the team was made. */
bool remote_read(const struct team *team, uint32_t owner, remote_addr_t place, size_t first,
                 void *to, size_t bytes);
bool remote_write(const struct team *team, uint32_t owner, remote_addr_t place, size_t first,
                  const void *from, size_t bytes);

/* Post a few bytes, in the slot. */
HOT_INLINE void team_publish_inline(struct team *t, uint32_t op, const void *from, size_t bytes)
{
    team_wait_room(t, SLOT_INLINE);
    copy_bytes(slot_of(t->mine, op)->data, from, bytes);
    team_publish(t, op, SLOT_INLINE, bytes);
}

/* Shared memory for more than a cell, which is freed some time after all have done operation `op`.
 * NULL: no room. */
char *team_hold(struct team *team, uint32_t op, size_t bytes);

/* Whether data may by_reference where they lie, so that we are kept until all have read them. */
enum by_reference {
    BY_REFERENCE_NEVER,    /* they will be overwritten before */
    BY_REFERENCE_LONG,     /* if they are long: the host does not synchronise short ones (H15) */
    BY_REFERENCE_OPERANDS, /* the same, and short ones in the heap; peers combine what they read */
    BY_REFERENCE,          /* the same; peers copy what they read */
};

bool team_by_reference(struct team *team, struct buffer from, size_t bytes,
                       enum by_reference by_reference);

/* Post data, and return how: in the slot or its cell, where they lie, or only that there will be
 * pieces, with `start` for who needs it. */
enum slot_kind team_publish_data(struct team *team, uint32_t op, struct buffer from,
                                 enum by_reference by_reference, uint32_t start);

static inline remote_addr_t slot_address(const struct slot *slot)
{
    remote_addr_t place;
    memcpy(&place, slot->data, sizeof place);
    return place;
}

/* Where the data of a slot of `rank` are, of SLOT_INLINE or SLOT_BUFFERED. */
static inline const char *slot_data(struct team *t, uint32_t rank, uint32_t op,
                                    const struct slot *slot)
{
    return LIKELY(slot_kind(slot) == SLOT_INLINE)
               ? slot->data
               : cell_for(t->mailbox[rank], op, slot_bytes(slot));
}

/* Post bytes [first, first + bytes) of a buffer's data as a piece. */
void team_publish_piece(struct team *team, uint32_t op, struct buffer from, size_t first,
                        size_t bytes);

#endif
