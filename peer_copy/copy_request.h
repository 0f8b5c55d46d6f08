/* Copies between processes that the OS refuses: the owner of the memory makes them.
 *
 * Ranks copy from and to private memory of their peers (peer_memory.h). Each team has tried that
 * once, but the OS may refuse later: one of the processes has changed its user or called
 * prctl(PR_SET_DUMPABLE) or seccomp(), or the memory is protected until its owner touches it, or is
 * memory of a device. A rank whose copy is refused writes a request into its record in the shared
 * file and waits. The owner of the memory is inside the same call, and waits until this rank is
 * done with the memory. While the owner waits it finds the request, and copies between the memory
 * and the requester's room in the shared file. Longer data take one request after the other.
 *
 *     requester                                   any thread of the owner, while it waits
 *     state = claimed                             (another thread of the requester: waits)
 *     fill in the request, and the room to write
 *     state = asked, of this owner
 *     increment the owner's `copies_wanted`       finds that it has changed
 *                                                 state = taken, by compare and swap
 *                                                 copy
 *                                                 state = answered
 *     copy from the room, or ask for the next part
 *     state = free
 *
 * No two processes can wait for each other here: a requester that waits answers others, too. An
 * owner never waits while it answers.
 *
 * The memory is accessed by an ordinary copy in its owner's process, so handlers of SIGSEGV run
 * there as they do when the program itself accesses it.
 */
#ifndef MPIACCEL_COPY_REQUEST_H
#define MPIACCEL_COPY_REQUEST_H

#include "core/base.h"

#include <stdatomic.h>

/* Call once, when the node has settled. From then on this process answers requests while it
 * waits. */
void copy_requests_open(void);

/* Copy through the owner, a member whose memory stays as it is until this call returns. `remote` is
 * an address in its process. One of `to`, where its data go, and `from`, what is written there, is
 * NULL. */
void copy_through_owner(uint32_t owner, uint64_t remote, char *to, const char *from, size_t bytes);

/* How many requests this process has answered. A change shows that peers cannot access its memory.
 */
extern _Atomic uint32_t copy_requests_answered;

#endif
