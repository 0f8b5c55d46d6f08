/* MPI_Alloc_mem and MPI_Free_mem (MPI-4.0, 9.2). */
#include "core/config.h"
#include "core/log.h"
#include "node/node.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/life_cycle/init_finalize.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/abi/memory/alignment.h"
#include "pmpi_wrap/host.h"

/* The only rank of a node shares memory with nobody, and windows of one rank take any memory. The
 * host's memory may have huge pages, or be registered with the network. But operations of a rank on
 * itself in a window that spans nodes need the shared heap. */
static inline bool uses_heap(void)
{
    return node.header && (node.size > 1 || config.nodes);
}

static COLD int leave_to_host(MPI_Aint size, MPI_Info info, void *baseptr)
{
    enum reason reason = inside_host()          ? REASON_INSIDE
                         : !config.alloc        ? REASON_OFF
                         : size < 0 || !baseptr ? REASON_ARGUMENTS
                         : !node.header         ? node.why_not
                         : !uses_heap()         ? REASON_ALONE
                                                : REASON_NO_MEMORY;
    if (reason == REASON_NO_MEMORY)
        log_once(
            1,
            "no room for %zd bytes in the shared heap: the host allocates, and windows over this "
            "memory are the host's; raise or unset MPIACCEL_HEAP_SIZE",
            (ssize_t)size);
    note_deferred(CALL_Alloc_mem, reason);
    int result = host.Alloc_mem(size, info, baseptr), ignored;
    /* MPICH 4.0 does not check the NULL of a failed allocation, and aligns it. MPICH 5.0 returns
     * MPI_SUCCESS for invalid arguments, too, if the program has an error handler. */
    if (result == MPI_SUCCESS && size > 0 && baseptr &&
        *(uintptr_t *)baseptr <= alignment_of(info, &ignored))
        return report_on_process(MPI_ERR_NO_MEM);
    return result;
}

/* Allocate before the ranks of the node have met. */
static COLD void *alloc_early(MPI_Aint size, MPI_Info info, const void *baseptr, int *error)
{
    bool possible = size >= 0 && baseptr && config.alloc && !node.header && !inside_host() &&
                    host_is_in_use() && !node_setup_is_over();
    return possible ? arena_early_alloc((size_t)size, alignment_of(info, error)) : NULL;
}

/* Free the block of a call whose info is invalid. Returns `error`. */
static COLD int discard_block(void *memory, int error)
{
    arena_free(memory);
    arena_early_free(memory);
    return error;
}

int accel_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    struct thread *thread = thread_self();
    void *memory;
    int error = MPI_SUCCESS;
    if (LIKELY(size >= 0 && baseptr && config.alloc && uses_heap() && !thread->inside))
        memory = arena_alloc((size_t)size, alignment_of(info, &error));
    else
        memory = alloc_early(size, info, baseptr, &error);
    if (UNLIKELY(error != MPI_SUCCESS))
        return discard_block(memory, error);
    if (UNLIKELY(!memory))
        return leave_to_host(size, info, baseptr);
    *(void **)baseptr = memory;
    thread_count(thread, CALL_Alloc_mem, (size_t)size);
    return MPI_SUCCESS;
}

/* Do not pass memory of this library to a host that does not check whether it has been finalized.
 */
static COLD int free_when_finalized(void *base)
{
    return host.Free_mem(arena_free(base) == ARENA_FOREIGN ? base : NULL);
}

int accel_Free_mem(void *base)
{
    if (UNLIKELY(host_has_ended())) /* an error, which the host reports */
        return free_when_finalized(base);
    enum arena_answer answer = arena_free(base);
    if (answer == ARENA_FOREIGN)
        answer = arena_early_free(base);
    switch (answer) {
    case ARENA_FREED:
        thread_count(thread_self(), CALL_Free_mem, 0);
        return MPI_SUCCESS;
    case ARENA_BAD:
        return report_on_process(MPI_ERR_BASE);
    default:
        note_deferred(CALL_Free_mem, REASON_HOST_MEMORY);
        return host.Free_mem(base);
    }
}
