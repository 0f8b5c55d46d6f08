/* The memory that this process can still allocate. */
#ifndef MPIACCEL_MEMORY_LEFT_H
#define MPIACCEL_MEMORY_LEFT_H

#include "core/base.h"

/* The minimum of what the machine and each cgroup of this process, such as that of its container or
 * batch job, have left. SIZE_MAX: unknown. Allocates nothing, so a handler of pthread_atfork() may
 * call it. */
size_t memory_left(void);

#endif
