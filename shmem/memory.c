/* Set-up, queries, memory management and ordering (OpenSHMEM 1.5, 9.1 to 9.3 and 9.10 to 9.11). */
#include "shmem/shmem.h"

#include "alloc/arena.h"
#include "core/config.h"
#include "core/log.h"
#include "core/sync.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct shmem_host *shmem_host;

__attribute__((visibility("default"))) long mpiaccel_malloc_error;

static bool started_mpi, finished;

_Static_assert((int)SYMMETRIC_NO_ROOM == (int)MPIACCEL_MALLOC_NO_ROOM &&
                   (int)SYMMETRIC_NOT_HERE == (int)MPIACCEL_MALLOC_NOT_HERE,
               "the errors have the same numbers");

/* ---- whether there is a symmetric heap ---- */

#define SWITCHED_OFF "MPIACCEL=0 switches the library off"

/* Log each reason once. */
static void log_reason(enum reason why)
{
    static _Atomic bool logged[REASON_COUNT];
    if (atomic_exchange(&logged[why], true))
        return;
    if (why == REASON_ONE_NODE_ONLY)
        log_message(
            0,
            "no symmetric heap: the ranks of MPI_COMM_WORLD are on several nodes; OpenSHMEM calls "
            "work within one node only");
    else
        log_message(0, "no symmetric heap: %s; %s", stats_reasons[why], stats_advice[why]);
}

/* The first call that opens the heap is collective. */
static COLD bool open_now(void)
{
    if (!shmem_host) {
        log_once(0, "no symmetric heap: no known MPI is in this process; link the program with "
                    "mpicc");
        return false;
    }
    if (!config.enabled) {
        log_once(0, "no symmetric heap: " SWITCHED_OFF "; unset MPIACCEL");
        return false;
    }
    enum reason why =
        shmem_host->running() && !finished ? symmetric_open() : REASON_NOT_INITIALISED;
    if (why != REASON_NONE)
        log_reason(why);
    return why == REASON_NONE;
}

static inline bool ready(void)
{
    return LIKELY(symmetric.size) || open_now();
}

enum { OUTPUT_DELAY_NS = 100 * 1000 * 1000 };

/* Wait before ending the job, because Hydra drops output that a rank writes just before MPI_Abort.
 * A forked child must not end the job of its parent; with MPIACCEL=0 `node.forked` is not set. */
static COLD void stop_job(void)
{
    bool forked = node.forked || config_process != getpid();
    if (forked || !shmem_host || !shmem_host->running())
        return;
    struct sync_wait wait = SYNC_WAIT;
    for (uint64_t end = sync_now_ns() + OUTPUT_DELAY_NS; sync_now_ns() < end;)
        sync_pause(&wait);
    shmem_host->stop_all(1);
}

static const char *why_no_heap(void)
{
    return node.forked       ? "a forked child is not a PE"
           : finished        ? "shmem_finalize() has been called"
           : !config.enabled ? SWITCHED_OFF
                             : "call shmem_init() first";
}

COLD char *shmem_find(const void *address, size_t bytes, int pe, const char *call)
{
    char *remote = symmetric_find(address, bytes, pe);
    if (remote || !bytes)
        return remote;
    if (!symmetric.size)
        log_message(0, "%s: there is no symmetric heap: %s", call, why_no_heap());
    else if ((uint32_t)pe >= symmetric.pes)
        log_message(0, "%s: there is no PE %d", call, pe);
    else
        log_message(0, "%s: %zu bytes at %p are not in the symmetric heap", call, bytes, address);
    stop_job();
    abort();
}

/* ---- set-up ---- */

int accel_shmem_init_thread(int requested, int *provided)
{
    if (shmem_host && !shmem_host->running() && !finished)
        started_mpi = shmem_host->start(requested);
    if (!ready()) {
        stop_job();
        exit(1);
    }
    symmetric_barrier();
    *provided = shmem_host->thread_level();
    return 0;
}

void accel_shmem_init(void)
{
    int provided;
    accel_shmem_init_thread(SHMEM_THREAD_SINGLE, &provided);
}

