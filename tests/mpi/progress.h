/* One rank waits in accelerated calls while another needs it inside the host (H9: host progress
 * while waiting; H10: host progress while polling): for a message that the host cannot deliver
 * without its sender, or for a host collective that the first rank has only started. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "test.h"

#include <unistd.h>

enum { LARGE = 6 << 20 }; /* bytes; more than any host sends eagerly */

static char *large;

/* Call on the rank that then enters accelerated calls: starts what the other ranks have to
 * complete. */
static inline void progress_begin(int to, MPI_Request requests[2])
{
    MPI_Isend(large, LARGE, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
}

/* Call on the other ranks: completes that in the host. Only then may they do what the first rank
 * waits for.
 */
static inline void progress_complete(int from, int to)
{
    MPI_Request request;
    usleep(20000); /* the first rank is in its accelerated calls by now */
    if (test_rank == to) {
        memset(large, 0, LARGE);
        MPI_Recv(large, LARGE, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(large[0] == 1 && large[LARGE / 2] == 1 && large[LARGE - 1] == 1);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static inline void progress_end(MPI_Request requests[2])
{
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

#endif
