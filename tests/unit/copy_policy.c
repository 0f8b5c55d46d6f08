/* The way of copying long data that follows from the measured costs: costs of real machines, and
 * ways that a setting or the OS rules out. */
#include "core/copy_policy.h"
#include "core/config.h"
#include "tests/unit/unit.h"

enum { CELLS, STREAMS = COPY_POLICY_NONTEMPORAL, BY_OS = COPY_POLICY_BY_OS };

/* ns for 64 KiB of fresh data, plus ns for 64 KiB of unchanged data in a stream. On the Xeons and
 * on "EPYC, no shared cache" they were measured when the cells of the sample were reused sooner. */
static const struct {
    const char *machine;
    struct copy_costs costs;
    uint32_t policy;
} models[] = {
    {"Xeon, L3 shared: the OS copies fast", {{13000, 17400, 11300}}, BY_OS},
    {"the same machine at another time", {{15600, 21800, 11400}}, BY_OS},
    {"the same machine while another program runs", {{181616, 240321, 253441}}, BY_OS},
    {"EPYC, L3 shared", {{5628, 12869, 13996}}, BY_OS},
    {"the same machine at another time", {{19730, 11507, 12593}}, BY_OS},
    {"the same machine, processors moved apart", {{64600, 14010, 21506}}, STREAMS | BY_OS},
    {"the same, and a rank had to be woken", {{35973, 23700, 18852}}, BY_OS},
    {"EPYC, no shared cache", {{76800, 13000, 25000}}, STREAMS},
    {"EPYC, no shared cache, the OS copies fast", {{76800, 13000, 14000}}, STREAMS | BY_OS},
    {"the OS takes four times as long as cells", {{9000, 19000, 37000}}, CELLS},
    {"the OS refuses", {{13000, 17400, 0}}, CELLS},
    {"the OS refuses, no shared cache", {{76800, 13000, 0}}, STREAMS},
    {"streaming gains too little to matter", {{30000, 13000, 100000}}, CELLS},
    {"cells gain too little to matter", {{13000, 17400, 38000}}, BY_OS},
    {"not measured", {{0, 0, 0}}, COPY_POLICY_DEFAULT},
};

START_TEST(each_machine_gets_its_fastest_way)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        INSIST(copy_policy(&models[i].costs) == models[i].policy, "%s", models[i].machine);
}
END_TEST

/* A machine that is twice as slow makes the same decision. */
START_TEST(only_ratios_matter)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (uint64_t times = 1; times < 3; times++) {
            struct copy_costs costs = models[i].costs;
            if (costs.ns[COPY_NONTEMPORAL] > COPY_PATIENCE_NS / 2)
                continue;
            for (unsigned way = 0; way < COPY_WAYS; way++)
                costs.ns[way] *= times;
            INSIST(copy_policy(&costs) == models[i].policy, "%s", models[i].machine);
        }
}
END_TEST

START_TEST(settings_override_the_measurement)
{
    enum { AS_MEASURED = 2 };
    for (uint32_t policy = 0; policy < 4; policy++)
        for (unsigned long stores = 0; stores <= AS_MEASURED; stores++)
            for (unsigned long by_os = 0; by_os <= AS_MEASURED; by_os++) {
                config.streaming_stores = stores;
                config.kernel_copies = by_os;
                uint32_t got = copy_policy_configured(policy);
                bool streams = stores == AS_MEASURED ? policy & STREAMS : stores;
                bool by_os_expected = by_os == AS_MEASURED ? policy & BY_OS : by_os;
                INSIST(got == ((streams ? STREAMS : 0) | (by_os_expected ? BY_OS : 0)),
                       "%u %lu %lu", policy, stores, by_os);
            }
}
END_TEST

/* MPIACCEL_COPIES decides where no old setting does. */
START_TEST(one_setting_chooses_the_way)
{
    enum { MEASURED = 4 };
    static const struct {
        enum copies_setting setting;
        uint32_t policy; /* or MEASURED */
        bool stores_measured, os, replaces;
    } rows[] = {{COPIES_auto, MEASURED, true, true, true},
                {COPIES_os, BY_OS, true, true, true},
                {COPIES_host, BY_OS, true, true, false},
                {COPIES_shared, 0, false, false, true},
                {COPIES_streaming, STREAMS, false, false, true}};
    config.streaming_stores = config.kernel_copies = 2;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t policy = 0; policy < 4; policy++) {
            config.copies = rows[i].setting;
            uint32_t expected = rows[i].policy == MEASURED ? policy
                                : rows[i].stores_measured  ? rows[i].policy | (policy & STREAMS)
                                                           : rows[i].policy;
            INSIST(copy_policy_configured(policy) == expected, "%zu %u", i, policy);
            INSIST(copy_policy_permits_os() == rows[i].os, "%zu", i);
            INSIST(copy_policy_replaces_host_copies() == rows[i].replaces, "%zu", i);
        }
    config.copies = COPIES_streaming;
    config.kernel_copies = 1;
    INSIST(copy_policy_configured(0) == (BY_OS | STREAMS), "an old setting has priority");
    INSIST(copy_policy_permits_os(), "an old setting has priority");
    config.copies = COPIES_os;
    config.cma = false;
    INSIST(!copy_policy_replaces_host_copies(), "an old setting has priority");
}
END_TEST

UNIT_MAIN(each_machine_gets_its_fastest_way, only_ratios_matter, settings_override_the_measurement,
          one_setting_chooses_the_way)
