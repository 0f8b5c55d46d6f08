#include "core/copy_policy.h"

#include "core/config.h"

enum { NEVER, ALWAYS }; /* values of the settings; any other value: as measured */

uint32_t copy_policy(const struct copy_costs *costs)
{
    uint64_t cached_ns = costs->ns[COPY_CACHED], nontemporal_ns = costs->ns[COPY_NONTEMPORAL];
    uint64_t os_ns = costs->ns[COPY_BY_OS];
    bool nontemporal = nontemporal_ns * 100 < cached_ns * COPY_NONTEMPORAL_MARGIN;
    uint64_t cells_ns = nontemporal ? nontemporal_ns : cached_ns;
    if (!cached_ns || !nontemporal_ns || cells_ns > COPY_PATIENCE_NS)
        return COPY_POLICY_DEFAULT;
    uint64_t margin = nontemporal ? COPY_OS_MARGIN_NONTEMPORAL : COPY_OS_MARGIN;
    bool os_wins = os_ns && os_ns * 100 <= cells_ns * margin;
    return (nontemporal ? COPY_POLICY_NONTEMPORAL : 0) | (os_wins ? COPY_POLICY_BY_OS : 0);
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
