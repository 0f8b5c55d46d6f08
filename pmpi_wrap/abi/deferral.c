#include "pmpi_wrap/abi/deferral.h"

#include "core/log.h"
#include "pmpi_wrap/host_wait.h"
#include "pmpi_wrap/quirks.h"

#include <unistd.h>

void note_deferred(enum call call, enum reason reason)
{
    if (host_wait_sleeps())
        host_wait_sending(-1);
    if (stats_defer(call, reason) == 1)
        log_message(2, "%s is left to the host: %s; %s", call_names[call], stats_reasons[reason],
                    stats_advice[reason]);
}

int report_on_comm(MPI_Comm comm, int error_class)
{
    host.Comm_call_errhandler(comm, error_class);
    return error_class;
}

int report_on_process(int error_class)
{
    int version, subversion;
    host.Get_version(&version, &subversion);
    bool self = version >= 4 && !quirk(QUIRK_ERRORS_GO_TO_WORLD);
    return report_on_comm(self ? MPI_COMM_SELF : MPI_COMM_WORLD, error_class);
}

COLD void abort_without_memory(const char *object)
{
    log_message(0, "no memory for %s, which other ranks count on: the job ends; lift `ulimit -v`",
                object);
    host.Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    _exit(1);
}
