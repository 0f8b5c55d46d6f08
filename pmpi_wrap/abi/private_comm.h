/* A communicator of this process alone, for the host's progress and for requests that are complete
 * from the start. Its error handler returns. */
#ifndef MPIACCEL_PRIVATE_COMM_H
#define MPIACCEL_PRIVATE_COMM_H

#include "pmpi_wrap/abi/host_api.h"

/* The tag of the receive that the host's progress tests. Other messages on the communicator use
 * other tags. */
enum { PRIVATE_COMM_PROGRESS_TAG };

/* Created by the first call. */
MPI_Comm private_comm(void);

/* For collective calls on it, which only one thread may make at a time. */
MPI_Comm private_comm_lock(void);
void private_comm_unlock(void);

/* One step of the host's progress engine (H9: host progress while waiting). */
void private_comm_progress(void);

/* Make a request of the host's that is complete (H23: the program passes it to the host's
 * MPI_Wait and so on). */
int complete_request(MPI_Request *request);

/* At MPI_Finalize. */
void private_comm_free(void);

#endif
