#include "pmpi_wrap/abi/datatypes/typemap_of.h"

#include "pmpi_wrap/abi/datatypes/derived.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/abi/private_comm.h"

#include <errno.h>

/* The host refuses to send with a datatype that is not committed. The message has one element,
 * because MPICH accepts any datatype with none; it is not read, since it goes to MPI_PROC_NULL. */
static bool is_committed(MPI_Datatype type)
{
    char unread;
    return !host.Send(&unread, 1, type, MPI_PROC_NULL, 0, private_comm());
}

/* Before the node has settled, the predefined datatypes are not registered, and typemaps that refer
 * to them cannot be made. */
COLD const struct typemap *typemap_of_unregistered(MPI_Datatype type)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    if (!node_setup_is_over() || type == MPI_DATATYPE_NULL || !BITS(type) || !is_committed(type))
        return NULL;
    pthread_mutex_lock(&mutex);
    const struct typemap *map = typemap_find_or_decode(type);
    pthread_mutex_unlock(&mutex);
    /* Not under the mutex, which a delete function of the program may need while the host holds a
     * lock on all attributes. */
    if (map && map->base != BITS(type) && !registry_is_removing(&datatype_registry, BITS(type)))
        free_notice_type(type);
    return map;
}

COLD const struct typemap *typemap_of_unregistered_or_abort(MPI_Datatype type)
{
    errno = 0;
    const struct typemap *map = typemap_of_unregistered(type);
    if (!map && errno == ENOMEM)
        abort_without_memory("a datatype");
    return map;
}
