/* The version of the library, and the one exported function of its own. build/version.h changes
 * with each commit, so only this file, the command and the manual include it. */
#include "version.h"
#include "include/mpiaccel/mpiaccel.h"
#include "pmpi_wrap/host.h"

const char library_version[] = MPIACCEL_VERSION;

__attribute__((visibility("default"))) const char *mpiaccel_version(void)
{
    return library_version;
}
