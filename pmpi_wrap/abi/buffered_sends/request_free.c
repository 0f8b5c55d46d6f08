/* MPI_Request_free (MPI-4.0, 3.7.3). */
#include "pmpi_wrap/abi/buffered_sends/persistent.h"
#include "pmpi_wrap/abi/handlers.h"

int accel_Request_free(MPI_Request *request)
{
    struct persistent *p = persistent_find(request);
    if (p)
        persistent_free(p, request);
    return host.Request_free(request);
}
