/* MPI_Start and MPI_Startall (MPI-4.0, 3.9). */
#include "pmpi_wrap/abi/buffered_sends/persistent.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/host_wait.h"

/* Wake all members that sleep, since the request does not show which of them receives. */
static int wake_receivers(int result)
{
    if (host_wait_sleeps())
        host_wait_sent_to(-1);
    return result;
}

static int start_message(enum call call, MPI_Request *request)
{
    struct persistent *p = persistent_find(request);
    return p ? persistent_start(call, p, request) : wake_receivers(host.Start(request));
}

int accel_Start(MPI_Request *request)
{
    return start_message(CALL_Start, request);
}

int accel_Startall(int count, MPI_Request requests[])
{
    bool any = false;
    if (persistent_exist())
        for (int i = 0; requests && i < count; i++)
            any |= persistent_find(&requests[i]) != NULL;
    if (!any)
        return wake_receivers(host.Startall(count, requests));
    int result = MPI_SUCCESS;
    for (int i = 0; i < count && result == MPI_SUCCESS; i++)
        result = start_message(CALL_Startall, &requests[i]);
    return result;
}
