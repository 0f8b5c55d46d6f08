/* Helpers to run more ranks than processors (H12: more ranks than processors) and to measure
 * processor time. Include before other headers. */
#ifndef CROWD_H
#define CROWD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test.h"

#include <sched.h>
#include <sys/resource.h>

/* The first two of the processors in this process's affinity mask. */
static inline void share_processors(void)
{
    cpu_set_t available, two;
    sched_getaffinity(0, sizeof available, &available);
    CPU_ZERO(&two);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
        if (CPU_ISSET(cpu, &available))
            CPU_SET(cpu, &two);
    sched_setaffinity(0, sizeof two, &two);
}

/* Processor time of all threads. */
static inline double processor_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* Voluntary context switches of this thread; sched_yield() does not count. */
static inline long sleeps(void)
{
    struct rusage use;
    getrusage(RUSAGE_THREAD, &use);
    return use.ru_nvcsw;
}

#endif
