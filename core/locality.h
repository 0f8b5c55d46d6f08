/* The package, NUMA node and last-level cache of the processors that the calling thread may run on.
 * The result is the same as hwloc's, and comes from the same files in sysfs (tests/unit/locality.c
 * compares the two).
 *
 * hwloc itself is not used. To answer for one processor it examines all of them, and on x86 it
 * moves the calling thread to each in turn, where the thread waits behind ranks that poll. With
 * Debian's plugins it also maps 21 libraries into the program, among them those of OpenCL and X11;
 * a GPU library would make this library leave all collectives to the host (H7: buffers may be on a
 * GPU). Here every rank reads three files, and no rank waits for another.
 */
#ifndef MPIACCEL_LOCALITY_H
#define MPIACCEL_LOCALITY_H

#include "core/base.h"

/* A number that is equal for threads bound to processors of one package, NUMA node and last-level
 * cache. The nearer two threads are, the smaller is the difference of their numbers. A thread that
 * may run in several caches or NUMA nodes has the number of the smallest unit with all its
 * processors. LOCALITY_UNKNOWN: there is no such unit, or the OS does not reveal it. */
uint64_t locality_here(void);
#define LOCALITY_UNKNOWN UINT64_C(0xffffffffffff)

#endif
