/* OpenSHMEM calls on the symmetric heap (alloc/symmetric.h).
 *
 * include/mpiaccel/shmem.h declares the calls for programs. Each is implemented here by a function
 * with the prefix accel_, to which pmpi_wrap/shmem_entry.c jumps. These files do not include
 * <mpi.h>: they call MPI through struct shmem_host. */
#ifndef MPIACCEL_SHMEM_SHMEM_H
#define MPIACCEL_SHMEM_SHMEM_H

#include "alloc/symmetric.h"
#include "core/copy.h"
#include "core/thread.h"
#include "include/mpiaccel/shmem.h"

#define CALL(name) __typeof__(name) accel_##name;
#include "shmem/calls.def"
#undef CALL

struct shmem_host {
    bool (*running)(void); /* between MPI_Init and MPI_Finalize */
    bool (*start)(int requested);
    void (*end)(void);
    void (*stop_all)(int status);
    int (*rank)(void), (*size)(void), (*thread_level)(void); /* level: SHMEM_THREAD_… */
};

/* Set before the first call, with MPIACCEL=0 too. NULL: the process has no supported MPI. */
extern const struct shmem_host *shmem_host;

/* The slow path of shmem_at(), for addresses that symmetric_at() does not find. Ends the job if
 * `pe` has no such memory, as a store to an unmapped address would: to continue would give a wrong
 * result. */
char *shmem_find(const void *address, size_t bytes, int pe, const char *call);

/* A program may poll with calls that never wait while a peer inside the host needs this rank. So
 * every CALLS_PER_CLOCK_READ calls the host gets progress if it is due. */
HOT_INLINE void shmem_count(void)
{
    struct thread *thread = thread_self();
    if (UNLIKELY(++thread->shmem_calls % CALLS_PER_CLOCK_READ == 0))
        sync_progress_if_due(&thread->progress);
}

/* The address in this process of [address, address + bytes) on `pe`. `call` is the name of the call
 * for the error message. */
HOT_INLINE char *shmem_at(const void *address, size_t bytes, int pe, const char *call)
{
    shmem_count();
    char *remote = symmetric_at(address, bytes, pe);
    return LIKELY(remote != NULL) ? remote : shmem_find(address, bytes, pe, call);
}

#endif
