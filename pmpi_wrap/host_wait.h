/* Waiting inside the host.
 *
 * A host waits by polling for messages, and MPICH never gives up the processor. With more ranks
 * than processors, the rank that is awaited cannot run until the OS preempts the one that polls. So
 * the library intercepts the function with which the host polls (progress_entry.c). All members of
 * a node wait in the same way:
 *
 *   spin    as the host does.
 *   auto    the same, but once in POLLS_PER_PROBE polls a rank asks the OS whether another thread
 *           has had its processor. Then it waits as with `yield` for some time.
 *   yield   a rank whose polls have found nothing for a microsecond yields between polls. Open MPI
 *           can do that itself, and is told to.
 *   sleep   it yields at first, and then sleeps on its word `mail` in the shared file. A rank that
 *           has sent a message to a member that sleeps increments the member's `mail` and wakes it.
 *           Without a setting, this is the way if processors are short (core/processors.h).
 *
 * No announced message is missed. A receiver that is going to sleep increments `sleepers` and reads
 * `mail`, then the host polls once more, and then Linux compares `mail` with the value read, before
 * the thread sleeps. The sender puts the message into the host's queue, and then reads `sleepers`.
 * Full fences separate the two steps of each. So either the poll finds the message, or the sender
 * sees the sleeper and changes `mail`. The model is in pmpi_wrap/model/mail.pml.
 *
 * Some messages are not announced: those from other nodes, those that the host sends on its own,
 * such as answers and steps of its collectives, and those that it could not send at once. For their
 * sake every sleep is bounded, by 50 us or an eighth of the time already waited, and by four
 * milliseconds. A peer that has died therefore holds up nobody. A receiver that was killed leaves
 * `sleepers` too high, which costs system calls and nothing else.
 *
 * All polls during a call that waits or sends belong to one wait. If a program calls MPI_Test again
 * and again, and computes for less than a few microseconds in between, it looks like a host that
 * waits. But it may have work to do between its polls, like MPIRandomAccess of HPCC. So it always
 * yields for a while before it sleeps, and the fewer messages it finds after its yields, the less
 * often it yields.
 *
 * With MPI_THREAD_MULTIPLE the host may poll while it holds a lock that other threads need, so
 * nobody sleeps unless the user asks for it.
 */
#ifndef MPIACCEL_HOST_WAIT_H
#define MPIACCEL_HOST_WAIT_H

#include "core/config.h"
#include "core/sync.h"
#include "pmpi_wrap/calls.h"

/* How this process waits inside the host. Changes only in MPI_Init and MPI_Finalize. */
extern enum wait_setting host_wait HIDDEN;

/* Polls are looked at, so it matters when a wait begins. */
extern bool host_wait_looks HIDDEN;

/* The number of polls that only go on to the host. Threads change it without care: a lost change
 * makes the next look a little earlier or later. */
extern uint32_t host_wait_polls_left HIDDEN;

/* A function of the host: switch its yield after every poll on or off. Returns the previous
 * setting.
 */
typedef bool set_yield_fn(bool yields);

/* `quota`: processor time is limited, so yielding is no better than polling. `set_host_yield`: the
 * host yields now, and this function switches that; NULL: it does not yield. */
void host_wait_configure(enum wait_setting how, bool quota, set_yield_fn *set_host_yield);

/* ---- the receiver ---- */

/* Whether a poll only goes on to the host. */
static inline bool host_wait_ignores_poll(void)
{
    uint32_t left = __atomic_load_n(&host_wait_polls_left, __ATOMIC_RELAXED);
    if (UNLIKELY(left-- == 0))
        return false;
    __atomic_store_n(&host_wait_polls_left, left, __ATOMIC_RELAXED);
    return true;
}

/* Call before any other poll, and after it. A thread that polls again has not found what it waits
 * for. If that has been so for a while, it yields or sleeps before the poll. `found`: the poll is
 * known to have found something. `polls_inside`: it consists of others. */
void host_wait_before_poll(bool polls_inside);
void host_wait_polled(bool found, bool polls_inside);

/* Between these, polls of this thread do not wait: they are steps of a wait that decides itself
 * when to sleep. */
void host_wait_suspend(void);
void host_wait_resume(void);

/* CALL_WAITS: a call that may wait, or that sends. All its polls belong to one wait, however far
 * apart they are: MPICH 5, for example, spends a long time on other work between the polls after a
 * sleep. CALL_POLLS: a call that does not wait and with which programs poll, such as MPI_Test. The
 * polls of such calls after a sleep belong to one wait if the program does little between the
 * calls. CALL_OTHER: all other calls, and time outside MPI. */
enum call_kind { CALL_OTHER, CALL_WAITS, CALL_POLLS };

/* Call immediately before the host's function and after it. `found`: it has reported that a request
 * is complete or that a message is there; only used for CALL_POLLS. */
void host_wait_enter(enum call_kind kind);
void host_wait_leave(bool found);

/* ---- the sender ---- */

/* A call that may send a message to a member begins: any member if `member` is negative. Whether
 * the host sends it at once, or only while it polls, is not known, so the member is woken after the
 * next poll, and in host_wait_sent(). */
void host_wait_sending(int member);

/* Call after the call, or leave it to the next poll. */
void host_wait_sent(void);

static inline void host_wait_sent_to(int member)
{
    host_wait_sending(member);
    host_wait_sent();
}

/* Whether ranks sleep, so that the functions that begin calls matter. */
static inline bool host_wait_sleeps(void)
{
    return UNLIKELY(host_wait == WAIT_sleep);
}

#endif
