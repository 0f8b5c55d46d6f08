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
        log_message(0,
                    "%s: the OS cannot copy the buffer of another rank, which is in device memory "
                    "or in a process that has changed its user; set MPIACCEL_KERNEL_COPIES=0",
                    call_names[call]);
    return report_on_comm(comm, error & COLL_UNREACHABLE ? MPI_ERR_OTHER
                                : error & COLL_NO_MEMORY ? MPI_ERR_NO_MEM
                                                         : MPI_ERR_TRUNCATE);
}
