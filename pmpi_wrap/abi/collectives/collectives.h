/* The collectives (MPI-4.0, chapter 6), as calls.c calls them.
 *
 * Whether a call is fast depends on its communicator, root and operation, and for user-defined
 * operations and reductions on intercommunicators also on the total number of bytes: all these are
 * equal on all ranks (H13: decisions from what is equal on all ranks). A call with wrong arguments
 * is left to the host, which reports the error.
 *
 * Every call on an intercommunicator with a team increments the operation number on all ranks, even
 * if the call is then left to the host. In a rooted call the ranks that pass MPI_PROC_NULL do
 * nothing else. They lack the arguments by which the other ranks decide, and under the host they
 * have nothing to do either. A gather or scatter of no elements with wrong arguments increments the
 * number too, since other ranks may have completed the call.
 *
 * There is one function for each kind of call. It returns the result of the call, or DEFERRED: then
 * it has touched nothing, has counted the deferral, and the caller calls the host.
 */
#ifndef MPIACCEL_COLLECTIVES_H
#define MPIACCEL_COLLECTIVES_H

#include "pmpi_wrap/abi/datatypes/typemap_of.h"
#include "pmpi_wrap/abi/deferral.h"

/* Call once, before the first collective. Asks the host which calls refuse aliased buffers.
 */
void collectives_open(void);

/* One block for every rank, in MPI's terms. */
struct rank_blocks {
    const void *address;
    MPI_Count count;           /* of each block */
    MPI_Datatype type;         /* of each block */
    const MPI_Datatype *types; /* instead of `type`; of MPI_Alltoallw */
    const void *counts;        /* instead of `count` */
    const void *displs;
    bool large_counts; /* `counts` and `displs` are MPI_Count and MPI_Aint, not int */
};

struct reduction {
    const void *from;
    void *to;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
};

/* Whether the host reports an error because operand and result, of `bytes` bytes, are the same
 * buffer. */
bool refuses_alias(enum call call, const struct reduction *r, size_t bytes);

int do_bcast(enum call call, struct data d, int root, MPI_Comm comm);
int do_gather(enum call call, struct data from, const struct rank_blocks *to, int root,
              MPI_Comm comm);
int do_scatter(enum call call, const struct rank_blocks *from, struct data to, int root,
               MPI_Comm comm);
int do_allgather(enum call call, struct data from, const struct rank_blocks *to, MPI_Comm comm);
int do_alltoall(enum call call, const struct rank_blocks *from, const struct rank_blocks *to,
                MPI_Comm comm);
int do_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm);
int do_allreduce(enum call call, const struct reduction *r, MPI_Comm comm);
int do_scan(enum call call, const struct reduction *r, bool exclusive, MPI_Comm comm);

/* `results`: how many elements of the result each rank gets. */
int do_reduce_scatter(enum call call, struct reduction r, struct rank_blocks results,
                      MPI_Comm comm);

#endif
