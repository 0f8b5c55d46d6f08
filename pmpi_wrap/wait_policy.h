/* How the ranks of this node wait: in the host (host_wait.h) and in this library (core/sync.h).
 *
 * All members wait in the same way: that of the member that leaves most to others (enum
 * wait_setting), where `auto` means to sleep if processors are short. They decide from their
 * records, which are equal for all. A rank that knows no other members decides for itself, and does
 * not sleep unless its user wants it to, since nobody would wake it.
 *
 * What a thread does while it waits (1 ms stands for 2^21 ticks, 2 us for 2^12):
 *
 *   setting      call that waits        call that polls          other call    wait of the library
 *   spin         polls                  polls                    polls         2000 rounds, yields
 *   auto         as spin; as yield while a thread that does not compute shares the processor
 *   yield        yields after 2 us      yields after 2 to 128    as in a call  20 rounds, 30
 *                                       polls                    that waits    yields, sleeps
 *   sleep        the same, sleeps       the same, sleeps after   the same      the same
 *                after 1 ms             1 ms without the yields
 *   … a quota    polls for 0.1 ms,      the same                 the same      the same
 *                sleeps
 *
 * Open MPI yields by itself after each poll in place of the library, except in calls that poll. A
 * thread sleeps in other calls of the host, too, if its user has set `sleep`.
 */
#ifndef MPIACCEL_WAIT_POLICY_H
#define MPIACCEL_WAIT_POLICY_H

#include "core/base.h"

/* Before the host is initialized. `local_ranks`: of the job on this node, or 0. */
void wait_policy_enter(uint32_t local_ranks);

/* Follow the policy from now on. `progress`: see sync_configure(). */
void wait_policy_apply(void (*progress)(void));

/* Log what the policy is, on one rank of the node, if processors are short. */
void wait_policy_log(void);

#endif
