/* How a rank takes data that another rank has sent. If the buffer is too short, all functions fill
 * it and return COLL_TRUNCATE. */
#ifndef MPIACCEL_RECEIVE_H
#define MPIACCEL_RECEIVE_H

#include "coll_inplace/coll.h"

/* Wait for the slot of a root, or for the copy of it that a rank between the root and us publishes
 * in a team with a tree. Data of SLOT_BUFFERED are in the root's cell: see slot_data(). */
const struct slot *wait_for_root(struct team *team, uint32_t op, uint32_t root);

/* Copy `bytes` bytes from shared memory into a buffer, from byte `first` of its data on. */
enum coll_error receive_bytes(struct buffer to, size_t first, const char *from, size_t bytes);

/* Copy the data at a remote address. */
enum coll_error receive_reference(struct team *team, uint32_t owner, remote_addr_t address,
                                  struct buffer to, size_t bytes);

/* Copy the data of a slot that is not SLOT_PIPELINED. */
enum coll_error receive_slot(struct team *team, uint32_t rank, uint32_t op, const struct slot *slot,
                             struct buffer to);

/* Copy our own data from one of our buffers to another one. `blocks`: how many blocks of this
 * length all ranks together read and write in this call. */
enum coll_error copy_own(struct buffer to, struct buffer from, uint32_t blocks);

#endif
