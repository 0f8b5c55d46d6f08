/* The eager limit: the length of the longest message that the host sends at once. Such a message is
 * copied into shared memory and out of it, and the sender need not wait for the receiver. A longer
 * one begins with an exchange in which the receiver asks for the data, and copies them with a
 * system call.
 *
 * The defaults of the hosts, 4 KiB (Open MPI) and 8 KiB (MPICH with UCX), are too low for current
 * machines: longer messages, too, are faster if they are sent at once
 * (docs/decisions/064-eager-limit.md). So this library raises the limit through the host's own
 * settings (pmpi_wrap/host_settings.h), unless somebody has tuned the host.
 */
#ifndef MPIACCEL_EAGER_LIMIT_H
#define MPIACCEL_EAGER_LIMIT_H

#include "core/stats.h"
#include "node/job.h"

/* Call before the host is initialized. Does nothing where the limit would also hold for messages to
 * other nodes, and where the host's segments would not have room for as many messages as before. */
void eager_limit_raise(const struct job *job);

/* The length of the longest message that a receiver on this node does not read out of the sender's
 * memory. */
size_t eager_limit(void);

/* Whether a message that is longer than eager_limit() would be sent at once if the limit had been
 * raised. */
bool eager_limit_would_have_sent(uint64_t bytes);

/* The state of the limit, for the statistics. */
struct stats_eager eager_limit_state(void);

#endif
