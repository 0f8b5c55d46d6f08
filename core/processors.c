#include "core/processors.h"

#include "core/cgroup.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the limit of a cgroup ---- */

/* The limit of a cgroup in thousandths of a processor; 0: none. The two versions of cgroups keep
 * the processor time and the period to which it applies in different files. If there is no limit,
 * the file has "max" or -1. */
static uint32_t limit_in(const struct cgroup *cgroup)
{
    long n[2];
    if (cgroup_numbers(cgroup, "cpu.max", n, 2) != 2 &&
        (cgroup_numbers(cgroup, "cpu.cfs_quota_us", &n[0], 1) != 1 ||
         cgroup_numbers(cgroup, "cpu.cfs_period_us", &n[1], 1) != 1))
        return 0;
    if (n[0] <= 0 || n[1] <= 0 || n[0] / n[1] >= PROCESSORS_MAX)
        return 0;
    long limit = n[0] * 1000 / n[1];
    return (uint32_t)(limit ? limit : 1);
}

/* The lowest limit of this process's cgroup and of those around it. */
static void read_limit(struct processors *mine)
{
    struct cgroup cgroup = cgroup_innermost("cpu");
    do {
        uint32_t limit = limit_in(&cgroup);
        struct stat status;
        if (limit && (!mine->thousandths || limit < mine->thousandths) &&
            !stat(cgroup.folder, &status)) {
            mine->thousandths = limit;
            mine->cgroup = status.st_ino ^ (uint64_t)status.st_dev << 48;
        }
    } while (cgroup_go_out(&cgroup));
}

void processors_read(struct processors *mine)
{
    memset(mine, 0, sizeof *mine);
    sched_getaffinity(0, sizeof mine->mask, (cpu_set_t *)mine->mask);
    read_limit(mine);
}

/* ---- comparing ---- */

static bool within(const uint64_t *mask, const uint64_t *other)
{
    for (uint32_t i = 0; i < PROCESSORS_MAX / 64; i++)
        if (mask[i] & ~other[i])
            return false;
    return true;
}

static bool same(const struct processors *a, const struct processors *b)
{
    return a->cgroup == b->cgroup && a->thousandths == b->thousandths &&
           !memcmp(a->mask, b->mask, sizeof a->mask);
}

static uint32_t thousandths_of(const uint64_t *mask)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < PROCESSORS_MAX / 64; i++)
        count += (uint32_t)__builtin_popcountll(mask[i]);
    return count * 1000;
}

bool processors_are_all(const struct processors *p)
{
    return thousandths_of(p->mask) / 1000 >= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static void note(struct shortage *worst, enum shortage_cause cause, uint32_t ranks,
                 uint32_t thousandths)
{
    if (!thousandths || ranks * 1000 <= thousandths)
        return;
    worst->confined |= cause == SHORTAGE_AFFINITY;
    if (worst->cause &&
        (uint64_t)ranks * worst->thousandths <= (uint64_t)worst->ranks * thousandths)
        return;
    worst->cause = cause;
    worst->ranks = ranks;
    worst->thousandths = thousandths;
}

/* Ranks whose masks overlap without one containing the other may be short of processors, too. That
 * is rare and not looked for. */
struct shortage processors_shortage(uint32_t ranks, const struct processors *of(uint32_t rank))
{
    struct shortage worst = {0};
    for (uint32_t i = 0; i < ranks; i++) {
        const struct processors *a = of(i);
        if (i && same(a, of(i - 1)))
            continue;
        uint32_t confined = 0, limited = 0;
        for (uint32_t j = 0; j < ranks; j++) {
            const struct processors *b = of(j);
            confined += within(b->mask, a->mask);
            limited += a->thousandths && b->thousandths && a->cgroup == b->cgroup;
        }
        note(&worst, SHORTAGE_AFFINITY, confined, thousandths_of(a->mask));
        note(&worst, SHORTAGE_QUOTA, limited, a->thousandths);
    }
    return worst;
}

void shortage_describe(const struct shortage *shortage, char *text, size_t room)
{
    uint32_t whole = shortage->thousandths / 1000, rest = shortage->thousandths % 1000;
    if (shortage->cause == SHORTAGE_QUOTA)
        snprintf(text, room, "%u ranks have a CPU quota of %u.%02u processors", shortage->ranks,
                 whole, rest / 10);
    else
        snprintf(text, room, "%u ranks share %u processor%s", shortage->ranks, whole,
                 whole == 1 ? "" : "s");
}
