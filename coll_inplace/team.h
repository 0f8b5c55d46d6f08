/* A team: the ranks of a communicator, all of them on this node, and the shared memory that their
 * collectives use. Every rank has a mailbox (mailbox.h).
 *
 * Operations are numbered. All ranks perform the same operations in the same order, so the numbers
 * agree. In operation k a rank that has data to send writes slot k mod 256 of its mailbox: the data
 * themselves or, if they do not fit, their location: cell k mod 16, a remote address
 * (SLOT_REFERENCE) or a stream. Then it publishes k in the slot, with a release. A rank that needs
 * the data waits, with an acquire, until the slot holds k. The flag and small data share one LINE
 * (128 bytes), so they travel together.
 *
 * A sender of short data does not wait for its readers (H15: programs rely on collectives that do
 * not synchronise). `done` of each mailbox is the last operation whose data its owner has read. A
 * slot or cell is written again only after all ranks are done with the operation that used it
 * before. `done` is published every eighth operation, and every fourth while cells are read, so a
 * rank may be some 248 operations ahead of the slowest one, or twelve with cells. A rank that has
 * published k has completed all operations before k. So in collectives in which each rank waits for
 * all others, `done` is never read.
 *
 * Data of up to 4 KiB take only one of eight parts of a cell (which is 32 KiB long, although longer
 * data use at most 16), so a rank may be some 120 operations ahead with them. The slot names the
 * part. If all ranks are done with the operation that used the cell before (k - 16 or an earlier
 * one), the owner uses part 0; otherwise it uses the part that follows the one of that operation.
 * So since the whole cell was last free, its parts have been used in turn. The owner waits until
 * all ranks are done with the operation that used this part before, which is at least eight uses of
 * the cell back (k - 128 or earlier). Longer data, and all other uses of a cell, need the whole
 * cell: the owner waits for k - 16 before it writes them, and also before it writes short data into
 * a cell that last held such data. As long as the readers keep up, only part 0 is used and the
 * other pages of the cell are not touched.
 *
 * Hosts let a rank run ahead by 1000 short messages, and programs rely on it. So a rank that has
 * waited for 10 ms for a slot, a cell or a part of one continues in another ring of slots and
 * cells, of which a mailbox has up to TEAM_RINGS. If the slowest rank has done nothing since the
 * last change of ring, the rank moves to a further ring without waiting. The rank chooses a ring
 * whose operations all ranks are done with, or allocates one. Other ranks cannot derive this
 * choice, so it is published: `ring_from` of each ring is the first operation of its latest use. A
 * reader remembers in which ring it has read last, and looks there first. A slot is right only if
 * it holds exactly k: the ring may be in use again, with later operations. Otherwise the reader
 * looks for the ring with the latest `ring_from` that is not after k. That is the right ring: the
 * owner does not reuse the ring of k before this rank is done with k, and every ring that the owner
 * begins after k has a later `ring_from`. The owner stores `ring_from` before it publishes in the
 * ring. Readers that sleep on a slot of the old ring are not woken: they look again when the sleep
 * ends, after some milliseconds at most. Longer data, in pieces or streams, wait for their readers,
 * as in the hosts.
 *
 * A rank that sends data by reference (in the shared heap, or in private memory that peers copy
 * through the OS) leaves the operation only after the readers have published that they are done.
 * Long data that cannot be read by reference are pipelined. If all ranks know the length, the data
 * are sent in pieces, several of which may be in flight; each piece is an operation that takes
 * PIECE_CELLS numbers and the adjacent cells with these numbers. If only two ranks know the length,
 * the data go through a stream (stream.h).
 *
 * Facts that only one rank knows (where its buffer is, how long its part in a v-variant is) are
 * published in its slot, and the other ranks act on them. The decision to accelerate a call never
 * depends on such facts (H13: the decision must be the same on all ranks).
 *
 * Intercommunicators. Data move only between the groups, never within one, even in a barrier.
 * Therefore the team of an intercommunicator has the mailboxes of the other group: `size`, and the
 * rank of a peer, refer to that group, and `rank` and `group` to our own. The collectives are the
 * same code; they differ in three points:
 *   - `self` is the index of our mailbox among the mailboxes. In an intercommunicator it is
 *     INTER_ROOT: no peer has this index, and as a root it means "this rank" (MPI_ROOT).
 *   - The number of mailboxes that we read (`size`) and the number of ranks that read a peer's
 *     mailbox (`group`) are equal only in an intracommunicator.
 *   - Ranks that pass MPI_PROC_NULL are given neither root nor length. So the count of operation
 *     numbers must not depend on root or length: every collective takes one, except long reductions
 *     whose result goes to all ranks, which take two. Pipelined data always go through streams.
 *
 * The collectives of an intercommunicator use no tree (`flat`), so they are efficient only for
 * groups of up to about ten ranks.
 *
 * A rank that dies ends the job. A rank that runs ahead waits for free slots. While a rank waits
 * for another one that does not arrive, sync_wait() drives the host's progress.
 */
