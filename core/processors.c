#include "core/processors.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *own_cgroups = "/proc/self/cgroup", *cgroup_root = "/sys/fs/cgroup";

/* ---- the limit of a cgroup ---- */

/* Read `count` numbers from a file. Returns how many there are. */
static int read_numbers(const char *folder, const char *name, long *numbers, int count)
{
    char path[PATH_MAX + 32];
    int found = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    while (file && found < count && fscanf(file, "%ld", &numbers[found]) == 1)
        found++;
    if (file)
        fclose(file);
    return found;
}

/* The limit of a cgroup in thousandths of a processor; 0: none. The two versions of cgroups keep
 * the processor time and the period to which it applies in different files. If there is no limit,
 * the file has "max" or -1. */
static uint32_t limit_in(const char *folder)
{
    long n[2];
    if (read_numbers(folder, "cpu.max", n, 2) != 2 &&
        (read_numbers(folder, "cpu.cfs_quota_us", &n[0], 1) != 1 ||
         read_numbers(folder, "cpu.cfs_period_us", &n[1], 1) != 1))
        return 0;
    if (n[0] <= 0 || n[1] <= 0 || n[0] / n[1] >= PROCESSORS_MAX)
        return 0;
    long limit = n[0] * 1000 / n[1];
    return (uint32_t)(limit ? limit : 1);
}

/* The lowest limit of a cgroup and of those around it. In a container the path may be that outside
 * the container, which does not exist inside; then the container's own cgroup is the root. */
static void read_cgroup_limits(struct processors *mine, const char *controller, const char *path)
{
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s%s%s", cgroup_root, controller, path) >= PATH_MAX)
        return;
    size_t root = strlen(cgroup_root) + strlen(controller);
    for (;;) {
        uint32_t limit = limit_in(folder);
        struct stat status;
        if (limit && (!mine->thousandths || limit < mine->thousandths) && !stat(folder, &status)) {
            mine->thousandths = limit;
            mine->cgroup = status.st_ino ^ (uint64_t)status.st_dev << 48;
        }
        char *last = strrchr(folder + root, '/');
        if (!last)
            return;
        *last = 0;
    }
}

static bool names_controller(char *list, const char *name)
{
    for (char *rest, *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (!strcmp(word, name))
            return true;
    return false;
}

/* Read lines such as "4:cpu,cpuacct:/path" (version 1) and "0::/path" (version 2). In version 1
 * each controller has a folder of its own name. */
static void read_cgroups(struct processors *mine)
{
    char line[PATH_MAX];
    FILE *file = fopen(own_cgroups, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        list++;
        if (!*list)
            read_cgroup_limits(mine, "", path);
        else if (names_controller(list, "cpu"))
            read_cgroup_limits(mine, "/cpu", path);
    }
    if (file)
        fclose(file);
}

void processors_read(struct processors *mine)
{
    memset(mine, 0, sizeof *mine);
    sched_getaffinity(0, sizeof mine->mask, (cpu_set_t *)mine->mask);
    read_cgroups(mine);
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
