/* The cgroups of this process: groups of processes whose use of a resource a container or a batch
 * system limits. They are nested, and each may have a limit.
 *
 * These functions allocate nothing and use little of the stack, so a handler of fork() may call
 * them.
 */
#ifndef MPIACCEL_CGROUP_H
#define MPIACCEL_CGROUP_H

#include "core/base.h"

/* A folder with the files of a cgroup; empty if its name is too long. */
struct cgroup {
    char folder[1024];
};

/* The innermost cgroup of this process that has the files of a controller, such as "cpu". */
struct cgroup cgroup_innermost(const char *controller);

/* Replace a cgroup by the one around it. False: there is none. */
bool cgroup_go_out(struct cgroup *cgroup);

/* Read up to `count` numbers at the beginning of a file. Returns how many there are: 0 if the file
 * does not exist, or begins with "max". */
int cgroup_numbers(const struct cgroup *cgroup, const char *name, long *numbers, int count);

/* The number after a word of memory.stat, for example; 0 if the word is not there. */
long cgroup_number_of(const struct cgroup *cgroup, const char *name, const char *word);

#endif
