#include "pmpi_wrap/abi/collectives/arguments.h"

#include "core/log.h"

COLD bool commit_unchecked(MPI_Datatype type)
{
    return quirk(QUIRK_IGNORES_UNCOMMITTED) && type != MPI_DATATYPE_NULL && BITS(type) &&
           !typemap_of(type) && !host.Type_commit(&type);
}

COLD bool commit_rooted(enum call call, bool is_root, MPI_Datatype own, MPI_Datatype all)
{
    bool receives_own = IS_CALL(call, Scatter) || IS_CALL(call, Scatterv);
    bool committed = receives_own && commit_unchecked(own);
    return (is_root && !IS_CALL(call, Scatterv) && commit_unchecked(all)) || committed;
}

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
