#include "pmpi_wrap/abi/private_comm.h"

#include <pthread.h>

static MPI_Comm comm;
static MPI_Request unmatched; /* a receive on `comm` that no message matches */
static _Atomic bool exists;

static void create(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (!atomic_load(&exists)) {
        enter_host();
        /* MPI_Comm_dup would copy, and later delete, the program's attributes. */
        host.Comm_split(MPI_COMM_SELF, 0, 0, &comm);
        host.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        host.Irecv(NULL, 0, constants.byte, 0, PRIVATE_COMM_PROGRESS_TAG, comm, &unmatched);
        leave_host();
        /* Release: a thread that finds the communicator finds its receive. */
        atomic_store_explicit(&exists, true, memory_order_release);
    }
    pthread_mutex_unlock(&mutex);
}

MPI_Comm private_comm(void)
{
    if (UNLIKELY(!atomic_load_explicit(&exists, memory_order_acquire)))
        create();
    return comm;
}

static pthread_mutex_t collective_calls = PTHREAD_MUTEX_INITIALIZER;

MPI_Comm private_comm_lock(void)
{
    private_comm();
    pthread_mutex_lock(&collective_calls);
    return comm;
}

void private_comm_unlock(void)
{
    pthread_mutex_unlock(&collective_calls);
}

/* Testing the receive makes the host's progress. A probe does not: MPICH 4.0 answers it at once on
 * a communicator of one process. */
void private_comm_progress(void)
{
    int flag;
    private_comm();
    host.Request_get_status(unmatched, &flag, MPI_STATUS_IGNORE);
}

int complete_request(MPI_Request *request)
{
    return host.Isend(NULL, 0, constants.byte, MPI_PROC_NULL, 0, private_comm(), request);
}

void private_comm_free(void)
{
    if (!atomic_load(&exists))
        return;
    atomic_store(&exists, false);
    host.Cancel(&unmatched);
    host.Wait(&unmatched, MPI_STATUS_IGNORE);
    host.Comm_free(&comm);
}
