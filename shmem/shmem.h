/* OpenSHMEM's calls over the symmetric heap (alloc/symmetric.h). What programs call is declared in
 * include/mpiaccel/shmem.h; here each has the prefix accel_, and pmpi_wrap/shmem_entry.c leads
 * there. These files know no MPI: what they need of it comes through struct shmem_host. */
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
    int (*rank)(void), (*size)(void), (*thread_level)(void); /* levels are SHMEM_THREAD_… */
};

/* NULL: no MPI that we know. Set before the first call. */
extern const struct shmem_host *shmem_host;

/* The way of addresses that symmetric_at() does not know. Ends the job if there is no such memory,
 * as a store into nowhere would: silence would be a wrong result. */
char *shmem_find(const void *at, size_t bytes, int pe, const char *call);

/* Who polls by calls that never wait must give the host its progress (H10). */
HOT_INLINE void shmem_count(void)
{
    struct thread *thread = thread_self();
    if (UNLIKELY(++thread->shmem_calls % CALLS_PER_CLOCK_READ == 0))
        sync_progress_if_due(&thread->next_progress);
}

/* Where [at, at + bytes) is on `pe`; `call` is for the message if it is nowhere. */
HOT_INLINE char *shmem_at(const void *at, size_t bytes, int pe, const char *call)
{
    shmem_count();
    char *there = symmetric_at(at, bytes, pe);
    return LIKELY(there != NULL) ? there : shmem_find(at, bytes, pe, call);
}

#endif
