/* Waiting inside the host.
 *
 * A host waits by polling for messages, and MPICH never gives up the processor. With more ranks
 * than processors, the rank that is awaited cannot run until the OS preempts the one that polls. So
 * the library intercepts the function with which the host polls (progress_entry.c). All members of
 * a node wait in the same way (MPIACCEL_WAIT):
 *
 *   spin    A thread polls without pause.
 *   yield   A thread whose polls have found nothing for about 2 us yields between polls. Open
 *           MPI has a yield of its own, which the library switches on.
 *   sleep   A thread yields for a millisecond, and then may sleep on its word `mail` in the shared
 *           file. A rank that has sent a message to a member that sleeps increments the member's
 *           `mail` and wakes it. Under a CPU quota, and after a yield that has taken long, a thread
 *           sleeps sooner. If the quota is the only shortage, and only one thread calls MPI,
 *           a thread in a call that waits (CALL_WAITS) polls instead of yielding.
 *   auto    The node waits as with `sleep` if it is oversubscribed (core/processors.h). Otherwise
 *           a thread spins, and asks the OS at intervals of at least POLLS_PER_PROBE polls whether
 *           another thread has had its processor. If so, it waits as with `yield` until it has the
 *           processor to itself again, or its yields turn out to go to a thread that computes.
 *
 * The wake-up of a thread that sleeps is not lost. The thread first increments `asleep` and
 * `sleepers` and reads `mail`, then the host polls once more, and then Linux compares `mail` with
 * the value read, before the thread sleeps. The sender puts the message into the host's queue, and
 * then reads `asleep`, which counts the threads of the whole node, and if that is positive, the
 * receiver's `sleepers`. Full fences separate the two steps of each. So either the poll finds the
 * message, or the sender sees the sleeper and changes `mail`. The model is in
 * pmpi_wrap/model/mail.pml. A sender also wakes a thread that sleeps in one of the library's own
 * waits (sync_set_host_mail()). That thread then drives the host's progress, which operations on
 * this rank's windows may need.
 *
 * Some messages wake nobody: those from other nodes, and those that the host sends on its own, such
 * as the steps of MPI_Comm_dup, of collective access to files and of nonblocking collectives. A
 * thread that slept before each step would take many times as long as one that yields. So it sleeps
 * only if a call of the program sends what it waits for:
 *
 *   - In calls that wait for messages or send them (CALL_WAITS). In all other calls of the host it
 *     only yields. In those with which programs poll (CALL_POLLS) a sleep would take many times as
 *     long as the work that a program may do between its polls.
 *   - It no longer sleeps anywhere once this process has called a collective that is always left to
 *     the host. Most of these are nonblocking: the host continues them in any call, and an
 *     MPI_Waitall may wait for them. The same applies if ranks outside the node may send: on other
 *     nodes, spawned or connected (host_wait_stay_awake()).
 *   - In these calls a thread may also wait for the answer to a long message, which the peer's host
 *     sends when it is called. If the peer has polled within the time after which threads sleep,
 *     it has answered before this thread sleeps. If not, it has been away, and its first poll or
 *     call afterwards wakes all members that sleep (note_use()).
 *
 * With MPIACCEL_WAIT=sleep the user wants idle processors, and threads sleep in every call.
 *
 * Every sleep is bounded all the same (sync_nap()): it takes 50 us at first, twice as long after
 * every eight sleeps of this wait, and at most four milliseconds. A message that the host could not
 * send at once is found then, and a peer that has died delays no other rank. A receiver that was
 * killed leaves `sleepers` too high, which costs system calls and nothing else.
 *
 * All polls during a call that waits or sends belong to one wait. If a program calls MPI_Test again
 * and again, and computes for less than a few microseconds in between, it looks like a host that
 * waits. But the program may have work to do between its polls, as MPIRandomAccess of HPCC does. So
 * a thread yields only after POLLS_PER_YIELD polls. If the host yields by itself, its own yield
 * stays on during the first CALLS_WITH_HOST_YIELD calls: after it has sent or received, a program
 * often polls for the answer of a rank on the same processor. Only the poll after a yield of the
 * library is timed. If the host yields by itself, not all polls are timed in other calls either: in
 * calls that wait, up to POLLS_OF_SHORT_YIELDS polls between two timed ones are not, and in other
 * calls in which no thread sleeps, POLLS_OF_OTHER_CALL.
 *
 * With MPI_THREAD_MULTIPLE or sessions, the host may poll while it holds a lock that other threads
 * need. So threads then only yield; with MPIACCEL_WAIT=sleep, each sleep takes 50 us.
 */
