/* The host's name, version and family, from the text of its MPI_Get_library_version. */
#ifndef MPIACCEL_HOST_IDENTITY_H
#define MPIACCEL_HOST_IDENTITY_H

#include "core/stats.h"

/* MPIs with the same origin, and so with the same quirks. */
enum host_family { FAMILY_UNKNOWN, FAMILY_OPEN_MPI, FAMILY_MPICH };

/* "none" until host_identify(). */
extern struct stats_host host_identity;

enum host_family host_family(const char *version);

/* `abi`: struct abi's name. */
void host_identify(const char *version, const char *abi);

#endif
