/* The only exported function that neither MPI nor OpenSHMEM defines. */
#include "core/config.h"
#include "include/mpiaccel/mpiaccel.h"

__attribute__((visibility("default"))) const char *mpiaccel_version(void)
{
    return MPIACCEL_VERSION;
}
