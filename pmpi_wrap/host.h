/* The host: the MPI library in this process, and the handlers compiled for its ABI. */
#ifndef MPIACCEL_HOST_H
#define MPIACCEL_HOST_H

#include "node/job.h"
#include "pmpi_wrap/abi.h"

/* The tables through which the exported calls jump, by enum call. */
struct dispatch_tables {
    mpi_fn **mpi, **pmpi; /* targets of MPI_X and PMPI_X */
    mpi_fn **onward;      /* the next definition of the call: a tool's, or the host's */

    /* Counts or announces a call, and goes `onward`. NULL: the call has a handler, or is
     * intercepted only for the statistics. */
    mpi_fn *(*forwarder_of)(enum call call);

    /* Records a call, and calls its handler or forwarder, or goes `onward`. */
    mpi_fn *(*recorder_of)(enum call call);

    /* Goes `onward`, and then calls dispatch_close(); for calls that finalize a host of which
     * nothing is accelerated. NULL: for all other calls. */
    mpi_fn *(*closer_of)(enum call call);
};

/* Find the host, read the settings, and fill the tables. False: no MPI is loaded, and the tables
 * are unchanged. Called until it returns true, by one thread at a time. */
bool host_open(const struct dispatch_tables *tables);

/* Call when the host has been finalized. Keeps no reference to it, so that it can be unloaded.
 * After the next host_open(), if it finds the same host, all calls go to that host, except those
 * that initialize it again. */
void host_close(void);

/* Call when the same host is being initialized again. From then on all calls go to their
 * handlers. */
void host_restart(const struct dispatch_tables *tables);

/* Whether the host has been finalized, and not initialized again. */
bool host_has_ended(void);

/* Whether the host is another one than before host_close(), even if it is a copy of the same file:
 * handles and addresses of the one before are invalid. */
bool host_was_reloaded(void);

/* Target of a call for which there is no function. */
long host_missing(void);

/* The ABI of the host. Call after host_open(). NULL: there is no known host, or MPIACCEL is 0. */
const struct abi *host_abi(void);

/* MPI as the OpenSHMEM calls need it, with MPIACCEL=0 too. Call after host_open(). NULL: there is
 * no known host. */
const struct shmem_host *host_shmem(void);

/* Read the job of this process, from the launcher that the host asks. */
void host_job(struct job *job);

#endif
