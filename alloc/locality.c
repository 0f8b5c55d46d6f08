#include "alloc/locality.h"

#include "core/layout.h"

#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { CPU_NONE = 0xffff };

struct cpus {
    uint64_t bits[LAYOUT_CPUS / 64];
};

static const char *root = "/sys/devices/system";

/* "0-3,8" */
static void read_list(FILE *file, struct cpus *cpus)
{
    unsigned first, last;
    for (int next = ','; next == ',' && fscanf(file, "%u", &first) == 1;) {
        last = first;
        next = fgetc(file);
        if (next == '-' && fscanf(file, "%u", &last) == 1)
            next = fgetc(file);
        for (; first <= last && first < LAYOUT_CPUS; first++)
            cpus->bits[first / 64] |= UINT64_C(1) << first % 64;
    }
}

static unsigned first_of(const struct cpus *cpus)
{
    for (unsigned word = 0; word < LAYOUT_CPUS / 64; word++)
        if (cpus->bits[word])
            return word * 64 + (unsigned)__builtin_ctzll(cpus->bits[word]);
    return CPU_NONE;
}

/* The first processor of those that the last matching file of the first of ours names, if they are
 * all of ours and more. */
static unsigned first_near(const struct cpus *ours, const char *file_name)
{
    char pattern[256];
    struct cpus near = {{0}};
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/cpu/cpu%u/%s", root, first_of(ours), file_name);
    if (glob(pattern, 0, NULL, &found))
        return CPU_NONE;
    FILE *file = fopen(found.gl_pathv[found.gl_pathc - 1], "re");
    globfree(&found);
    if (!file)
        return CPU_NONE;
    read_list(file, &near);
    fclose(file);
    for (unsigned word = 0; word < LAYOUT_CPUS / 64; word++)
        if (ours->bits[word] & ~near.bits[word])
            return CPU_NONE;
    return first_of(&near);
}

static uint64_t locality_of(const struct cpus *ours)
{
    return (uint64_t)first_near(ours, "topology/core_siblings_list") << 32 |
           (uint64_t)first_near(ours, "node*/cpulist") << 16 |
           first_near(ours, "cache/index*/shared_cpu_list");
}

/* Many communicators may be made, and all ranks ask at once. */
uint64_t locality_here(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct cpus known;
    static uint64_t answer = LOCALITY_UNKNOWN;
    struct cpus ours = {{0}};
    if (sched_getaffinity(0, sizeof ours, (cpu_set_t *)&ours))
        return LOCALITY_UNKNOWN;
    pthread_mutex_lock(&mutex);
    if (memcmp(&known, &ours, sizeof known) != 0) {
        known = ours;
        answer = locality_of(&ours);
    }
    uint64_t here = answer;
    pthread_mutex_unlock(&mutex);
    return here;
}
