/* The private memory of the other ranks of the node: one copy by the kernel, where it lets us.
 *
 * process_vm_readv() wants the right to trace the other process: the same user and, where Yama is
 * set so, more than that. And a process number means something only inside its PID namespace. So
 * each rank tries, once a team: it reads its neighbour's probe, whose value and address stand in
 * the neighbour's record. If all ranks of a team, in a ring, have read right, all may.
 */
#ifndef MPIACCEL_REACH_H
#define MPIACCEL_REACH_H

#include "core/base.h"

/* For our record: what others should find, and where. */
uint64_t peer_memory_probe(uint64_t *address);

/* Whether this process can read that of `pid`, by its probe. Once it could, it is not tried again.
 */
bool peer_memory_works(int pid, uint64_t address, uint64_t probe);

/* Copy from or to an address in another process. False: the kernel refuses. */
bool peer_memory_read(int pid, void *to, uint64_t from, size_t bytes);
bool peer_memory_write(int pid, uint64_t to, const void *from, size_t bytes);

#endif
