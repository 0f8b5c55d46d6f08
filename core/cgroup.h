/* The cgroups of this process. A cgroup is a group of processes whose use of a resource can be
 * limited, for instance by a container or a batch system. They are nested, and each may have a
 * limit.
 *
 * These functions allocate nothing and use little of the stack, so a handler of
 * pthread_atfork() may call them.
 */
#ifndef MPIACCEL_CGROUP_H
#define MPIACCEL_CGROUP_H

#include "core/base.h"

/* The folder of a cgroup. Empty: none was found, or its name is too long. */
struct cgroup {
    char folder[1024];
};

/* The cgroup of this process in the hierarchy of a controller, such as "cpu". In version 2 it may
 * lack the controller's files, which cgroups around it may have. */
struct cgroup cgroup_innermost(const char *controller);

/* Replace a cgroup by the one around it. False: there is none. */
bool cgroup_go_out(struct cgroup *cgroup);

/* Read up to `count` numbers at the beginning of a file. Returns how many there are: 0 if the file
 * does not exist, or begins with "max". */
int cgroup_numbers(const struct cgroup *cgroup, const char *name, long *numbers, int count);

/* The number after the word with which a line of a file begins, such as memory.stat; 0: there is no
 * such line. */
long cgroup_number_of(const struct cgroup *cgroup, const char *name, const char *word);

#endif
