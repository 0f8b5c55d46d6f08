/* Model of one slot (coll_inplace/team.h) in weakly ordered memory: see core/model/weak.h. slot.pml has the
 * whole protocol, in memory that is sequentially consistent. Here a rank publishes two operations in the same
 * slot, and its data in the slot's cell, and the reader reports that it is done with each.
 *
 * Each BREAK_x leaves out an order; tests/docs/model checks that the model then fails.
 */
#include "../../core/model/weak.h"

#ifdef BREAK_PUBLISH
#define PUBLISH(data) 0
#else
#define PUBLISH(data) (data) /* the release of sync_publish() */
#endif
#ifdef BREAK_ROOM
#define ROOM SLOT_1
#else
#define ROOM (SLOT_1 | WAIT)
#endif
#ifdef BREAK_WAIT
#define AFTER_WAIT(wait) 0
#else
#define AFTER_WAIT(wait) (wait) /* the acquire of sync_load() */
#endif
#ifdef BREAK_DONE
#define AFTER_READ(read) 0
#else
#define AFTER_READ(read) (read) /* the release of sync_publish() */
#endif

byte data, slot_op, reader_done;

#define DATA_1 1
#define SLOT_1 2
#define WAIT   4
#define DATA_2 8
#define SLOT_2 16
active proctype writer()
{
    int done;
    do
    :: atomic { READY(DATA_1, 0) -> data = 1; DONE(DATA_1) }
    :: atomic { READY(SLOT_1, PUBLISH(DATA_1)) -> slot_op = 1; DONE(SLOT_1) }
    :: atomic { READY(WAIT, 0) && reader_done >= 1 -> DONE(WAIT) }
    :: atomic { READY(DATA_2, ROOM | DATA_1) -> data = 2; DONE(DATA_2) }
    :: atomic { READY(SLOT_2, SLOT_1 | PUBLISH(DATA_2)) -> slot_op = 2; DONE(SLOT_2) }
    :: FINISHED(DATA_1 | SLOT_1 | WAIT | DATA_2 | SLOT_2) -> break
    od
}

#define WAIT_1 1
#define READ_1 2
#define DONE_1 4
#define WAIT_2 8
#define READ_2 16
active proctype reader()
{
    int done;
    byte first, second;
    do
    :: atomic { READY(WAIT_1, 0) && slot_op == 1 -> DONE(WAIT_1) }
    :: atomic { READY(READ_1, AFTER_WAIT(WAIT_1)) -> first = data; DONE(READ_1) }
    :: atomic { READY(DONE_1, WAIT_1 | AFTER_READ(READ_1)) -> reader_done = 1; DONE(DONE_1) }
    :: atomic { READY(WAIT_2, WAIT_1) && slot_op == 2 -> DONE(WAIT_2) }
    :: atomic { READY(READ_2, AFTER_WAIT(WAIT_2)) -> second = data; DONE(READ_2) }
    :: FINISHED(WAIT_1 | READ_1 | DONE_1 | WAIT_2 | READ_2) -> break
    od;
    assert(first == 1 && second == 2)
}
