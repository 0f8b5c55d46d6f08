#include "pmpi_wrap/abi/collectives/arguments.h"

COLD int defer_call(enum call call, enum reason reason)
{
    note_deferred(call, reason);
    return DEFERRED;
}
