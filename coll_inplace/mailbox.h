/* A mailbox: what one rank of a team says to the others, in its own slice of the node's file. 64
 * posts of one line each, 16 cells of memory, the cells of its streams, and counters. Only its
 * owner writes to it, but for `consumed`, `departed` and what coop_copy.h says. team.h tells what
 * orders what.
 */
#ifndef MPIACCEL_ROW_H
#define MPIACCEL_ROW_H

#include "core/sync.h"

enum {
    TEAM_SLOTS = 64,
    TEAM_CELLS = 16,
    SLOTS_AHEAD = TEAM_SLOTS / 2, /* is fetched to be written, before a reader that is close behind
                                     looks there again */
    TEAM_CELL = 16384,            /* the most that a cell is used for */
    CELL_ROOM = 2 * TEAM_CELL,
    CELL_FEW = TEAM_CELL / 4,
    PIECE_CELLS = 2,
    PIECE = PIECE_CELLS * TEAM_CELL,
    STREAM_CELL = 32768,
    STREAM_CELLS = 4,
    STREAM_CELLS_LONG = 16, /* once there was a stream longer than these, if there is room */
};
_Static_assert(PIECE_CELLS *CELL_ROOM == 2 * PIECE, "see piece_of()");

/* Two bits. */
enum slot_kind {
    SLOT_INLINE,    /* the data are in the slot */
    SLOT_BUFFERED,  /* in the cell of this slot */
    SLOT_REFERENCE, /* where the slot says: see team_address() */
    SLOT_PIPELINED  /* they come in pieces, or in a stream */
};

struct slot {
    _Alignas(LINE) struct sync_word op;
    uint64_t what; /* bytes << 2 | kind */
    char data[LINE - sizeof(struct sync_word) - sizeof(uint64_t)];
};
enum { SLOT_ROOM = sizeof(((struct slot *)NULL)->data) };
_Static_assert(sizeof(struct slot) == LINE, "a flag and its data are one line");

/* See coop_copy.h. */
struct coop_copy {
    _Alignas(LINE) struct sync_word opened; /* the operation */
    uint64_t end, bytes;                    /* where they go, a place, and how many */
    uint32_t before;                        /* what `helped` was */
    uint32_t failed;                        /* the chunk that the helper could not copy */
    _Atomic uint64_t claims;                /* operation << 32 | chunks left */
    _Alignas(LINE) struct sync_word helped; /* chunks since the team began */
};

struct mailbox {
    _Alignas(LINE) struct sync_word done;
    _Alignas(LINE) struct sync_word produced; /* pieces of its streams, since the team began */
    _Alignas(LINE) struct sync_word consumed; /* the same, by whom they are meant for */
    struct coop_copy coop_copy;
    struct slot slot[TEAM_SLOTS];
    uint64_t cells, stream;    /* where they are, from the mailbox, */
    uint32_t stream_cells;     /* and how many of these: see stream.h */
    int32_t pid;               /* of its owner */
    _Atomic uint32_t departed; /* between groups: readers that have freed the communicator */
};

/* A mailbox for a new team. NULL: no memory. */
struct mailbox *mailbox_create(void);

/* Give one back that nobody looks at any longer, and that had operations up to `op`; NULL: none. */
void mailbox_free(struct mailbox *mailbox, uint32_t op);

/* STREAM_CELLS_LONG cells for its streams, if there is room. Nobody may be reading them. */
void mailbox_lengthen_stream(struct mailbox *mailbox);

static inline struct slot *slot_of(struct mailbox *mailbox, uint32_t op)
{
    return &mailbox->slot[op % TEAM_SLOTS];
}

/* Where the cell of an operation begins: pieces run on from one into the next. */
static inline char *cell_of(struct mailbox *mailbox, uint32_t op)
{
    return (char *)mailbox + mailbox->cells + op % TEAM_CELLS * (size_t)CELL_ROOM;
}

/* Where in it `bytes` bytes are. More than a few go to another place each time round, until the
 * room of all cells is used up: written once in 256 KiB, a line goes to a peer and comes back in
 * half the time (HACKING.md has the figures). */
static inline char *cell_for(struct mailbox *mailbox, uint32_t op, size_t bytes)
{
    uint32_t place = bytes > TEAM_CELL / 2 ? TEAM_CELL : TEAM_CELL / 2;
    return cell_of(mailbox, op) + (bytes > CELL_FEW ? op / TEAM_CELLS * place % CELL_ROOM : 0);
}

/* The same of a piece. */
static inline char *piece_of(struct mailbox *mailbox, uint32_t op)
{
    return cell_of(mailbox, op) + op / TEAM_CELLS % 2 * PIECE;
}

/* Of the pieces since the team began. */
static inline char *stream_cell(struct mailbox *mailbox, uint32_t piece)
{
    return (char *)mailbox + mailbox->stream +
           (piece & (mailbox->stream_cells - 1)) * (size_t)STREAM_CELL;
}

#endif
