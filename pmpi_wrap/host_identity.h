/* The host's name and version, from its MPI_Get_library_version. */
#ifndef MPIACCEL_HOST_IDENTITY_H
#define MPIACCEL_HOST_IDENTITY_H

#include "core/stats.h"

/* "none" until host_identify(). */
extern struct stats_host host_identity;

/* `version`: the text of MPI_Get_library_version; `abi`: struct abi's name. */
void host_identify(const char *version, const char *abi);

#endif