#ifndef MPIACCEL_TEAM_H
#define MPIACCEL_TEAM_H

#include "coll_inplace/cells.h"
#include "coll_inplace/mailbox.h"
#include "coll_inplace/transport.h"
#include "coll_inplace/tree.h"
#include "core/barrier.h"
#include "core/stats.h"
#include "core/typemap.h"
#include "node/node.h"
#include "peer_copy/copy_request.h"

#include <assert.h>

enum {
    TEAM_RANKS_MAX = 512, /* a table of block descriptors fits into a cell */
    SLOT_LAG = 8,         /* publish `done` after this many operations at the latest */
    CELL_LAG = 4,         /* publish `done` after this many operations if cells were read */
};
_Static_assert(SLOT_LAG + 2 * PIECE_CELLS <= TEAM_CELLS,
               "a rank that waits for the cells of a piece waits only for published operations");

/* `self` in the team of an intercommunicator. As a root: this rank. */
#define INTER_ROOT UINT32_MAX

/* Shared by all ranks of an intracommunicator; in the slice of rank 0. */
struct team_common {
    _Alignas(LINE) _Atomic uint32_t departed; /* ranks that have freed the communicator */
    _Atomic uint32_t released;                /* ranks that will not access this structure again */
    _Atomic uint64_t host_error;              /* see abi/nodes/lane_call.h */
    struct barrier_flag flags[];
};

struct team {
    uint32_t size;            /* number of mailboxes */
    uint32_t self;            /* ours among them, or INTER_ROOT */
    uint32_t peers;           /* mailboxes other than ours */
    uint32_t rank;            /* in our group: our entry in tables that peers write */
    uint32_t group;           /* ranks in our group: entries in such a table */
    uint32_t readers;         /* ranks other than its owner that read the mailbox of a peer */
    uint32_t first_partner;   /* see team_partner() */
    bool alone;               /* a communicator of one rank */
    bool few;                 /* coll_allreduce_few() serves it */
    bool flat;                /* few ranks or an intercommunicator: small data need no tree */
    bool can_access_peers;    /* peers may access our private memory: see team_note_refusals() */
    bool cells_used;          /* this rank may write to its cells: see cells.h */
    uint32_t policy;          /* enum copy_policy, as configured in this process */
    uint32_t op;              /* the last operation that was begun */
    uint32_t published;       /* the value of our `done` */
    uint32_t lag;             /* how far `published` may be behind `op` */
    uint32_t reusable;        /* slots and cells of our ring that were used by operations up to
                                 this one may be written again */
    uint8_t part[TEAM_CELLS]; /* by cell: see team_part() */
    uint32_t answered;        /* copy_requests_answered when that was last considered */
    struct barrier barrier;
    struct team_common *common; /* NULL in an intercommunicator */
    struct mailbox *mine;
    struct ring *own_ring;         /* of our mailbox: the one in which we publish */
    uint32_t ring_number;          /* its number */
    uint32_t ring_end[TEAM_RINGS]; /* the last operation for which each other ring was used */
    uint32_t done_at_change;       /* what all ranks were done with when the ring last changed */
    struct mailbox **mailbox;      /* by rank */
    uint64_t *tables;              /* see team_table() */
    uint32_t entries;              /* of each table: one more than there are ranks in a group */
    struct held *held;             /* see team_hold() */
    struct team *next;         /* in the list of teams that this rank has left but not yet freed */
    uint32_t children_created; /* these three: see child.h */
    uint32_t children_offered;
    struct children *children; /* NULL: this rank has offered nothing, or had no memory */
    /* These are for cells.h. */
    struct cell_holders *holders;
    struct team *newer_holder, *older_holder;
    bool is_holder;        /* it is in the list of `holders` */
    uint32_t cell_op;      /* the last operation that used our cells */
    uint32_t cell_op_seen; /* `cell_op` when cells_take() last looked at this team */
    struct ring *ring[];   /* by rank: in which this rank has read last */
};

