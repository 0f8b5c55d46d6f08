/* Model of element mode and bulk mode (rma_shm/atomic.h) in weakly ordered memory: see core/model/weak.h. One rank
 * adds to an element by an atomic operation, while another changes the target to bulk mode and adds to the element by
 * a plain load and a plain store. The native operation is one step here, since atomic operations of one rank alone
 * lose nothing.
 *
 * Each BREAK_x leaves out an order; tests/docs/model checks that the model then fails.
 */
#include "../../core/model/weak.h"

#ifdef BREAK_ENTER
#define ENTER_ORDER 0
#else
#define ENTER_ORDER COUNT_ODD /* native_enter(): the count, then the mode */
#endif
#ifdef BREAK_LEAVE
#define LEAVE_ORDER (COUNT_ODD | MODE)
#else
#define LEAVE_ORDER (COUNT_ODD | MODE | ADD) /* the release of native_leave() */
#endif
#ifdef BREAK_CHANGE
#define CHANGE_ORDER 0
#else
#define CHANGE_ORDER CHANGE /* change_to_bulk(): the mode, then the counts */
#endif
#ifdef BREAK_OUTSIDE
#define OUTSIDE_ORDER 0
#else
#define OUTSIDE_ORDER OUTSIDE /* the acquire of await_outside() */
#endif

byte element, count, left = 2;
bool bulk_mode, mutex_free;

#define COUNT_ODD  1
#define MODE       2
#define ADD        4
#define COUNT_EVEN 8
active proctype native()
{
    int done;
    bool bulk;
    do
    :: atomic { READY(COUNT_ODD, 0) -> count = 1; DONE(COUNT_ODD) }
    :: atomic { READY(MODE, ENTER_ORDER) -> bulk = bulk_mode; DONE(MODE) }
    /* A store is never visible before the branches in front of it are decided. */
    :: atomic { READY(ADD, MODE) -> element = (bulk -> element : element + 1); DONE(ADD) }
    :: atomic { READY(COUNT_EVEN, LEAVE_ORDER) -> count = 2; DONE(COUNT_EVEN) }
    :: FINISHED(COUNT_ODD | MODE | ADD | COUNT_EVEN) -> break
    od;
    /* In bulk mode it adds with the mutex, which is free now: see lock_order.pml. */
    atomic {
        !bulk || mutex_free -> element = (bulk -> element + 1 : element);
        left--
    }
}

#define CHANGE  1
#define OUTSIDE 2
#define READ    4
#define WRITE   8
active proctype changer()
{
    int done;
    byte seen;
    do
    :: atomic { READY(CHANGE, 0) -> bulk_mode = true; DONE(CHANGE) }
    :: atomic { READY(OUTSIDE, CHANGE_ORDER) && count % 2 == 0 -> DONE(OUTSIDE) }
    :: atomic { READY(READ, OUTSIDE_ORDER) -> seen = element; DONE(READ) }
    :: atomic { READY(WRITE, READ | OUTSIDE) -> element = seen + 1; DONE(WRITE) }
    :: FINISHED(CHANGE | OUTSIDE | READ | WRITE) -> break
    od;
    atomic { mutex_free = true; left-- }
}

active proctype result()
{
    left == 0 -> assert(element == 2)
}
