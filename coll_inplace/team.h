/* A team: the ranks of a communicator, all on this node, and what they share for its collectives.
 *
 * Every rank has a row (row.h): 64 posts of one line each, 16 cells of memory, and counters.
 *
 * Operations are numbered; all ranks make the same ones in the same order, so the numbers agree. In
 * operation k a rank that has something to tell writes it into its post number k mod 64, the data
 * into the post itself if they are few, into cell k mod 16 if they are some, or says where they
 * lie, and then publishes k in the post: a release. Who needs it waits until the post says k: an
 * acquire. The flag and few data are one line, so they take one flight.
 *
 * Nobody waits for its readers (H15): `done` of each row says up to which operation its owner has
 * read what it wanted, and a post or cell is written again only when all have done the operation
 * that it was last used for. `done` is published every eighth operation, and every fourth while
 * cells are read, so a rank may run some 56 operations ahead of the slowest one, or twelve with
 * cells. Seeing a post k of a rank also says that this rank
 * has done all before k; a team whose collectives synchronise never has to look at `done`.
 *
 * Data that stay where they are (a post that names a place, in the shared heap or in memory that
 * the kernel copies from for the others) bind their owner: it leaves the operation when those who
 * read have published that they are done. Long data elsewhere go in pieces, each an operation of
 * PIECE_CELLS numbers and as many cells, of which several are on their way at once; data of lengths
 * that only two ranks know go through a stream (stream.h).
 *
 * What is decided from facts that only one rank knows (where its buffer lies, how long its part of
 * a v-variant is) is in its post, and the others follow it (H13).
 *
 * The two groups of an intercommunicator move data only from one to the other, so there the team of
 * a rank has the rows of the other group alone: they are its readers and those that it reads
 * (inter.h).
 *
 * A rank that dies ends the job. One that runs ahead meets posts that are not free yet, and waits.
 * One that never comes keeps the others waiting inside sync_wait(), which gives the host progress.
 */
#ifndef MPIACCEL_TEAM_H
#define MPIACCEL_TEAM_H

#include "alloc/node.h"
#include "coll_inplace/row.h"
#include "coll_inplace/tree.h"
#include "core/barrier.h"
#include "core/copy_policy.h"
#include "core/stats.h"
#include "core/typemap.h"

enum {
    TEAM_RANKS_MAX = 512,      /* a word of 16 bytes for each of them fits into a cell */
    POST_LAG = TEAM_POSTS / 8, /* operations after which `done` is published at the latest, */
    CELL_LAG = TEAM_CELLS / 4, /* and after these if cells were read */
};
_Static_assert(POST_LAG + 2 * PIECE_CELLS <= TEAM_CELLS,
               "who waits for a piece's cells waits for what has been published by then");

/* In rank 0's slice, for all. */
struct team_common {
    _Alignas(LINE) _Atomic uint32_t departed; /* ranks that have freed the communicator */
    _Atomic uint32_t released;                /* ranks that will not look at this again */
    struct barrier_flag flags[];
};

struct team {
    uint32_t size, rank; /* between groups: how many rows there are, our rank in our group */
    uint32_t group;      /* between groups: how many we are; else 0 */
    bool reaches;        /* all can reach each other's private memory */
    uint32_t policy;     /* enum copy_policy, as this process is configured */
    uint32_t op;         /* the last one begun */
    uint32_t published;  /* what our `done` says */
    uint32_t lag;        /* so far it may be behind */
    uint32_t all_done;   /* up to here, as far as we know */
    struct barrier barrier;
    struct team_common *common;
    struct row *mine;
    struct held *held;   /* see team_hold() */
    struct team *next;   /* among those that were left */
    struct order *order; /* of more than TREE_FLAT ranks */
    struct row *row[];   /* by rank */
};

/* ---- making and leaving ---- */

