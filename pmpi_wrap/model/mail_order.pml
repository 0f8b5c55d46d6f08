/* Model of a sleep that ends with a message of the host (pmpi_wrap/host_wait.h) in weakly ordered memory: see
 * core/model/weak.h. mail.pml has several senders and messages, in memory that is sequentially consistent. `queue` is
 * the host's; its stores and loads are ordered by nothing but our fences.
 *
 * The sleep has no limit here, so a lost wake-up is an end that is not one. Each BREAK_x leaves out an order;
 * tests/docs/model checks that the model then fails.
 */
#include "../../core/model/weak.h"

#ifdef BREAK_SENT
#define SENT_ORDER 0
#else
#define SENT_ORDER SEND /* the fence after the host's call */
#endif
#ifdef BREAK_ANNOUNCE
#define ANNOUNCE_ORDER (ASLEEP_LOAD | SLEEPERS_LOAD) /* without the fence of sync_announce_sleep() */
#else
#define ANNOUNCE_ORDER (ASLEEP_STORE | SLEEPERS_STORE)
#endif
#ifdef BREAK_SEEN
#define POLL_ORDER ANNOUNCE_ORDER
#else
#define POLL_ORDER (ANNOUNCE_ORDER | SEEN) /* the acquire of sync_load(mail) */
#endif

bool queue, mail, sleeps;
byte asleep, sleepers;

#define SEND     1
#define ASLEEP   2
#define SLEEPERS 4
#define MAIL     8
#define WAKE     16
active proctype sender()
{
    int done;
    bool anybody, receiver_sleeps;
    do
    :: atomic { READY(SEND, 0) -> queue = true; DONE(SEND) }
    :: atomic { READY(ASLEEP, SENT_ORDER) -> anybody = asleep; DONE(ASLEEP) }
    :: atomic { READY(SLEEPERS, SENT_ORDER | ASLEEP) -> receiver_sleeps = anybody && sleepers; DONE(SLEEPERS) }
    :: atomic { READY(MAIL, SLEEPERS) -> mail = mail || receiver_sleeps; DONE(MAIL) }
    :: atomic { READY(WAKE, MAIL) -> sleeps = sleeps && !receiver_sleeps; DONE(WAKE) }
    :: FINISHED(SEND | ASLEEP | SLEEPERS | MAIL | WAKE) -> break
    od
}

#define ASLEEP_LOAD    1
#define ASLEEP_STORE   2
#define SLEEPERS_LOAD  4
#define SLEEPERS_STORE 8
#define SEEN           16
#define POLL           32
#define SLEEP          64
active proctype receiver()
{
    int done;
    byte all, own;
    bool seen, found;
    do
    :: atomic { READY(ASLEEP_LOAD, 0) -> all = asleep; DONE(ASLEEP_LOAD) }
    :: atomic { READY(ASLEEP_STORE, ASLEEP_LOAD) -> asleep = all + 1; DONE(ASLEEP_STORE) }
    :: atomic { READY(SLEEPERS_LOAD, ASLEEP_LOAD) -> own = sleepers; DONE(SLEEPERS_LOAD) }
    :: atomic { READY(SLEEPERS_STORE, SLEEPERS_LOAD | ASLEEP_STORE) -> sleepers = own + 1; DONE(SLEEPERS_STORE) }
    :: atomic { READY(SEEN, ANNOUNCE_ORDER) -> seen = mail; DONE(SEEN) }
    :: atomic { READY(POLL, POLL_ORDER) -> found = queue; DONE(POLL) }
    /* Linux compares the word and puts the thread to sleep in one step. */
    :: atomic { READY(SLEEP, SEEN | POLL | SLEEPERS_STORE) -> sleeps = !found && mail == seen; DONE(SLEEP) }
    :: FINISHED(ASLEEP_LOAD | ASLEEP_STORE | SLEEPERS_LOAD | SLEEPERS_STORE | SEEN | POLL | SLEEP) -> break
    od;
    !sleeps
}
