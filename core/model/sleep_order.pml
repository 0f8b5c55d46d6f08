/* Model of sleeping on a word (core/sync.h) in weakly ordered memory: see core/model/weak.h.
 *
 * The waker changes the word, then loads `sleepers`. The waiter increments `sleepers`, then Linux compares the
 * word and puts the thread to sleep in one step. The sleep has no limit here, so a lost wake-up is an end that
 * is not one. Each BREAK_x leaves out an order; tests/docs/model checks that the model then fails.
 */
#include "weak.h"

#ifdef BREAK_WAKER
#define WAKER_ORDER 0 /* a release instead of sync_publish_ordered() */
#else
#define WAKER_ORDER CHANGE
#endif
#ifdef BREAK_WAITER
#define WAITER_ORDER COUNT_LOAD /* without the fence of sync_announce_sleep(): only an acquire */
#else
#define WAITER_ORDER COUNT_STORE
#endif

bit value;
byte sleepers;
bool asleep;

#define CHANGE 1
#define LOOK   2
#define WAKE   4
active proctype waker()
{
    int done;
    byte seen;
    do
    :: atomic { READY(CHANGE, 0) -> value = 1; DONE(CHANGE) }
    :: atomic { READY(LOOK, WAKER_ORDER) -> seen = sleepers; DONE(LOOK) }
    :: atomic { READY(WAKE, CHANGE | LOOK) -> asleep = asleep && !seen; DONE(WAKE) }
    :: FINISHED(CHANGE | LOOK | WAKE) -> break
    od
}

#define COUNT_LOAD  1
#define COUNT_STORE 2
#define COMPARE     4
active proctype waiter()
{
    int done;
    byte count;
    do
    :: atomic { READY(COUNT_LOAD, 0) -> count = sleepers; DONE(COUNT_LOAD) }
    :: atomic { READY(COUNT_STORE, COUNT_LOAD) -> sleepers = count + 1; DONE(COUNT_STORE) }
    :: atomic { READY(COMPARE, WAITER_ORDER) -> asleep = !value; DONE(COMPARE) }
    :: FINISHED(COUNT_LOAD | COUNT_STORE | COMPARE) -> break
    od;
    !asleep
}
