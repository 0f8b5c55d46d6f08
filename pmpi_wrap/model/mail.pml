/* Model of the protocol in pmpi_wrap/host_wait.h: members that sleep while they wait for a message
 * of the host. Each sender puts messages into the receiver's queue, which the library cannot see,
 * and announces them. The receiver polls, and sleeps without a limit, so that a lost wake-up shows
 * as an end that is not one: the receiver waits and nobody runs.
 *
 * Each BREAK_x leaves out something that the protocol needs; tests/docs/model checks that the model
 * then fails. Memory is sequentially consistent here; the words of the real code are, too.
 */
#define SENDERS  2
#define MESSAGES 2 /* of each sender */

byte queue;    /* messages that have not been received */
byte mail;     /* the word */
byte sleepers;
bool asleep;   /* in the kernel */

active [SENDERS] proctype sender()
{
    byte sent = 0;
    do
    :: sent < MESSAGES ->
#ifdef BREAK_ORDER
        byte seen = sleepers;
        queue++;
#else
        queue++;
        byte seen = sleepers;
#endif
        if
#ifndef BREAK_WAKE
        :: seen > 0 ->
#ifndef BREAK_MAIL
            mail++;
#endif
            asleep = false
#endif
        :: else
        fi;
        sent++
    :: else -> break
    od
}

inline poll()
{
    if
    :: atomic { queue > 0 -> queue--; received++; found = true }
    :: else -> found = false
    fi
}

active proctype receiver()
{
    byte received = 0, seen;
    bool found;
    do
    :: received < SENDERS * MESSAGES ->
        poll();
        if
        :: found
        :: !found ->
#ifndef BREAK_SLEEPERS
            sleepers++;
#endif
            seen = mail;
#ifndef BREAK_POLL
            poll();
#endif
#ifdef BREAK_SEEN
            seen = mail;
#endif
            if
            :: found
            :: !found ->
                /* Linux compares the word and puts the thread to sleep in one step. */
                atomic {
                    if
                    :: mail == seen -> asleep = true
                    :: else
                    fi
                };
                !asleep
            fi;
#ifndef BREAK_SLEEPERS
            sleepers--
#endif
        fi
    :: else -> break
    od
}