/* Tables with an entry per rank, for the duration of a call. They are not on the stack, because
 * programs run threads whose stacks have 16 KiB, and the hosts use half of that
 * (tests/coll/coll_stack.c). */
enum team_table {
    TABLE_SEGMENTS,   /* of reductions: where they begin */
    TABLE_SENT_TYPES, /* typemaps of MPI_Alltoallw */
    TABLE_RECEIVED_TYPES,
    TABLE_PAIRS, /* two words per rank: addresses, or parts that are sent in pieces */
    TABLE_WORDS = TABLE_PAIRS + 2 /* per rank, in all tables */
};

static inline void *team_table(const struct team *t, enum team_table which)
{
    return t->tables + (size_t)which * t->entries;
}

static inline bool team_is_inter(const struct team *t)
{
    return t->self == INTER_ROOT;
}

static inline uint32_t team_larger_group(const struct team *t)
{
    return t->size > t->group ? t->size : t->group;
}

/* ---- creation and destruction ---- */

/* The contribution of one rank; sent through the host's allgather as plain bytes. */
struct team_offer {
    int32_t reason;           /* why this rank cannot take part; REASON_NONE: it can */
    int32_t can_access_peers; /* this rank can read the private memory of `neighbour` */
    uint64_t mailbox, common; /* positions in the node's file; `common` only of rank 0 */
    /* If the communicator spans nodes: the node of this rank, and a number that rank 0 chooses. */
    int32_t node, tag;
};

/* Step 1, local: returns the future team and fills in our offer. NULL: the offer has the reason.
 * `neighbour` is the member of the node whose private memory is probed: the next rank of the
 * communicator, or a rank of the other group. */
struct team *team_prepare(uint32_t size, uint32_t rank, int neighbour, struct team_offer *offer);

/* team_prepare() for an intercommunicator: our group has `group` ranks, the other one `size`. */
struct team *team_prepare_between(uint32_t group, uint32_t rank, uint32_t size, int neighbour,
                                  struct team_offer *offer);

/* Step 2, with the offers of all ranks (intercommunicators: of the other group). Returns
 * REASON_NONE if the team is ready, else the reason why not, which is the same on all ranks. */
enum reason team_settle(struct team *team, const struct team_offer *offers, uint32_t size);

/* Call instead of step 2, or after it has failed. */
void team_withdraw(struct team *team, const struct team_offer *offer);

/* The steps for the team of a child (child.h), whose offers do not come from the host.
 * team_reserve() returns a team with room for `size` ranks (NULL: no memory), team_shape() sets its
 * size, up to that, and our rank, and team_complete() does the rest when the caller has filled in
 * `mailbox` and `can_access_peers`. */
struct team *team_reserve(uint32_t size);
void team_shape(struct team *team, uint32_t size, uint32_t rank);
void team_complete(struct team *team, struct team_common *common);

/* Create a struct team_common for up to `size` ranks. NULL: no memory. It is freed when no rank
 * accesses it any more. */
struct team_common *team_common_create(uint32_t size);
void team_common_free(struct team_common *common, uint32_t size);

/* A team of one rank, which shares nothing. NULL: no memory. */
struct team *team_of_one(void);

/* Free the team on this rank, without waiting for others. Publishes that this rank has left. Slower
 * ranks may still read the mailbox, which is freed when all ranks have left. */
void team_leave(struct team *team);

/* Free the teams that all ranks have left. */
void team_reap(void);

/* The teams that this rank has left but not yet freed, the last one first. */
extern struct team *_Atomic teams_left;

/* Free the team that was left last, and those left before it, up to one that a rank has not left.
 * Called in the collectives of other teams, because a rank that has left one team before the other
 * ranks may never leave another team. */
void team_reap_last(void);

static inline void team_reap_in_passing(void)
{
    if (UNLIKELY(atomic_load_explicit(&teams_left, memory_order_relaxed) != NULL))
        team_reap_last();
}

/* ---- operations ---- */

/* Returns the number of the next operation. */
static inline uint32_t team_begin(struct team *t)
{
    return ++t->op;
}

/* Begin an operation that uses PIECE_CELLS adjacent cells. Returns its first number. */
static inline uint32_t team_begin_piece(struct team *t)
{
    uint32_t first = (t->op + PIECE_CELLS) & ~(uint32_t)(PIECE_CELLS - 1);
    t->op = first + PIECE_CELLS - 1;
    return first;
}

