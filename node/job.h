/* The job as its launcher describes it in the environment, before the host is initialised.
 *
 * A process inherits the variables of every launcher around it: of the mpirun of another MPI that
 * has started the script that called the mpirun of this one, or of Slurm. So the existence of a
 * variable does not prove that its launcher has started this process. job_read() therefore follows
 * the host's own choice:
 *
 *   Open MPI              PMIx. Without it, the PMI of Slurm (only 4.1 supports it).
 *   MPICH                 PMI: the socket PMI_FD, otherwise the address PMI_PORT.
 *   MPICH with PMIx       the same; if there is neither, or MPIR_CVAR_PMI_VERSION=x, PMIx.
 *
 * The number of local ranks comes from the launcher that also provides the key. Even so, a host may
 * find that it is not part of the job (a program that was started without a launcher inside a rank
 * of another job). rendezvous_settle() compares the description with the host's MPI_COMM_WORLD.
 */
#ifndef MPIACCEL_JOB_H
#define MPIACCEL_JOB_H

#include "core/base.h"

enum job_host { JOB_HOST_OPEN_MPI, JOB_HOST_MPICH, JOB_HOST_MPICH_PMIX };

struct job {
    char key[400]; /* the same in all ranks of this job on this node, and in no other process */
    uint32_t local_size; /* ranks of the job on this node; 0: unknown */
    int rank;            /* in MPI_COMM_WORLD; -1: unknown */
};

/* Read the job from the environment. A process that no launcher has started is a job of one rank,
 * with an empty key. */
void job_read(struct job *job, enum job_host host);

/* The largest number of local ranks in the variables of any launcher; 1 if there is none. Allocates
 * nothing. */
uint32_t job_most_local_ranks(void);

/* Hash a key, which may be longer than the name of a socket (FNV-1a). */
uint64_t job_hash(const char *text);

/* The number of tasks on node `node`, from Slurm's notation: "4(x2),3" stands for 4 tasks on each
 * of nodes 0 and 1, and 3 on node 2. 0: the text does not contain the node. */
uint32_t job_slurm_tasks(const char *tasks_per_node, unsigned long node);

#endif
