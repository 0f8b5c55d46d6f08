/* A mailbox: the shared memory through which one rank of a team sends to the others. It lies in the
 * slice of its owner and holds a ring of 256 slots and 16 cells for larger data, the cells of a
 * stream, and counters. A slot is one LINE (128 bytes, two cache lines) with a flag and up to
 * SLOT_ROOM bytes of data. A rank that is far ahead of others gets further rings.
 *
 * Only the owner writes to a mailbox. The exceptions are `consumed` (stream.h), `coop_copy`
 * (coop_copy.h) and `departed`. team.h describes the protocol.
 */
#ifndef MPIACCEL_MAILBOX_H
#define MPIACCEL_MAILBOX_H

#include "core/sync.h"

enum {
    TEAM_SLOTS = 256,
    TEAM_CELLS = 16,
    TEAM_RINGS = 8,            /* the most rings of a mailbox */
    SLOTS_AHEAD = 32,          /* A slot is prefetched for writing this many operations ahead. If
                                  that were fewer, a reader that is close behind could take the line
                                  away again. */
    TEAM_CELL = 16384,         /* the most data in a cell */
    CELL_ROOM = 2 * TEAM_CELL, /* the length of a cell: see cell_for() */
    CELL_FEW = TEAM_CELL / 4,  /* up to this size, data use a part of the cell and ordinary
                                  stores: see cell_for() and team_uses_nontemporal() */
    CELL_PARTS = CELL_ROOM / CELL_FEW, /* for data of up to CELL_FEW bytes each */
    CELLS_REUSED = 256, /* The room of the cells is used from this operation on. A team with
                           fewer operations does not touch it: page faults cost more. */
    PIECE_CELLS = 2,
    PIECE = PIECE_CELLS * TEAM_CELL,
    STREAM_CELL = 32768,
    STREAM_CELLS = 4,
    STREAM_CELLS_LONG = 16, /* after the first long stream, if there is memory */
    STREAM_EXTRA = 2 * LINE /* bytes after the cells: see room_for() */
};
_Static_assert(2 * PIECE == PIECE_CELLS * CELL_ROOM, "piece_of() alternates between two halves");

/* Where the data of a slot are; two bits. */
enum slot_kind {
    SLOT_INLINE,    /* in the slot */
    SLOT_BUFFERED,  /* in the cell of this operation */
    SLOT_REFERENCE, /* at a remote address, which is in the slot: see transport.h */
    SLOT_PIPELINED  /* in pieces that follow, or in a stream whose start is in the slot */
};

struct slot {
    _Alignas(LINE) struct sync_word op;
    uint64_t header; /* bytes << 5 | part of the cell << 2 | kind */
    char data[LINE - sizeof(struct sync_word) - sizeof(uint64_t)];
};
enum { SLOT_ROOM = sizeof(((struct slot *)NULL)->data) };
_Static_assert(sizeof(struct slot) == LINE, "a flag and its data are one line");

struct ring {
    _Alignas(LINE) uint64_t cells; /* offset from the ring */
    struct slot slot[TEAM_SLOTS];
};

/* State of a cooperative copy. coop_copy.h defines which rank writes each word. */
struct coop_copy {
    _Alignas(LINE) struct sync_word opened; /* number of the operation */
    uint64_t target, bytes;                 /* remote address of the receiver's buffer; length */
    uint32_t before;                        /* value of `helped` at the beginning */
    _Atomic uint64_t claims;                /* operation << 32 | chunks left */
    _Alignas(
        LINE) struct sync_word helped; /* chunks that the helper has copied in all operations */
};

