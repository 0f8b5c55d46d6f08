/* What the launcher says about the job, before the host is initialised. */
#ifndef MPIACCEL_JOB_H
#define MPIACCEL_JOB_H

#include "core/base.h"

struct job {
    char key[160];       /* equal on the ranks of this job on this node, and on no other process */
    uint32_t local_size; /* ranks of the job on this node; 0: not known */
};

/* From the environment of Open MPI's mpirun and other PMIx servers, Hydra, and Slurm. A process
 * that no launcher started is a job of one. */
void job_read(struct job *job);

/* Tasks on node `node` by Slurm's notation, "4(x2),3": 4 on nodes 0 and 1, 3 on node 2. 0: none. */
uint32_t job_slurm_tasks(const char *tasks_per_node, unsigned long node);

#endif
