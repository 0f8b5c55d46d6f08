/* Numbers and texts in files of /proc and /sys, and resource limits. */
#ifndef MPIACCEL_OS_NUMBER_H
#define MPIACCEL_OS_NUMBER_H

#include <stddef.h>

/* The number at the beginning of the file. 0: the file does not exist or begins otherwise. */
unsigned long os_number(const char *file_name);

/* Read the beginning of a file, without allocating. `text` becomes empty if the file does not
 * exist. */
void os_text(const char *file_name, char *text, size_t size);

/* The soft limit RLIMIT_... of this process; SIZE_MAX if there is none. */
size_t os_limit(int resource);

#endif
