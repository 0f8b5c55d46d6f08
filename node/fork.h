/* Shared mappings in a child of fork. Writes of the child must not reach the parent or its peers
 * (H6: a child shares nothing).
 *
 * Variables have the values that they had at the fork (node/snapshot.h).
 *
 * A heap becomes a private mapping of its file: a page shows what the parent writes until the child
 * writes to that page. This costs nothing at the fork, and memory of MPI_Alloc_mem is not what a
 * child usually works with. Where the whole heap may not become private, only the parts that hold
 * data at the fork do.
 *
 * Memory of MPI_Win_allocate_shared stays shared, as it does under any host
 * (win_share_with_children() in rma_shm/win.h). So does a heap if the program has closed its
 * descriptor. A child of the bare system call clone() is not handled.
 */
#ifndef MPIACCEL_FORK_H
#define MPIACCEL_FORK_H

#include "core/base.h"

enum fork_kind { FORK_VARIABLES, FORK_HEAP };

/* Register [address, address + size), a shared mapping of `file` at `position`. The descriptor must
 * stay open. False: there are too many such mappings. */
bool fork_add(enum fork_kind kind, char *address, size_t size, int file, uint64_t position);

/* Forget the mapping at this address, which is gone. */
void fork_remove(const char *address);

#endif
