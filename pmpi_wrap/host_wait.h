/* Waiting inside the host.
 *
 * A host waits by polling for messages, and MPICH never gives up the processor. With more ranks
 * than processors, the rank that is awaited cannot run until the OS preempts the one that polls. So
 * the library intercepts the function with which the host polls (progress_entry.c). A rank whose
 * polls have found nothing for a while yields, and then sleeps on its word `mail` in the shared
 * file. A rank that has sent a message to a member of the node increments the member's `mail`, and
 * wakes the member if it sleeps.
 *
 * No announced message is missed. The receiver reads `mail` before the host polls, and Linux
 * compares it with the value read before the thread sleeps. The sender puts the message into the
 * host's queue, then increments `mail`, then reads `sleepers`. So either the poll finds the
 * message, or the sleep does not begin, or the sender sees the sleeper.
 *
 * Some messages are not announced: those from other nodes, those that the host sends on its own,
 * such as answers and steps of its collectives, and those that it could not send at once. Every
 * sleep is bounded for their sake: 50 us at first, a millisecond in the end. A peer that has died
 * therefore holds up nobody.
 *
 * A program that polls with MPI_Test looks like a host that waits, if it does nothing else between
 * two polls. If it computes for longer than a few microseconds in between, it is not waiting.
 */
#ifndef MPIACCEL_HOST_WAIT_H
#define MPIACCEL_HOST_WAIT_H

#include "core/sync.h"
#include "pmpi_wrap/calls.h"

enum host_wait {
    HOST_WAIT_SPIN, /* the host waits as it does without this library */
    HOST_WAIT_YIELD,
    HOST_WAIT_SLEEP,
};

/* How this process waits inside the host. Changes only in MPI_Init and MPI_Finalize. */
extern enum host_wait host_wait HIDDEN;

void host_wait_configure(enum host_wait how);

/* Call before the host polls; returns what host_wait_polled() wants to know. */
uint32_t host_wait_before_poll(void);

/* Call after it; `progress`: the host has made some. Yields or sleeps if there has been none for a
 * while. */
void host_wait_polled(uint32_t mail, bool progress);

/* Between these, polls of this thread do not wait: they are steps of a wait that decides itself
 * when to sleep, or part of another poll. */
void host_wait_suspend(void);
void host_wait_resume(void);

/* A call that may send a message to a member begins: any member if `member` is negative. Whether
 * the host sends it at once, or only while it polls, is not known, so the member is woken after the
 * call (host_wait_sent()), and before this thread yields or sleeps in it. */
void host_wait_sending(int member);
void host_wait_sent(void);

#endif
