/* The job as the launcher describes it in the environment, before the host is initialised. */
#ifndef MPIACCEL_JOB_H
#define MPIACCEL_JOB_H

#include "core/base.h"

struct job {
    char key[160]; /* the same in all ranks of this job on this node, and in no other process */
    uint32_t local_size; /* ranks of the job on this node; 0: unknown */
};

/* Reads the environment of Open MPI's mpirun and other PMIx servers, of Hydra, and of Slurm. A
 * process that no launcher has started is a job of one rank. */
void job_read(struct job *job);

/* The number of tasks on node `node`, from Slurm's notation: "4(x2),3" stands for 4 tasks on each
 * of nodes 0 and 1, and 3 on node 2. 0: the text does not contain the node. */
uint32_t job_slurm_tasks(const char *tasks_per_node, unsigned long node);

#endif
