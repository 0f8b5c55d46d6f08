#include "pmpi_wrap/host_identity.h"

#include <string.h>

struct stats_host host_identity = {"none", "", "none"};

/* "Open MPI v4.1.4, package: ..." or "MPICH Version:\t4.0.2\n...": the first number is the
 * version. A library of neither name gets the name of its ABI. */
void host_identify(const char *version, const char *abi)
{
    static char name[32], number[32];
    static const char *const known[] = {"Open MPI", "MPICH", "Intel(R) MPI", "MVAPICH"};
    sscanf(version + strcspn(version, "0123456789"), "%31[0-9A-Za-z.]", number);
    snprintf(name, sizeof name, "%s", abi);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(version, known[i]))
            snprintf(name, sizeof name, "%s", known[i]);
    host_identity = (struct stats_host){name, number, abi};
}
