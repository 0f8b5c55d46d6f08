/* Model of a lock (core/lock.h) in weakly ordered memory: see core/model/weak.h. Two ranks increment a counter
 * that the lock protects, with a plain load and a plain store, as accumulate does in bulk mode.
 *
 * Each BREAK_x leaves out an order; tests/docs/model checks that the model then fails.
 */
#include "weak.h"

#ifdef BREAK_ACQUIRE
#define ACQUIRE 0
#else
#define ACQUIRE TAKE_LOAD
#endif
#ifdef BREAK_RELEASE
#define RELEASE TAKE_STORE
#else
#define RELEASE (TAKE_STORE | READ | WRITE)
#endif

bool lock, reserved;
byte counter, left = 2;

#define TAKE_LOAD  1 /* compare and swap, until it succeeds */
#define TAKE_STORE 2
#define READ       4
#define WRITE      8
#define GIVE       16
active [2] proctype rank()
{
    int done;
    byte seen;
    do
    :: atomic { READY(TAKE_LOAD, 0) && !reserved && !lock -> reserved = true; DONE(TAKE_LOAD) }
    :: atomic { READY(TAKE_STORE, TAKE_LOAD) -> lock = true; reserved = false; DONE(TAKE_STORE) }
    :: atomic { READY(READ, ACQUIRE) -> seen = counter; DONE(READ) }
    /* A store is never visible before the branches in front of it are decided. */
    :: atomic { READY(WRITE, READ | TAKE_LOAD) -> counter = seen + 1; DONE(WRITE) }
    :: atomic { READY(GIVE, RELEASE) -> lock = false; DONE(GIVE) }
    :: atomic { FINISHED(TAKE_LOAD | TAKE_STORE | READ | WRITE | GIVE) -> break }
    od;
    atomic {
        left--;
        assert(left || counter == 2)
    }
}