/* Free the memory of team_hold() for operations up to `op`, or all of it. */
void team_release_held(struct team *team, uint32_t op, bool all);

/* Call when all ranks are known to have begun the operation after `op`; this implies that they are
 * done with `op`. Also frees the memory of team_hold() that no rank needs any more. */
static inline void team_note_all_done(struct team *t, uint32_t op)
{
    assert(sync_reached(t->op, op));
    if (sync_reached(op, t->reusable))
        t->reusable = op;
    if (UNLIKELY(t->held != NULL))
        team_release_held(t, op, false);
}

/* Wait until all ranks have published that they are done with `op`. */
void team_wait_all(struct team *team, uint32_t op);

/* Call when peers have accessed our buffers by reference, at the end of the call. If the OS has
 * refused, and this process has copied for the peers (peer_copy/copy_request.h), our next data go
 * through cells. Each sender chooses how its data travel, and publishes the choice in its slot. */
void team_stop_references(struct team *team, uint32_t answered);
static inline void team_note_refusals(struct team *t)
{
    uint32_t answered = atomic_load_explicit(&copy_requests_answered, memory_order_relaxed);
    if (UNLIKELY(answered != t->answered))
        team_stop_references(t, answered);
}

/* Call after data were sent by reference. Waits until the readers, or the only reader `rank`, are
 * done. */
static inline void team_await_readers(struct team *t, uint32_t op)
{
    team_wait_all(t, op);
    team_note_refusals(t);
}

static inline void team_await_reader(struct team *t, uint32_t rank, uint32_t op)
{
    sync_wait_until(&t->mailbox[rank]->done, op);
    team_note_refusals(t);
}

/* Wait until all ranks are done with `op`. If that takes long and there is another ring, continue
 * in that ring instead. */
void team_make_room(struct team *team, uint32_t op);

/* Wait until this rank may write the slot of the last operation begun. */
static inline void team_wait_slot(struct team *t)
{
    uint32_t free = t->op - TEAM_SLOTS;
    if (UNLIKELY(!sync_reached(t->reusable, free)))
        team_make_room(t, free);
}

/* The part of its cell in which the data of an operation are or, if they are longer, WHOLE_CELL. A
 * piece uses two cells: the second is that of the last operation begun, the first that of the
 * number before it. */
enum { WHOLE_CELL = CELL_PARTS };
static inline uint8_t *team_part(struct team *t, uint32_t op)
{
    return &t->part[op % TEAM_CELLS];
}

static inline void team_take_cell(struct team *t, size_t bytes)
{
    *team_part(t, t->op) = fits_into_part(bytes) ? 0 : WHOLE_CELL;
    if (!fits_into_cell(bytes))
        *team_part(t, t->op - 1) = WHOLE_CELL;
}

void team_wait_cell_slow(struct team *team, size_t bytes);

/* Call before the cells of our mailbox are written, or those of its stream. */
static inline void team_use_cells(struct team *t)
{
    if (UNLIKELY(!t->cells_used))
        cells_take(t);
    t->cell_op = t->op;
}

/* Wait until this rank may write the slot of the last operation begun and `bytes` bytes in its cell
 * or, for a piece, in the cell before and its cell. If all ranks are done with the operation that
 * used the cell before, all of it is free. */
static inline void team_wait_cell(struct team *t, size_t bytes)
{
    team_use_cells(t);
    if (LIKELY(sync_reached(t->reusable, t->op - TEAM_CELLS)))
        team_take_cell(t, bytes);
    else
        team_wait_cell_slow(t, bytes);
}

static inline void team_wait_room(struct team *t, enum slot_kind kind, size_t bytes)
{
    if (kind == SLOT_INLINE)
        team_wait_slot(t);
    else
        team_wait_cell(t, bytes);
}

/* Where data of SLOT_BUFFERED of the last operation begun are written, after team_wait_cell(). */
static inline char *team_cell(struct team *t, size_t bytes)
{
    return cell_for(t->own_ring, t->op, bytes, *team_part(t, t->op));
}

static inline bool team_uses_nontemporal(const struct team *t, size_t bytes)
{
    return transport_streams_cell(t->policy, bytes);
}

/* Write a cell, or a part of one. The data may end up in no cache, so this process should not read
 * the cell afterwards. */
