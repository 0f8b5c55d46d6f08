/* MPI_Alloc_mem and MPI_Free_mem (MPI-4.0, 9.2). */
#include "alloc/arena.h"
#include "alloc/node.h"
#include "core/config.h"
#include "pmpi_wrap/abi/abi.h"

#include <stdlib.h>

/* The alignment that the info asks for (MPI-4.0, 9.2); other keys and odd values are ignored. */
COLD size_t alignment_in(MPI_Info info)
{
    char value[32];
    int flag = 0;              /* stays so if the info is none */
    if (info == MPI_INFO_NULL) /* before MPI_Init, when `constants` does not know it */
        return ARENA_GRAIN;
    host.Info_get(info, "mpi_minimum_memory_alignment", sizeof value - 1, value, &flag);
    size_t align = flag ? strtoul(value, NULL, 10) : 0;
    bool power_of_two = align && !(align & (align - 1));
    return power_of_two ? align : ARENA_GRAIN;
}

static COLD int leave_to_host(MPI_Aint size, MPI_Info info, void *baseptr)
{
    enum reason reason = inside_host()          ? REASON_INSIDE
                         : !config.alloc        ? REASON_OFF
                         : size < 0 || !baseptr ? REASON_ARGUMENTS
                         : !node.header         ? node.why_not
                                                : REASON_NO_MEMORY;
    if (reason == REASON_NO_MEMORY)
        log_once(
            1,
            "no room for %zd bytes in the shared heap: the host allocates, and windows over this "
            "memory are the host's; raise or unset MPIACCEL_HEAP_SIZE",
            (ssize_t)size);
    deferred(CALL_Alloc_mem, reason);
    int result = host.Alloc_mem(size, info, baseptr);
    /* MPICH 4.0 takes the NULL of an allocation that failed for memory, and aligns it. */
    if (result == MPI_SUCCESS && size > 0 && *(uintptr_t *)baseptr <= alignment_of(info))
        return report_anywhere(MPI_ERR_NO_MEM);
    return result;
}

int accel_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    struct thread *thread = thread_self();
    void *at = NULL;
    if (LIKELY(size >= 0 && baseptr && config.alloc && node.header && !thread->inside))
        at = arena_alloc((size_t)size, alignment_of(info));
    if (UNLIKELY(!at))
        return leave_to_host(size, info, baseptr);
    *(void **)baseptr = at;
    thread_count(thread, CALL_Alloc_mem, (size_t)size);
    return MPI_SUCCESS;
}

int accel_Free_mem(void *base)
{
    switch (arena_free(base)) {
    case ARENA_FREED:
        thread_count(thread_self(), CALL_Free_mem, 0);
        return MPI_SUCCESS;
    case ARENA_BAD:
        return report_anywhere(MPI_ERR_BASE);
    default:
        deferred(CALL_Free_mem, REASON_HOST_MEMORY);
        return host.Free_mem(base);
    }
}
