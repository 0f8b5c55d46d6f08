#include "core/locality.h"

#include "core/processors.h"

#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { CPU_NONE = 0xffff };

struct cpus {
    uint64_t bits[PROCESSORS_MAX / 64];
};

static const char *root = "/sys/devices/system";

/* Parse a list such as "0-3,8". */
static void read_list(FILE *file, struct cpus *cpus)
{
    unsigned first, last;
    for (int next = ','; next == ',' && fscanf(file, "%u", &first) == 1;) {
        last = first;
        next = fgetc(file);
        if (next == '-' && fscanf(file, "%u", &last) == 1)
            next = fgetc(file);
        for (; first <= last && first < PROCESSORS_MAX; first++)
            cpus->bits[first / 64] |= UINT64_C(1) << first % 64;
    }
}

static unsigned first_of(const struct cpus *cpus)
{
    for (unsigned word = 0; word < PROCESSORS_MAX / 64; word++)
        if (cpus->bits[word])
            return word * 64 + (unsigned)__builtin_ctzll(cpus->bits[word]);
    return CPU_NONE;
}

/* `file_name` lists the processors that share a cache, node or package with one processor; if the
 * pattern matches several files, the last one counts. Returns the first processor of the list of
 * the first allowed processor, which identifies the unit, or CPU_NONE if not all allowed processors
 * are in it. */
static unsigned first_sharing(const struct cpus *allowed, const char *file_name)
{
    char pattern[256];
    struct cpus near = {{0}};
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/cpu/cpu%u/%s", root, first_of(allowed), file_name);
    if (glob(pattern, 0, NULL, &found))
        return CPU_NONE;
    FILE *file = fopen(found.gl_pathv[found.gl_pathc - 1], "re");
    globfree(&found);
    if (!file)
        return CPU_NONE;
    read_list(file, &near);
    fclose(file);
    for (unsigned word = 0; word < PROCESSORS_MAX / 64; word++)
        if (allowed->bits[word] & ~near.bits[word])
            return CPU_NONE;
    return first_of(&near);
}

static uint64_t locality_of(const struct cpus *allowed)
{
    return (uint64_t)first_sharing(allowed, "topology/core_siblings_list") << 32 |
           (uint64_t)first_sharing(allowed, "node*/cpulist") << 16 |
           first_sharing(allowed, "cache/index*/shared_cpu_list");
}

/* The last result is kept: a program may create many communicators, and all ranks then ask at once.
 */
uint64_t locality_here(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct cpus known;
    static uint64_t answer = LOCALITY_UNKNOWN;
    struct cpus allowed = {{0}};
    if (sched_getaffinity(0, sizeof allowed, (cpu_set_t *)&allowed))
        return LOCALITY_UNKNOWN;
    pthread_mutex_lock(&mutex);
    if (memcmp(&known, &allowed, sizeof known) != 0) {
        known = allowed;
        answer = locality_of(&allowed);
    }
    uint64_t result = answer;
    pthread_mutex_unlock(&mutex);
    return result;
}
