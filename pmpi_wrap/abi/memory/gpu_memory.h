/* Could a buffer be GPU memory (H7: pointers that the CPU must not touch)?
 *
 * The host is asked once whether it accepts addresses of GPU memory.
 *
 * - A host that accepts them may get one in any later call, on any rank. Whether the program has a
 *   GPU runtime does not matter: it may load one at any time, and a single rank cannot abandon a
 *   team or window that all use. So nothing that accesses buffers is fast with such a host, unless
 *   the user excludes GPU memory with MPIACCEL_GPU=0.
 * - If it does not accept them, a GPU runtime changes nothing.
 * - A host that does not answer for a vendor (Open MPI 4.1 for AMD and Intel, any host under the
 *   standard ABI, which has no such query) may accept addresses, for example with the help of a
 *   transport such as UCX. It then counts as accepting them if a runtime of this vendor is loaded
 *   when a team, window or buffer is set up.
 *
 * The answer is a local fact, and goes into the offers from which all ranks decide. */
#ifndef MPIACCEL_GPU_MEMORY_H
#define MPIACCEL_GPU_MEMORY_H

#include "core/base.h"

/* Call between MPI_Init and MPI_Finalize. */
bool gpu_memory_possible(void);

#endif
