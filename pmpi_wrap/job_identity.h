/* By what a person recognises a job: for the statistics. */
#ifndef MPIACCEL_JOB_IDENTITY_H
#define MPIACCEL_JOB_IDENTITY_H

#include "core/stats.h"

/* Call at the first MPI call: a program may overwrite its command line and its environment later,
 * as setproctitle() does. */
void job_identity_read(void);

/* Before the first job_identity_read(), everything in it is empty. */
const struct stats_identity *job_identity(void);

#endif
