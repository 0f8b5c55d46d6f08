/* A row: what one rank of a team says to the others, in its own slice of the node's file. 64 posts
 * of one line each, 16 cells of memory, the cells of its streams, and counters. Only its owner
 * writes to it, but for `consumed`, `departed` and what joint.h says. team.h tells what orders
 * what.
 */
#ifndef MPIACCEL_ROW_H
#define MPIACCEL_ROW_H

#include "core/sync.h"

enum {
    TEAM_POSTS = 64,
    TEAM_CELLS = 16,
    POSTS_AHEAD = TEAM_POSTS / 2, /* is fetched to be written, before a reader that is close behind
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
enum post_kind {
    POST_HERE,  /* the data are in the post */
    POST_CELL,  /* in the cell of this post */
    POST_PLACE, /* where the post says: see team_place() */
    POST_PIECES /* they come in pieces, or in a stream */
};

struct post {
    _Alignas(LINE) struct sync_word op;
    uint64_t what; /* bytes << 2 | kind */
    char data[LINE - sizeof(struct sync_word) - sizeof(uint64_t)];
};
enum { POST_ROOM = sizeof(((struct post *)NULL)->data) };
_Static_assert(sizeof(struct post) == LINE, "a flag and its data are one line");

/* See joint.h. */
struct joint {
    _Alignas(LINE) struct sync_word opened; /* the operation */
    uint64_t end, bytes;                    /* where they go, a place, and how many */
    uint32_t before;                        /* what `helped` was */
    uint32_t failed;                        /* the chunk that the helper could not copy */
    _Atomic uint64_t claims;                /* operation << 32 | chunks left */
    _Alignas(LINE) struct sync_word helped; /* chunks since the team began */
};

struct row {
    _Alignas(LINE) struct sync_word done;
    _Alignas(LINE) struct sync_word produced; /* pieces of its streams, since the team began */
    _Alignas(LINE) struct sync_word consumed; /* the same, by whom they are meant for */
    struct joint joint;
    struct post post[TEAM_POSTS];
    uint64_t cells, stream;    /* where they are, from the row, */
    uint32_t stream_cells;     /* and how many of these: see stream.h */
    int32_t pid;               /* of its owner */
    _Atomic uint32_t departed; /* between groups: readers that have freed the communicator */
};

/* A row for a new team. NULL: no memory. */
struct row *row_make(void);

/* Give one back that nobody looks at any longer, and that had operations up to `op`; NULL: none. */
void row_free(struct row *row, uint32_t op);

/* STREAM_CELLS_LONG cells for its streams, if there is room. Nobody may be reading them. */
void row_lengthen_stream(struct row *row);

static inline struct post *post_of(struct row *row, uint32_t op)
{
    return &row->post[op % TEAM_POSTS];
}

/* Where the cell of an operation begins: pieces run on from one into the next. */
static inline char *cell_of(struct row *row, uint32_t op)
{
    return (char *)row + row->cells + op % TEAM_CELLS * (size_t)CELL_ROOM;
}

/* Where in it `bytes` bytes are. More than a few go to another place each time round, until the
 * room of all cells is used up: written once in 256 KiB, a line goes to a peer and comes back in
 * half the time (HACKING.md has the figures). */
static inline char *cell_for(struct row *row, uint32_t op, size_t bytes)
{
    uint32_t place = bytes > TEAM_CELL / 2 ? TEAM_CELL : TEAM_CELL / 2;
    return cell_of(row, op) + (bytes > CELL_FEW ? op / TEAM_CELLS * place % CELL_ROOM : 0);
}

/* The same of a piece. */
static inline char *piece_of(struct row *row, uint32_t op)
{
    return cell_of(row, op) + op / TEAM_CELLS % 2 * PIECE;
}

/* Of the pieces since the team began. */
static inline char *stream_cell(struct row *row, uint32_t piece)
{
    return (char *)row + row->stream + (piece & (row->stream_cells - 1)) * (size_t)STREAM_CELL;
}

#endif
