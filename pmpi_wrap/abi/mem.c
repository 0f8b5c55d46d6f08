/* MPI_Alloc_mem and MPI_Free_mem (MPI-4.0, 9.2). */
#include "alloc/arena.h"
#include "alloc/node.h"
#include "core/config.h"
#include "pmpi_wrap/abi/abi.h"

#include <stdlib.h>

/* The alignment that the info asks for (MPI-4.0, 9.2); other keys and odd values are ignored. */
static COLD size_t alignment(MPI_Info info)
{
    char value[32];
    int flag;
    host.Info_get(info, "mpi_minimum_memory_alignment", sizeof value - 1, value, &flag);
    size_t align = flag ? strtoul(value, NULL, 10) : 0;
    bool power_of_two = align && !(align & (align - 1));
    return power_of_two ? align : ARENA_GRAIN;
}

static COLD int leave_to_host(MPI_Aint size, MPI_Info info, void *baseptr)
{
    enum reason reason = inside_host()   ? REASON_INSIDE
                         : !config.alloc ? REASON_OFF
                         : size < 0      ? REASON_ARGUMENTS
                         : !node.header  ? node.why_not
                                         : REASON_NO_MEMORY;
    if (reason == REASON_NO_MEMORY)
        say_once(
            1,
            "no room for %zd bytes in the shared heap: the host allocates, and windows over this "
            "memory are the host's; raise or unset MPIACCEL_HEAP_SIZE",
            (ssize_t)size);
    deferred(CALL_Alloc_mem, reason);
    return host.Alloc_mem(size, info, baseptr);
}

int accel_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    struct thread *thread = thread_self();
    void *at = NULL;
    if (LIKELY(size >= 0 && config.alloc && node.header && !thread->inside))
        at = arena_alloc((size_t)size, info == constants.info_null ? ARENA_GRAIN : alignment(info));
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
