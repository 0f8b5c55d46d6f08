/* Model of the completion of operations on a window (rma_shm/win.h) in weakly ordered memory: see
 * core/model/weak.h. Operations are plain loads and stores, and a flush completes them: win_complete_operations().
 *
 * MESSAGE: a rank puts, flushes, and sends a message, after which the other gets, flushes, and answers; then the first
 * puts again. CROSS: each of two ranks puts, flushes, and gets from the other. With UNLOCK, it is an unlock that
 * completes the put: an atomic operation and the fence of rwlock_unlock_exclusive().
 *
 * Each BREAK_x leaves out an order; tests/docs/model checks that the model then fails.
 */
#include "../../core/model/weak.h"

#if defined(BREAK_FLUSH)
#define FLUSHED(put) 0
#elif defined(UNLOCK) && defined(BREAK_UNLOCK)
#define FLUSHED(put) UNLOCK_LOAD /* the atomic operation without the fence */
#elif defined(UNLOCK)
#define FLUSHED(put) (put | UNLOCK_STORE)
#else
#define FLUSHED(put) (put)
#endif
#ifdef BREAK_GET
#define COMPLETED(get) 0
#else
#define COMPLETED(get) (get) /* the acquire fence, for gets */
#endif

#ifdef CROSS

bool memory[2], found[2], lock[2];
byte left = 2;

#define PUT          1
#define UNLOCK_LOAD  2
#define UNLOCK_STORE 4
#define GET          8
active [2] proctype rank()
{
    int done;
    do
    :: atomic { READY(PUT, 0) -> memory[_pid] = true; DONE(PUT) }
    :: atomic { READY(UNLOCK_LOAD, 0) -> DONE(UNLOCK_LOAD) }
    :: atomic { READY(UNLOCK_STORE, UNLOCK_LOAD | PUT) -> lock[_pid] = false; DONE(UNLOCK_STORE) }
    :: atomic { READY(GET, FLUSHED(PUT)) -> found[_pid] = memory[1 - _pid]; DONE(GET) }
    :: FINISHED(PUT | UNLOCK_LOAD | UNLOCK_STORE | GET) -> break
    od;
    atomic {
        left--;
        assert(left || found[0] || found[1])
    }
}

#else /* MESSAGE */

byte memory;
bool message, answer;

#define PUT_1   1
#define MESSAGE 2
#define ANSWER  4
#define PUT_2   8
active proctype origin()
{
    int done;
    do
    :: atomic { READY(PUT_1, 0) -> memory = 1; DONE(PUT_1) }
    :: atomic { READY(MESSAGE, FLUSHED(PUT_1)) -> message = true; DONE(MESSAGE) }
    /* The host receives with an acquire. */
    :: atomic { READY(ANSWER, 0) && answer -> DONE(ANSWER) }
    :: atomic { READY(PUT_2, PUT_1 | ANSWER) -> memory = 2; DONE(PUT_2) }
    :: FINISHED(PUT_1 | MESSAGE | ANSWER | PUT_2) -> break
    od
}

#define RECEIVE 1
#define GET     2
#define REPLY   4
active proctype reader()
{
    int done;
    byte found;
    do
    :: atomic { READY(RECEIVE, 0) && message -> DONE(RECEIVE) }
    :: atomic { READY(GET, RECEIVE) -> found = memory; DONE(GET) }
    /* A message whose stores the host orders after nothing of ours */
    :: atomic { READY(REPLY, RECEIVE | COMPLETED(GET)) -> answer = true; DONE(REPLY) }
    :: FINISHED(RECEIVE | GET | REPLY) -> break
    od;
    assert(found == 1)
}

#endif
