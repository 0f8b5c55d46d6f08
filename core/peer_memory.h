/* Access to the private memory of other ranks on the node: one copy by the OS, where it permits
 * that.
 *
 * process_vm_readv() requires the permission to trace the other process: the same user and,
 * depending on Yama's settings, more than that. A process id is also valid only inside its PID
 * namespace. So each rank tries once per team: it reads the probe of its neighbour, whose value and
 * address are in the neighbour's record. If every rank of the team, in a ring, has read the
 * expected value, all ranks of the team use this access.
 */
#ifndef MPIACCEL_PEER_MEMORY_H
#define MPIACCEL_PEER_MEMORY_H

#include "core/base.h"

/* The value of this process's probe, and its address, for the record of this member. */
uint64_t peer_memory_probe(uint64_t *address);

/* Whether this process can read the memory of `pid`: tried with the probe until it succeeds once,
 * or each time if the OS has ever refused a copy. */
bool peer_memory_works(int pid, uint64_t address, uint64_t probe);

/* Copy from or to an address in another process. False: the OS has refused, and some of the data
 * may have been copied; or the process has died, in which case the call returns only after three
 * seconds, with errno ESRCH. */
bool peer_memory_read(int pid, void *to, uint64_t from, size_t bytes);
bool peer_memory_write(int pid, uint64_t to, const void *from, size_t bytes);

#endif
