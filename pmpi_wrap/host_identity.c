#include "pmpi_wrap/host_identity.h"

#include <string.h>

struct stats_host host_identity = {"none", "", "none", ""};

static const struct host_name {
    const char *name;
    enum host_family family;
} names[] = {
    {"Open MPI", FAMILY_OPEN_MPI}, {"MPICH", FAMILY_MPICH},       {"Intel(R) MPI", FAMILY_MPICH},
    {"MVAPICH", FAMILY_MPICH},     {"ParaStation", FAMILY_MPICH},
};

/* The last name that the text contains: MVAPICH's contains MPICH too. NULL: none. */
static const struct host_name *find_name(const char *version)
{
    const struct host_name *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(version, names[i].name))
            found = &names[i];
    return found;
}

enum host_family host_family(const char *version)
{
    const struct host_name *found = find_name(version);
    return found ? found->family : FAMILY_UNKNOWN;
}

/* "Open MPI v4.1.4, package: ..." or "MPICH Version:\t4.0.2\n...": the first number is the
 * version. A library of neither name gets the name of its ABI. MPICH's text has a line "MPICH
 * Device:\tch4:ucx", too. */
void host_identify(const char *version, const char *abi)
{
    static char number[32], device[32];
    const char *line = strstr(version, "MPICH Device:");
    const struct host_name *found = find_name(version);
    sscanf(version + strcspn(version, "0123456789"), "%31[0-9A-Za-z.]", number);
    if (line)
        sscanf(line, "MPICH Device: %31s", device);
    host_identity = (struct stats_host){found ? found->name : abi, number, abi, device};
}
