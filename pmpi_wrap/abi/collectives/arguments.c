#include "pmpi_wrap/abi/collectives/arguments.h"

#include "core/log.h"

COLD int defer_call(enum call call, enum reason reason)
{
    note_deferred(call, reason);
    return DEFERRED;
}

COLD int report_coll_error(enum call call, MPI_Comm comm, enum coll_error error)
{
    if (error & COLL_UNREACHABLE)
        log_message(0, "%s: another rank has ended, so its data cannot be copied",
                    call_names[call]);
    return report_on_comm(comm, error & COLL_UNREACHABLE ? MPI_ERR_OTHER
                                : error & COLL_NO_MEMORY ? MPI_ERR_NO_MEM
                                                         : MPI_ERR_TRUNCATE);
}