/* What a rank brings. Plain bytes: goes through the host's allgather. */
struct team_offer {
    int32_t reason;       /* REASON_COUNT: none against it */
    int32_t reaches;      /* we can read our neighbour's private memory */
    uint64_t row, common; /* positions in the node's file; `common`: rank 0's */
    uint64_t domain;      /* see locality.h; in teams of a few, 0 */
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
struct team *team_alone(void);

/* Local: the row is used by slower ranks still, and freed when all have left. */
void team_leave(struct team *team);

/* Free what can be. */
void team_reap(void);

/* ---- operations ---- */

/* The next operation's number. */
static inline uint32_t team_begin(struct team *t)
{
    return ++t->op;
}

/* Of one with the cells of PIECE_CELLS posts in a row: the first number. */
static inline uint32_t team_begin_piece(struct team *t)
{
    uint32_t first = (t->op + PIECE_CELLS) & ~(uint32_t)(PIECE_CELLS - 1);
    t->op = first + PIECE_CELLS - 1;
    return first;
}

/* All of us have begun what comes after `op`. */
static inline void team_all_did(struct team *t, uint32_t op)
{
    if (sync_reached(op, t->all_done))
        t->all_done = op;
}

void team_await_all(struct team *team, uint32_t op);

/* Until what the last operation begun posts may be written: its post, and, unless all of it is in
 * there, the cells up to its own. */
static inline void team_await_room(struct team *t, enum post_kind kind)
{
    uint32_t free = t->op - (kind == POST_HERE ? TEAM_POSTS : TEAM_CELLS);
    if (UNLIKELY(!sync_reached(t->all_done, free)))
        team_await_all(t, free);
}

/* Whether a cell is written with non-temporal stores, which leave its lines in no cache. The reader
 * then waits for memory once, some 300 ns, which a few lines do not make up for. */
static inline bool team_streams(const struct team *t, size_t bytes)
{
    return bytes > CELL_FEW && (t->policy & COPY_POLICY_STREAMS);
}

/* Fill a cell, or a part of one. This process does not read it afterwards: it may be in no cache.
 */
static inline void team_copy(const struct team *t, char *cell, const char *from, size_t bytes)
{
    if (team_streams(t, bytes))
        copy_stream(cell, from, bytes);
    else
        copy_to_peers(cell, from, bytes);
}

/* The same with bytes [first, first + bytes) of a buffer's data. */
static inline void team_fill(const struct team *t, char *cell, struct buffer from, size_t first,
                             size_t bytes)
{
    buffer_fill(cell, from, first, bytes, team_streams(t, bytes));
}

/* Publish our post, written already. */
static inline void team_post_what(struct team *t, uint32_t op, uint64_t what)
{
    struct post *post = post_of(t->mine, op);
    post->what = what;
    sync_publish(&post->op, op);
    prefetch_to_write(post_of(t->mine, op + POSTS_AHEAD));
}

static inline void team_post(struct team *t, uint32_t op, enum post_kind kind, size_t bytes)
{
    team_post_what(t, op, (uint64_t)bytes << 2 | kind);
    if (kind == POST_CELL && bytes <= TEAM_CELL && !team_streams(t, bytes))
        prefetch_block_to_write(cell_for(t->mine, op + 1, bytes), bytes);
}

static inline enum post_kind post_kind(const struct post *post)
{
    return (enum post_kind)(post->what & 3);
}

static inline size_t post_bytes(const struct post *post)
{
    return post->what >> 2;
}

/* A rank's post. Its content may be read until we publish that we are done. */
static inline const struct post *team_hear(struct team *t, uint32_t rank, uint32_t op)
{
    struct post *post = post_of(t->row[rank], op);
    sync_await(&post->op, op);
    return post;
}

/* The same of a rank that may run ahead of us: if the post was there, the next one may be too. (Of
 * one that may not, fetching the next cell would only take it from who is about to write it.) */
static inline const struct post *team_hear_stream(struct team *t, uint32_t rank, uint32_t op)
{
    struct post *post = post_of(t->row[rank], op);
    if (sync_reached(sync_load(&post->op), op)) {
        const char *next = (const char *)post_of(t->row[rank], op + 1);
        __builtin_prefetch(next);
        __builtin_prefetch(next + PREFETCH_LINE);
        if (post_kind(post) == POST_CELL)
            prefetch_block_to_read(cell_for(t->row[rank], op + 1, post_bytes(post)),
                                   post_bytes(post));
    } else {
        sync_await_slowly(&post->op, op);
    }
    if (post_kind(post) == POST_CELL)
        t->lag = CELL_LAG;
    return post;
}

/* Numbers are compared as if they were near each other: what is far behind would look ahead. */
#define TEAM_FAR (UINT32_C(1) << 29)
void team_keep_near(struct team *team, uint32_t op);

/* We have read all that we wanted of the posts up to `op`: say so now, or soon. */
static inline void team_done(struct team *t, uint32_t op)
{
    if (UNLIKELY((op ^ t->published) >= TEAM_FAR))
        team_keep_near(t, op);
    t->published = op;
    t->lag = POST_LAG;
    sync_publish(&t->mine->done, op);
}

static inline void team_end(struct team *t)
{
    if (t->op - t->published >= t->lag)
        team_done(t, t->op);
}

/* The same where data stay where they lie: a peer's that we have read, ours that peers read. */
static inline void team_end_bound(struct team *t, uint32_t op, bool bound, bool binds)
{
    if (bound)
        team_done(t, op);
    if (binds)
        team_await_all(t, op);
    team_end(t);
}

/* ---- data in posts ---- */

/* Where data lie that stay where they are: twice the position in the node's file, or twice the
 * address in their owner's memory and 1. 0: they do not lie in one piece, or out of reach. */
typedef uint64_t place_t;
place_t team_place(struct team *team, struct buffer b, size_t bytes);

/* The same of a buffer that others may write to, whoever copies else. */
place_t team_target(const struct team *team, struct buffer b, size_t bytes);

/* The place as an address here; NULL: it is in its owner's private memory. */
static inline char *place_shared(place_t place)
{
    return place & 1 ? NULL : node.base + (place >> 1);
}

/* Then, to and from it. False: the kernel refuses, though it did not when the team was made. */
bool place_read(const struct team *team, uint32_t owner, place_t place, size_t first, void *to,
                size_t bytes);
bool place_write(const struct team *team, uint32_t owner, place_t place, size_t first,
                 const void *from, size_t bytes);

/* Post a few bytes, in the post. */
HOT_INLINE void team_post_few(struct team *t, uint32_t op, const void *from, size_t bytes)
{
    team_await_room(t, POST_HERE);
    copy_bytes(post_of(t->mine, op)->data, from, bytes);
    team_post(t, op, POST_HERE, bytes);
}

/* Shared memory for more than a cell, which is freed some time after all have done operation `op`.
 * NULL: no room. */
char *team_hold(struct team *team, uint32_t op, size_t bytes);

/* Whether data may stay where they lie, so that we are kept until all have read them. */
enum stay {
    STAY_NEVER,    /* they will be overwritten before */
    STAY_LONG,     /* if they are long: the host does not synchronise short ones (H15) */
    STAY_OPERANDS, /* the same, and short ones in the heap; peers combine what they read */
    STAY,          /* the same; peers copy what they read */
};

bool team_stays(struct team *team, struct buffer from, size_t bytes, enum stay stay);

/* Post data, and return how: in the post or its cell, where they lie, or only that there will be
 * pieces, with `start` for who needs it. */
enum post_kind team_post_data(struct team *team, uint32_t op, struct buffer from, enum stay stay,
                              uint32_t start);

static inline place_t post_place(const struct post *post)
{
    place_t place;
    memcpy(&place, post->data, sizeof place);
    return place;
}

/* Where the data of a post of `rank` are, of POST_HERE or POST_CELL. */
static inline const char *post_data(struct team *t, uint32_t rank, uint32_t op,
                                    const struct post *post)
{
    return LIKELY(post_kind(post) == POST_HERE) ? post->data
                                                : cell_for(t->row[rank], op, post_bytes(post));
}

/* Post bytes [first, first + bytes) of a buffer's data as a piece. */
void team_post_piece(struct team *team, uint32_t op, struct buffer from, size_t first,
                     size_t bytes);

#endif
