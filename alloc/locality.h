/* Which caches and memory the calling thread is near to: what hwloc would say of the processors
 * that it may run on, from the files that hwloc reads too (tests/unit/locality.c compares the two).
 *
 * Why not hwloc itself. To answer for one processor it looks at all of them, and on x86 it moves
 * the calling thread to each in turn, where it waits behind ranks that poll. With Debian's plugins
 * it maps 21 libraries into the program meanwhile, OpenCL's and X11's among them; one of another
 * kind of GPU would make us leave all collectives to the host (H7). Three files are enough here,
 * every rank reads its own, and nobody waits for anybody.
 */
#ifndef MPIACCEL_LOCALITY_H
#define MPIACCEL_LOCALITY_H

#include "core/base.h"

/* A number: the same for threads that are bound to processors of one package, NUMA node and last
 * cache; the nearer, the less numbers are apart. Who is bound less closely has the number of what
 * holds all its processors. The largest: nothing does, or it cannot be known. */
uint64_t locality_here(void);
#define LOCALITY_UNKNOWN UINT64_C(0xffffffffffff)

#endif
