/* Differences between hosts that need different code: bugs, limits, and choices that the standard
 * leaves open.
 *
 * quirks.def lists them by host and version. A host has the same quirks under its own
 * ABI and under the standard ABI. The list is evaluated once, when the first MPI call finds the
 * host, for the version of the host in this process: a library that was built against one release
 * may run on another.
 */
#ifndef MPIACCEL_QUIRKS_H
#define MPIACCEL_QUIRKS_H

#include "pmpi_wrap/calls.h"
#include "pmpi_wrap/host_identity.h"

enum quirk {
#define QUIRK(name, family, first, last, value) QUIRK_##name,
#include "pmpi_wrap/quirks.def"
    QUIRK_COUNT
};

/* By enum quirk: 0 if the host does not have it, 1 if it does, or its value. */
extern uint32_t quirks[QUIRK_COUNT] HIDDEN;

static inline uint32_t quirk(enum quirk quirk)
{
    return quirks[quirk];
}

#define VERSION(major, minor, patch) ((uint32_t)(major) << 16 | (minor) << 8 | (patch))
#define VERSION_FIRST                0
#define VERSION_LAST                 UINT32_MAX

/* "4.1.4", "6.0.0rc2", "2021.10" as VERSION(); missing numbers are 0. */
uint32_t quirks_version(const char *text);

/* Set `quirks` for a host. */
void quirks_open(enum host_family family, const char *version);

#endif
