#include "pmpi_wrap/quirks.h"

#include <stdio.h>
#include <string.h>

uint32_t quirks[QUIRK_COUNT];

static unsigned at_most(unsigned number, unsigned limit)
{
    return number < limit ? number : limit;
}

uint32_t quirks_version(const char *text)
{
    unsigned major = 0, minor = 0, patch = 0;
    sscanf(text, "%u.%u.%u", &major, &minor, &patch);
    return VERSION(at_most(major, UINT16_MAX), at_most(minor, UINT8_MAX),
                   at_most(patch, UINT8_MAX));
}

static bool is_in_range(uint32_t version, uint32_t first, uint32_t last)
{
    return version >= first && version <= last;
}

void quirks_open(enum host_family family, const char *text)
{
    uint32_t version = quirks_version(text);
    memset(quirks, 0, sizeof quirks);
#define QUIRK(name, of, first, last, value)                         \
    if (family == FAMILY_##of && is_in_range(version, first, last)) \
        quirks[QUIRK_##name] = value;
#define QUIRK_ALSO QUIRK
#include "pmpi_wrap/quirks.def"
}
