/* Whether the OS limits memory in a way that the shared heap does not obey, and which blocks would
 * be faster in private memory. */
#ifndef MPIACCEL_HEAP_LIMITS_H
#define MPIACCEL_HEAP_LIMITS_H

#include <stddef.h>

/* Why malloc must not use the shared heap. NULL: it may. */
const char *limits_obstacle(void);

/* Blocks must be shorter, so that none could contain a huge page if shared memory cannot have
 * one. */
size_t limits_block_length(void);

#endif