static inline void team_copy(const struct team *t, char *cell, const char *from, size_t bytes)
{
    if (team_uses_nontemporal(t, bytes))
        copy_nontemporal(cell, from, bytes);
    else
        copy_to_peers(cell, from, bytes);
}

/* team_copy() of bytes [first, first + bytes) of the data of a buffer. */
static inline void team_fill(const struct team *t, char *cell, struct buffer from, size_t first,
                             size_t bytes)
{
    buffer_fill(cell, from, first, bytes, team_uses_nontemporal(t, bytes));
}

/* Publish our slot, whose data have been written. The release in sync_publish() orders them, and
 * the cell, before the number. */
static inline void team_publish_header(struct team *t, uint32_t op, uint64_t header)
{
    struct slot *slot = slot_of(t->own_ring, op);
    assert(sync_reached(t->reusable, op - TEAM_SLOTS)); /* no rank reads the slot any more, */
    assert(!sync_reached(sync_load(&slot->op), op));    /* which has an earlier operation */
    slot->header = header;
    sync_publish(&slot->op, op);
    prefetch_to_write(slot_of(t->own_ring, op + SLOTS_AHEAD));
}

static inline void team_publish(struct team *t, uint32_t op, enum slot_kind kind, size_t bytes)
{
    if (kind == SLOT_REFERENCE)
        sync_store_fence();
    uint64_t part = kind == SLOT_BUFFERED ? *team_part(t, op) % CELL_PARTS : 0;
    team_publish_header(t, op, (uint64_t)bytes << 5 | part << 2 | kind);
    if (kind == SLOT_BUFFERED && fits_into_cell(bytes) && !team_uses_nontemporal(t, bytes))
        prefetch_block_to_write(cell_for(t->own_ring, op + 1, bytes, part), bytes);
}

static inline enum slot_kind slot_kind(const struct slot *slot)
{
    return (enum slot_kind)(slot->header & 3);
}

static inline size_t slot_bytes(const struct slot *slot)
{
    return slot->header >> 5;
}

/* The part of the cell, for cell_for(). */
static inline uint32_t slot_part(const struct slot *slot)
{
    return (uint32_t)slot->header >> 2 & (CELL_PARTS - 1);
}

/* Change `ring` of a rank to the ring in which the rank publishes `op`. Returns whether `ring` has
 * changed. */
bool team_follow(struct team *team, uint32_t rank, uint32_t op);

/* Call before reading the cell of a rank whose slot this rank has not waited for. */
static inline void team_find_ring(struct team *t, uint32_t rank, uint32_t op)
{
    if (UNLIKELY(atomic_load_explicit(&t->mailbox[rank]->rings, memory_order_relaxed)))
        team_follow(t, rank, op);
}

const struct slot *team_wait_slow(struct team *team, uint32_t rank, uint32_t op);

/* Wait for the slot of a rank. The slot may be read until this rank publishes that it is done. */
static inline const struct slot *team_wait(struct team *t, uint32_t rank, uint32_t op)
{
    struct slot *slot = slot_of(t->ring[rank], op);
    return sync_load(&slot->op) == op ? slot : team_wait_slow(t, rank, op);
}

/* team_wait() for a rank that may run ahead: if its slot is already there, the next one may be too
 * and is prefetched. (If the rank cannot run ahead, prefetching would take the lines of the next
 * cell away from the rank that is about to write them.) */
static inline const struct slot *team_wait_ahead(struct team *t, uint32_t rank, uint32_t op)
{
    struct slot *found = slot_of(t->ring[rank], op);
    const struct slot *slot = found;
    if (sync_load(&found->op) == op) {
        const char *next = (const char *)slot_of(t->ring[rank], op + 1);
        __builtin_prefetch(next);
        __builtin_prefetch(next + PREFETCH_LINE);
        if (slot_kind(slot) == SLOT_BUFFERED)
            prefetch_block_to_read(
                cell_for(t->ring[rank], op + 1, slot_bytes(slot), slot_part(slot)),
                slot_bytes(slot));
    } else {
        slot = team_wait_slow(t, rank, op);
    }
    if (slot_kind(slot) == SLOT_BUFFERED) {
        t->lag = CELL_LAG;
        if (UNLIKELY(atomic_load_explicit(&t->holders->current, memory_order_relaxed) != t))
            cells_turn_to(t);
    }
    return slot;
}