void accel_shmem_query_thread(int *provided)
{
    *provided =
        shmem_host && shmem_host->running() ? shmem_host->thread_level() : SHMEM_THREAD_SINGLE;
}

/* Finalize MPI if shmem_init() has initialized it. */
void accel_shmem_finalize(void)
{
    if (!shmem_host || !shmem_host->running() || finished)
        return;
    if (symmetric.size)
        symmetric_barrier();
    finished = true;
    symmetric_close();
    if (started_mpi)
        shmem_host->end();
}

void accel_shmem_global_exit(int status)
{
    if (shmem_host && shmem_host->running())
        shmem_host->stop_all(status);
    exit(status);
}

void accel_shmem_info_get_version(int *major, int *minor)
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

void accel_shmem_info_get_name(char *name)
{
    memcpy(name, SHMEM_VENDOR_STRING, sizeof SHMEM_VENDOR_STRING);
}

/* ---- queries ---- */

int accel_shmem_my_pe(void)
{
    if (LIKELY(symmetric.size))
        return (int)symmetric.me;
    return shmem_host && shmem_host->running() ? shmem_host->rank() : -1;
}

int accel_shmem_n_pes(void)
{
    if (LIKELY(symmetric.size))
        return (int)symmetric.pes;
    return shmem_host && shmem_host->running() ? shmem_host->size() : -1;
}

void *accel_shmem_ptr(const void *address, int pe)
{
    return symmetric_find(address, 1, pe);
}

int accel_shmem_addr_accessible(const void *address, int pe)
{
    return symmetric_find(address, 1, pe) != NULL;
}

int accel_shmem_pe_accessible(int pe)
{
    return (uint32_t)pe < symmetric.pes;
}

/* ---- the heap ---- */

static void *allocate_symmetric(size_t size, size_t align)
{
    enum symmetric_error error = SYMMETRIC_NOT_HERE;
    void *block = ready() ? symmetric_alloc(size, align, &error) : NULL;
    mpiaccel_malloc_error = error;
    return block;
}

void *accel_shmem_malloc(size_t size)
{
    return allocate_symmetric(size, ARENA_GRAIN);
}

/* The hints change nothing: all memory supports atomics and signals. */
void *accel_shmem_malloc_with_hints(size_t size, long hints)
{
    (void)hints;
    return allocate_symmetric(size, ARENA_GRAIN);
}

void *accel_shmem_calloc(size_t count, size_t size)
{
    enum symmetric_error error = SYMMETRIC_NOT_HERE;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    void *block = ready() ? symmetric_alloc_zeroed(bytes, &error) : NULL;
    mpiaccel_malloc_error = error;
    return block;
}

void *accel_shmem_align(size_t alignment, size_t size)
{
    return allocate_symmetric(size, alignment);
}

void *accel_shmem_realloc(void *block, size_t size)
{
    enum symmetric_error error = SYMMETRIC_NOT_HERE;
    void *resized = ready() ? symmetric_resize(block, size, &error) : NULL;
    mpiaccel_malloc_error = error;
    return resized;
}

void accel_shmem_free(void *block)
{
    mpiaccel_malloc_error = ready() ? symmetric_free(block) : SYMMETRIC_NOT_HERE;
}

/* The older names. */
#define SAME_AS(name) __attribute__((alias("accel_" #name)))
void *accel_shmalloc(size_t size) SAME_AS(shmem_malloc);
void *accel_shmemalign(size_t alignment, size_t size) SAME_AS(shmem_align);
void *accel_shrealloc(void *block, size_t size) SAME_AS(shmem_realloc);
void accel_shfree(void *block) SAME_AS(shmem_free);

/* ---- ordering ---- */

void accel_shmem_barrier_all(void)
{
    if (ready())
        symmetric_barrier();
}

void accel_shmem_sync_all(void)
{
    accel_shmem_barrier_all();
}

void accel_shmem_quiet(void)
{
    symmetric_quiet();
}

/* Order puts, which are complete when they return, before later puts for ranks that read both. */
void accel_shmem_fence(void)
{
    sync_store_fence(); /* also stores of the program to addresses from shmem_ptr() */
    atomic_thread_fence(memory_order_acq_rel);
}
