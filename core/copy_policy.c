#include "core/copy_policy.h"

#include "core/config.h"

enum { NEVER, ALWAYS }; /* of the settings; any other value: as measured */

/* Whether the OS takes at most so many percent of what cells take. */
static bool is_within(uint64_t by_os, uint64_t cells, uint64_t percent)
{
    return by_os && by_os * 100 <= cells * percent;
}

uint32_t copy_policy(const struct copy_costs *costs)
{
    uint64_t cached = costs->ns[COPY_CACHED], streamed = costs->ns[COPY_STREAMED];
    uint64_t by_os = costs->ns[COPY_BY_OS];
    bool streams = streamed * 100 < cached * COPY_STREAMED_MARGIN;
    uint64_t cells = streams ? streamed : cached;
    if (!cached || !streamed || cells > COPY_PATIENCE_NS)
        return COPY_POLICY_DEFAULT;
    return (streams ? COPY_POLICY_STREAMS : 0) |
           (is_within(by_os, cells, COPY_OS_MARGIN) ? COPY_POLICY_BY_OS : 0) |
           (is_within(by_os, cells, COPY_OS_ONE_WAY_MARGIN) ? COPY_POLICY_ONE_WAY_BY_OS : 0);
}

static uint32_t override(uint32_t policy, unsigned long setting, uint32_t bits)
{
    return setting == NEVER ? policy & ~bits : setting == ALWAYS ? policy | bits : policy;
}

uint32_t copy_policy_configured(uint32_t policy)
{
    policy = override(policy, config.streaming_stores, COPY_POLICY_STREAMS);
    return override(policy, config.kernel_copies, COPY_POLICY_BY_OS | COPY_POLICY_ONE_WAY_BY_OS);
}
