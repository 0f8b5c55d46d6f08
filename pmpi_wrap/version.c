/* mpiaccel_version(), the only exported function that no other library defines.
 * build/generated/version.h changes with each commit, so only this file, the command and the manual
 * include it. */
#include "version.h"
#include "include/mpiaccel/mpiaccel.h"
#include "pmpi_wrap/library_version.h"

const char library_version[] = MPIACCEL_VERSION;

__attribute__((visibility("default"))) const char *mpiaccel_version(void)
{
    return library_version;
}