#ifndef MPIACCEL_HOST_WAIT_H
#define MPIACCEL_HOST_WAIT_H

#include "core/config.h"
#include "core/sync.h"
#include "node/node.h"
#include "pmpi_wrap/calls.h"

/* How this process waits inside the host. Changes only in MPI_Init and MPI_Finalize. */
extern enum wait_setting host_wait HIDDEN;

/* Whether threads may yield or sleep between polls. Then polls are timed, and calls report their
 * start and end. */
extern bool host_wait_intervenes HIDDEN;

/* The number of polls that are still to be merely passed on to the host. Threads update it without
 * synchronisation: a lost update passes one poll more or less on. */
extern uint32_t host_wait_polls_left HIDDEN;

/* A function of the host: switch its yield after every poll on or off. Returns the previous
 * setting.
 */
typedef bool set_yield_fn(bool yields);

/* `quota`: processor time is limited, so threads sleep sooner. `yields`: threads yield in
 * calls that wait, before they sleep; otherwise they only poll there. `set_host_yield`: the host
 * yields now, and this function switches that; NULL: it does not yield. */
void host_wait_configure(enum wait_setting how, bool quota, bool yields,
                         set_yield_fn *set_host_yield);

/* Let threads of this process only yield in the host from now on, except with
 * MPIACCEL_WAIT=sleep. */
void host_wait_stay_awake(void);

/* ---- the receiver ---- */

/* Whether a poll is merely passed on to the host. */
static inline bool host_wait_ignores_poll(void)
{
    uint32_t left = __atomic_load_n(&host_wait_polls_left, __ATOMIC_RELAXED);
    if (UNLIKELY(left-- == 0))
        return false;
    __atomic_store_n(&host_wait_polls_left, left, __ATOMIC_RELAXED);
    return true;
}

/* Call immediately before a poll for which host_wait_ignores_poll() has returned false. A thread
 * that polls again has not found what it waits for. After a while it yields or sleeps here.
 * `nests`: the host's function polls by calling another intercepted function, whose polls are then
 * parts of this one. */
void host_wait_before_poll(bool nests);

/* Call after that poll, with the same `nests`. `found`: the poll is known to have found something.
 */
void host_wait_polled(bool found, bool nests);

/* Between these two calls, polls of this thread neither yield nor sleep: they are steps of a wait
 * of the library, which decides itself when to do so. */
void host_wait_suspend(void);
void host_wait_resume(void);

/* CALL_WAITS: a call that waits for messages of the program, or that sends one. All its polls
 * belong to one wait, however far apart they are: MPICH 5, for example, spends a long time on other
 * work between the polls after a sleep. CALL_POLLS: a call that does not wait and with which
 * programs poll, such as MPI_Test. The polls of such calls after a sleep belong to one wait if the
 * program does little between the calls. CALL_OTHER: all other calls, and time outside MPI. */
enum call_kind { CALL_OTHER, CALL_WAITS, CALL_POLLS };

/* Call immediately before the host's function and after it. `found`: it has reported that a request
 * is complete or that a message is there; only used for CALL_POLLS. */
void host_wait_enter(enum call_kind kind);
void host_wait_leave(bool found);

/* ---- the sender ---- */

/* Whether any thread of the node sleeps. Call after a full fence that comes after the message. */
static inline bool host_wait_anybody_sleeps(void)
{
    return node.header && atomic_load_explicit(&node.header->asleep, memory_order_seq_cst);
}

/* Call before a call of the host that may send a message to a member, or to any member if `member`
 * is negative. The host may send it at once, or only while it polls. So the member is woken after
 * the next poll or by host_wait_sent(), whichever comes first. Not necessary if nobody sleeps: a
 * member that falls asleep during the call wakes up after 50 us. */
void host_wait_sending(int member);

/* Call after the host's function has returned; or else the next poll wakes the member. */
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
