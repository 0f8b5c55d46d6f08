#include "core/copy_policy.h"

#include "core/config.h"

enum { NEVER, ALWAYS }; /* of the settings; any other value: as measured */

uint32_t copy_policy(const struct copy_costs *costs)
{
    uint64_t cached = costs->ns[COPY_CACHED], streamed = costs->ns[COPY_NONTEMPORAL];
    uint64_t by_os = costs->ns[COPY_BY_OS];
    bool streams = streamed * 100 < cached * COPY_NONTEMPORAL_MARGIN;
    uint64_t cells = streams ? streamed : cached;
    if (!cached || !streamed || cells > COPY_PATIENCE_NS)
        return COPY_POLICY_DEFAULT;
    bool leaves = by_os && by_os * 100 <= cells * COPY_OS_MARGIN;
    return (streams ? COPY_POLICY_NONTEMPORAL : 0) | (leaves ? COPY_POLICY_BY_OS : 0);
}

static uint32_t override(uint32_t policy, unsigned long setting, uint32_t bit)
{
    return setting == NEVER ? policy & ~bit : setting == ALWAYS ? policy | bit : policy;
}

uint32_t copy_policy_configured(uint32_t policy)
{
    policy = override(policy, config.streaming_stores, COPY_POLICY_NONTEMPORAL);
    return override(policy, config.kernel_copies, COPY_POLICY_BY_OS);
}
