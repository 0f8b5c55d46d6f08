#include "pmpi_wrap/calls.h"

const char *const call_names[CALL_COUNT + 1] = {
#define CALL(name, arguments)             [CALL_##name] = "MPI_" #name,
#define CALL4                             CALL
#define CALL41                            CALL
#define SESSION                           CALL
#define HOST                              CALL
#define SEND(name, arguments, rank, comm) CALL(name, arguments)
#include "pmpi_wrap/calls.def"
};