/* The first page holds what a communicator with a few short collectives uses. */
struct mailbox {
    _Alignas(LINE) uint64_t stream; /* offset from the mailbox */
    uint32_t stream_cells;          /* a power of two */
    int32_t pid;                    /* of the owner */
    _Atomic uint32_t departed; /* intercommunicators: readers that have freed the communicator */
    uint32_t written;          /* bytes of this structure, by any team so far: see mailbox_free() */
    _Atomic uint32_t rings;    /* 0 until the owner uses a second one; see team.h */
    bool cells_used;           /* a team has written the cells; moves with them */
    _Atomic uint64_t child_offers;    /* position of the owner's offers; 0: none. See child.h */
    uint64_t ring_at[TEAM_RINGS - 1]; /* positions of the further rings */
    _Atomic uint32_t ring_from[TEAM_RINGS];           /* the first operation of its latest use */
    _Alignas(LINE) struct sync_word children_offered; /* how many offers the owner has published */
    _Alignas(LINE) struct sync_word done;     /* the last operation whose data the owner has read */
    _Alignas(LINE) struct sync_word produced; /* pieces of all streams that the owner has written */
    _Alignas(LINE) struct sync_word consumed; /* pieces that their receivers have read */
    struct coop_copy coop_copy;
    struct ring ring;
};
_Static_assert(offsetof(struct mailbox, children_offered) == LINE, "these fields take one line");

/* Returns an empty mailbox; NULL: no memory. */
struct mailbox *mailbox_create(void);

/* Free a mailbox that no rank reads any more and whose last operation was `op`. NULL is ignored.
 */
void mailbox_free(struct mailbox *mailbox, uint32_t op);

/* Free the mailboxes that are kept for the next communicators. */
void mailbox_free_spares(void);

/* Returns a further ring, whose slots hold the number `op`; the caller counts it in `rings`. NULL:
 * no memory, or there are TEAM_RINGS. */
struct ring *mailbox_add_ring(struct mailbox *mailbox, uint32_t op);

/* Ring `i` of a mailbox of any rank. */
struct ring *mailbox_ring(struct mailbox *mailbox, uint32_t i);

/* Exchange the cells, and those of the stream, of two mailboxes of this rank. No rank may be
 * reading any of them. */
void mailbox_swap_cells(struct mailbox *a, struct mailbox *b);

/* Give the stream STREAM_CELLS_LONG cells if there is memory. No stream may be in progress. */
void mailbox_lengthen_stream(struct mailbox *mailbox);

static inline struct slot *slot_of(struct ring *ring, uint32_t op)
{
    return &ring->slot[op % TEAM_SLOTS];
}

/* The cell of an operation. Cells are adjacent, so a piece may extend into the next one. */
static inline char *cell_of(struct ring *ring, uint32_t op)
{
    return (char *)ring + ring->cells + op % TEAM_CELLS * (size_t)CELL_ROOM;
}

static inline bool fits_into_part(size_t bytes)
{
    return bytes <= CELL_FEW;
}

/* Where in the cell `bytes` bytes are written: up to CELL_FEW bytes, in the part that the owner has
 * chosen. Longer data move to another position each time the ring of cells wraps, until all room of
 * the cell has been used. A line that is rewritten only after 256 KiB of other lines travels to the
 * reader and back in half the time (docs/measurements.md#reusing-memory-late). */
static inline char *cell_for(struct ring *ring, uint32_t op, size_t bytes, uint32_t part)
{
    char *cell = cell_of(ring, op);
    if (fits_into_part(bytes))
        return cell + part * CELL_FEW;
    uint32_t step = bytes > TEAM_CELL / 2 ? TEAM_CELL : TEAM_CELL / 2;
    return cell + (op < CELLS_REUSED ? 0 : op / TEAM_CELLS * step % CELL_ROOM);
}

/* Where a piece is written: in one of two halves, which change each time the ring wraps, so that a
 * line is rewritten late, as in cell_for(). */
static inline char *piece_of(struct ring *ring, uint32_t op)
{
    return cell_of(ring, op) + (op < CELLS_REUSED ? 0 : op / TEAM_CELLS % 2 * PIECE);
}

/* `piece` counts the pieces of all streams of the mailbox. */
static inline char *stream_cell(struct mailbox *mailbox, uint32_t piece)
{
    return (char *)mailbox + mailbox->stream +
           (piece & (mailbox->stream_cells - 1)) * (size_t)STREAM_CELL;
}

#endif
