/* Model of lock_all and exclusive locks (rma_shm/sync_passive.h) in weakly ordered memory: see core/model/weak.h.
 * lock_all.pml has several ranks and targets, in memory that is sequentially consistent. Here one rank calls lock_all,
 * one requests the first exclusive lock, and each tries once.
 *
 * Each BREAK_x leaves out an order; tests/docs/model checks that the model then fails.
 */
#include "../../core/model/weak.h"

#ifdef BREAK_READER
#define READER_ORDER COUNT_LOAD /* an acquire only */
#else
#define READER_ORDER COUNT_STORE
#endif
#ifdef BREAK_INSIDE
#define INSIDE_ORDER 0
#else
#define INSIDE_ORDER (USED | LOCK)
#endif
#ifdef BREAK_USED
#define USED_ORDER 0
#else
#define USED_ORDER EXCLUSIVE_USED
#endif
#ifdef BREAK_CHECK
#define CHECK_ORDER TAKE_LOAD /* an acquire only */
#else
#define CHECK_ORDER TAKE_STORE
#endif

byte lock_all;
bool exclusive_used, lock, element;

#define COUNT_LOAD  1
#define COUNT_STORE 2
#define USED        4
#define LOCK        8
#define GET         16
active proctype reader()
{
    int done;
    byte count;
    bool used, locked, first, second;
    do
    :: atomic { READY(COUNT_LOAD, 0) -> count = lock_all; DONE(COUNT_LOAD) }
    :: atomic { READY(COUNT_STORE, COUNT_LOAD) -> lock_all = count + 1; DONE(COUNT_STORE) }
    :: atomic { READY(USED, READER_ORDER) -> used = exclusive_used; DONE(USED) }
    :: atomic { READY(LOCK, READER_ORDER | USED) -> locked = used && lock; DONE(LOCK) }
    :: atomic { READY(GET, INSIDE_ORDER) -> first = element; DONE(GET) }
    :: FINISHED(COUNT_LOAD | COUNT_STORE | USED | LOCK | GET) -> break
    od;
    /* Inside, nobody with an exclusive lock changes what it reads. */
    second = element;
    assert(locked || first == second)
}

#define EXCLUSIVE_USED 1
#define TAKE_LOAD      2
#define TAKE_STORE     4
#define CHECK          8
#define PUT            16
#define GIVE           32
active proctype locker()
{
    int done;
    bool readers;
    do
    :: atomic { READY(EXCLUSIVE_USED, 0) -> exclusive_used = true; DONE(EXCLUSIVE_USED) }
    :: atomic { READY(TAKE_LOAD, 0) -> DONE(TAKE_LOAD) }
    :: atomic { READY(TAKE_STORE, TAKE_LOAD | USED_ORDER) -> lock = true; DONE(TAKE_STORE) }
    :: atomic { READY(CHECK, CHECK_ORDER) -> readers = lock_all > 0; DONE(CHECK) }
    /* With readers it gives the lock back. A store is never visible before the branches in front of it are decided. */
    :: atomic { READY(PUT, CHECK) -> element = !readers; DONE(PUT) }
    :: atomic { READY(GIVE, TAKE_STORE | PUT) -> lock = false; DONE(GIVE) }
    :: FINISHED(EXCLUSIVE_USED | TAKE_LOAD | TAKE_STORE | CHECK | PUT | GIVE) -> break
    od
}
