/* How the ranks of this node wait: in the host (host_wait.h) and in this library (core/sync.h).
 *
 * All members wait in the same way: that of the member whose setting leaves the most processor time
 * to others (enum wait_setting), where `auto` stands for `sleep` if the node is oversubscribed.
 * They decide from their records, which are equal for all. A rank that shares nothing with other
 * members decides for itself. It recognises a shortage only from a quota, or if it may use all
 * processors of the machine and the node has more ranks. It does not sleep unless its user wants it
 * to, since nobody would wake it.
 *
 * core/wait_times.h describes what a thread then does while it waits, and for how long.
 */
#ifndef MPIACCEL_WAIT_POLICY_H
#define MPIACCEL_WAIT_POLICY_H

#include "core/base.h"

/* Call before the host is initialized. `local_ranks`: the number of ranks of the job on this node;
 * 0: it is not known. */
void wait_policy_enter(uint32_t local_ranks);

/* Follow the policy from now on. `progress`: see sync_configure(). */
void wait_policy_apply(void (*progress)(void));

/* Log what the policy is, on one rank of the node, if the node is oversubscribed. */
void wait_policy_log(void);

#endif
