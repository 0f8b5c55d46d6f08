/* The one function of our own that the library shows. */
#include "core/config.h"
#include "include/mpiaccel/mpiaccel.h"

__attribute__((visibility("default"))) const char *mpiaccel_version(void)
{
    return MPIACCEL_VERSION;
}
