/* The collectives (MPI-4.0, chapter 6): translate, ask, do or defer.
 *
 * Whether a call is fast depends on the communicator, on root and operation, and for operations of
 * the user's on the bytes in all: equal on all ranks (H13). Arguments that are wrong go to the
 * host, which reports them as it does.
 *
 * One function for each shape of call does it and returns what the call returns, or DEFERRED: then
 * nothing has been touched.
 */
#ifndef MPIACCEL_ABI_COLL_H
#define MPIACCEL_ABI_COLL_H

#include "pmpi_wrap/abi/communicators/team_setup.h"

enum { DEFERRED = -1 };

/* Some of a rank's data, in the host's terms. */
struct data {
    const void *at;
    MPI_Count count;
    MPI_Datatype type;
};

/* A block for every rank. */
struct all {
    const void *at;
    MPI_Count count;
    MPI_Datatype type;
    const MPI_Datatype *types; /* of the w kind */
    const void *counts, *displs;
    bool wide;
};

/* What is combined, from where to where. */
struct reduction {
    const void *from;
    void *to;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
};

int do_bcast(enum call call, struct data d, int root, MPI_Comm comm);
int do_gather(enum call call, struct data from, const struct all *to, int root, MPI_Comm comm);
int do_scatter(enum call call, const struct all *from, struct data to, int root, MPI_Comm comm);
int do_allgather(enum call call, struct data from, const struct all *to, MPI_Comm comm);
int do_alltoall(enum call call, const struct all *from, const struct all *to, MPI_Comm comm);
int do_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm);
int do_allreduce(enum call call, const struct reduction *r, MPI_Comm comm);
int do_scan(enum call call, const struct reduction *r, bool exclusive, MPI_Comm comm);
int do_reduce_scatter(enum call call, struct reduction r, struct all shares, MPI_Comm comm);

#endif
