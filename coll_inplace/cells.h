/* Cells that teams exchange. The cells of a mailbox (mailbox.h) are no more than addresses until
 * they are written. A program may have thousands of communicators and use one after the other, so a
 * team that needs cells takes those of a team of this rank that has finished with them. In exchange
 * that team gets the cells which have no pages yet.
 *
 * Every rank has a list of the teams whose cells have pages, its holders. The first CELL_HOLDERS
 * teams write their own cells and become holders. A later team looks at the oldest few holders for
 * one whose cells no rank reads any more: all ranks have published that they are done with the last
 * operation that used these cells. If it finds none, it also writes its own cells. A holder that
 * has used its cells since it was last looked at goes to the end of the list, so that teams which
 * are in use keep their cells.
 *
 * The exchange is local, and no rank waits. The offsets in the mailbox by which peers find the
 * cells are read only after a slot whose data are in cells, or come through a stream, has been
 * found. The owner changes them after it has read (acquire) that all ranks are done with the last
 * such slot, and before it publishes (release) the next one.
 *
 * A rank publishes `done` seldom, and a team that is not used again would keep its cells. So the
 * rank publishes `done` of its holders when another team takes cells, and `done` of the team whose
 * cells it has read last when it reads cells of another team. None of these teams has an operation
 * in progress then: MPI permits no communication in functions of the program that a collective
 * calls.
 *
 * With MPI_THREAD_MULTIPLE another thread may be using the holder, so no cells are exchanged.
 */
#ifndef MPIACCEL_CELLS_H
#define MPIACCEL_CELLS_H

#include "core/base.h"

#include <stdatomic.h>

struct team;

enum { CELL_HOLDERS = 8 };

struct cell_holders {
    struct team *first, *last;
    uint32_t count;
    struct team *_Atomic current; /* which has taken or read cells last; maybe not a holder */
};

/* The holders of this process. */
extern struct cell_holders cell_holders;

/* Call before `team` writes its cells, unless it is a holder. */
void cells_take(struct team *team);

/* Call when `team` reads the cells of a peer, unless it is `current`. */
void cells_turn_to(struct team *team);

/* Call when this rank leaves `team`. */
void cells_forget(struct team *team);

#endif
