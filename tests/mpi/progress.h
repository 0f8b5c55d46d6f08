/* One rank is inside the plugin's fast calls while another waits for it inside the host (H9, H10):
 * a message that the host cannot deliver without its sender, or a collective operation of the
 * host's that the first rank has only begun. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "test.h"

enum { LARGE = 6 << 20 }; /* bytes: more than any host sends eagerly */

static char *large;

/* Begin, at the rank that then goes into fast calls, what the other needs to complete. */
static inline void progress_begin(int to, MPI_Request requests[2])
{
    MPI_Isend(large, LARGE, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
}

/* Complete it in the host, at the other ranks. Only then may they do what the first waits for. */
static inline void progress_complete(int from, int to)
{
    MPI_Request request;
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
