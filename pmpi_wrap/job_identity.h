/* The names of a job that its user recognises, for the statistics. */
#ifndef MPIACCEL_JOB_IDENTITY_H
#define MPIACCEL_JOB_IDENTITY_H

#include "core/stats.h"

/* Call at the first MPI call: a program may overwrite its command line and its environment later,
 * as setproctitle() does. */
void job_identity_read(void);

/* The identity of this job. Before the first job_identity_read(), all its texts are empty. */
const struct stats_identity *job_identity(void);

#endif
