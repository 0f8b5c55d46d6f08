/* Numbers that Linux publishes in files of /proc and /sys. */
#ifndef MPIACCEL_OS_NUMBER_H
#define MPIACCEL_OS_NUMBER_H

/* The number at the beginning of the file. 0: the file does not exist or begins otherwise. */
unsigned long os_number(const char *file_name);

#endif
