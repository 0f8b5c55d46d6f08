#include "core/copy_policy.h"

#include "core/config.h"

enum { NEVER, ALWAYS, AS_MEASURED };

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

/* What MPIACCEL_COPIES decides. */
static const struct {
    unsigned long by_os, nontemporal;
} choices[] = {
    [COPIES_auto] = {AS_MEASURED, AS_MEASURED}, [COPIES_os] = {ALWAYS, AS_MEASURED},
    [COPIES_host] = {ALWAYS, AS_MEASURED},      [COPIES_shared] = {NEVER, NEVER},
    [COPIES_streaming] = {NEVER, ALWAYS},
};

static unsigned long by_os(void)
{
    return config.kernel_copies <= ALWAYS ? config.kernel_copies : choices[config.copies].by_os;
}

static unsigned long nontemporal(void)
{
    return config.streaming_stores <= ALWAYS ? config.streaming_stores
                                             : choices[config.copies].nontemporal;
}

bool copy_policy_permits_os(void)
{
    return by_os() != NEVER;
}

bool copy_policy_replaces_host_copies(void)
{
    return config.cma && config.copies != COPIES_host;
}

static uint32_t override(uint32_t policy, unsigned long choice, uint32_t bit)
{
    return choice == NEVER ? policy & ~bit : choice == ALWAYS ? policy | bit : policy;
}

uint32_t copy_policy_configured(uint32_t policy)
{
    policy = override(policy, nontemporal(), COPY_POLICY_NONTEMPORAL);
    return override(policy, by_os(), COPY_POLICY_BY_OS);
}
