/* What the kernel says in files. */
#ifndef MPIACCEL_KERNEL_NUMBER_H
#define MPIACCEL_KERNEL_NUMBER_H

/* The number that the file begins with; 0: there is none, or no such file. */
unsigned long kernel_number(const char *file_name);

#endif
