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
        mail++;
        queue++;
#else
        queue++;
#ifndef BREAK_MAIL
        mail++;
#endif
#endif
        if
#ifdef BREAK_WAKE
        :: true
#else
        :: sleepers > 0 -> asleep = false
        :: else
#endif
        fi;
        sent++
    :: else -> break
    od
}

active proctype receiver()
{
    byte received = 0, seen;
    do
    :: received < SENDERS * MESSAGES ->
#ifndef BREAK_SEEN
        seen = mail;
#endif
        if
        :: atomic { queue > 0 -> queue--; received++ }
        :: else ->
#ifdef BREAK_SEEN
            seen = mail;
#endif
            /* Later polls find nothing either, with the same `seen`. */
#ifndef BREAK_SLEEPERS
            sleepers++;
#endif
            /* Linux compares the word and puts the thread to sleep in one step. */
            atomic {
                if
                :: mail == seen -> asleep = true
                :: else
                fi
            };
            !asleep;
#ifndef BREAK_SLEEPERS
            sleepers--
#endif
        fi
    :: else -> break
    od
}