/* Numbers are compared modulo 2^32, which is right only for numbers that are close to each other: a
 * slot that was last written 2^31 operations ago would look new. */
#define TEAM_FAR (UINT32_C(1) << 29)
void team_keep_counters_close(struct team *team, uint32_t op);

/* Publish that this rank has read all that it needs of the operations up to `op`. */
static inline void team_done(struct team *t, uint32_t op)
{
    if (UNLIKELY((op ^ t->published) >= TEAM_FAR))
        team_keep_counters_close(t, op);
    assert(sync_load(&t->mine->done) == t->published); /* only this rank writes it, */
    assert(sync_reached(op, t->published));            /* and it only grows */
    t->published = op;
    t->lag = SLOT_LAG;
    sync_publish(&t->mine->done, op);
    team_reap_in_passing();
}

/* End the last operation begun: publish `done` if it is far enough behind. */
static inline void team_end(struct team *t)
{
    if (t->op - t->published >= t->lag)
        team_done(t, t->op);
}

/* End an operation that may have moved data by reference. `reads`: this rank has read a peer's
 * data, and the peer waits for it. `sends`: peers read this rank's data. */
static inline void team_end_by_reference(struct team *t, uint32_t op, bool reads, bool sends)
{
    if (reads)
        team_done(t, op);
    if (sends)
        team_await_readers(t, op);
    team_end(t);
}

/* Pipelined data of an intercommunicator go to, or come from, one partner after the other. Rank a
 * of one group and rank b of the other are partners in step a + b modulo the size of the larger
 * group, so both reach each other in the same step. In an intracommunicator the two groups are the
 * same one, and one partner is the rank itself.
 *
 * Returns the first partner of rank `rank` of a group of `group` ranks among `others` ranks. */
static inline uint32_t first_partner(uint32_t rank, uint32_t group, uint32_t others)
{
    uint32_t wrap = (group > others ? group : others) - rank;
    return wrap < others ? wrap : 0;
}

/* Our partner number `i` (0 .. size - 1). */
static inline uint32_t team_partner(const struct team *t, uint32_t i)
{
    uint32_t partner = t->first_partner + i;
    return partner < t->size ? partner : partner - t->size;
}

/* ---- data in slots ---- */

/* Send up to SLOT_ROOM bytes inline. */
HOT_INLINE void team_publish_inline(struct team *t, uint32_t op, const void *from, size_t bytes)
{
    team_wait_slot(t);
    copy_bytes(slot_of(t->own_ring, op)->data, from, bytes);
    team_publish(t, op, SLOT_INLINE, bytes);
}

/* Send `bytes` bytes by reference. Address 0: no data. */
static inline void team_publish_address(struct team *t, uint32_t op, remote_addr_t address,
                                        size_t bytes)
{
    team_wait_slot(t);
    memcpy(slot_of(t->own_ring, op)->data, &address, sizeof address);
    team_publish(t, op, SLOT_REFERENCE, bytes);
}

/* Returns shared memory for more data than a cell holds. It is freed by the first call, also of
 * this function, that finds that all ranks are done with operation `op`. NULL: no memory. */
char *team_hold(struct team *team, uint32_t op, size_t bytes);

/* The start of our next stream: see stream.h. Only this rank writes the counter. */
static inline uint32_t team_stream_start(const struct team *t)
{
    return atomic_load_explicit(&t->mine->produced.value, memory_order_relaxed);
}

/* Send data and return how. SLOT_PIPELINED: only the slot was written, with the start of a stream;
 * the caller sends the data, through the stream or in pieces. */
enum slot_kind team_publish_data(struct team *team, uint32_t op, struct buffer from,
                                 enum by_reference by_reference);

static inline remote_addr_t slot_address(const struct slot *slot)
{
    remote_addr_t address;
    memcpy(&address, slot->data, sizeof address);
    return address;
}

/* The data of a slot of `rank` that is SLOT_INLINE or SLOT_BUFFERED. */
static inline const char *slot_data(struct team *t, uint32_t rank, uint32_t op,
                                    const struct slot *slot)
{
    return LIKELY(slot_kind(slot) == SLOT_INLINE)
               ? slot->data
               : cell_for(t->ring[rank], op, slot_bytes(slot), slot_part(slot));
}

/* Send bytes [first, first + bytes) of the data of a buffer as a piece. */
void team_publish_piece(struct team *team, uint32_t op, struct buffer from, size_t first,
                        size_t bytes);

#endif
