/* How the ranks of a job on one node reach each other before they share anything.
 *
 * A place is a number that one rank of the job has: that of the first free abstract Unix socket in
 * a series whose names are made from the user and the job. The rank at place 0 is the leader, the
 * others are members. A queue of these sockets has one entry at most, so it does not matter how
 * many the OS permits (somaxconn).
 *
 *   place N   has an entry for the connection of the rank at place N + 1. It is never accepted; it
 *             ends when the rank at place N leaves its place.
 *   call N    has an entry for the connection of the leader.
 *
 * The leader calls place 1, 2, and so on. A name to which it cannot connect belongs to nobody. A
 * member leaves its place when the leader has called all members, or when it gives up. So when the
 * rank before a member leaves, the leader has called this member, or never will. If that rank or
 * the leader dies, the member gives up, which lets the one behind it give up: no rank waits.
 * node/rendezvous.h describes what the ranks send each other over these connections.
 */
#ifndef MPIACCEL_PLACES_H
#define MPIACCEL_PLACES_H

#include "core/stats.h"
#include "node/job.h"

#define PLACE_NONE UINT32_MAX

/* How long to wait for a peer that is known to exist: it may have lost its processor. */
#define PLACES_PATIENCE_NS UINT64_C(2000000000)

/* Take the first free place of the job. Returns REASON_NONE, or why this rank has no place. */
enum reason places_take(const struct job *job);

/* This rank's place; PLACE_NONE: it has none. */
uint32_t places_mine(void);

/* Close all sockets of this rank's place. */
void places_leave(void);

/* ---- the leader ---- */

enum place_call { PLACE_CALLED, PLACE_EMPTY, PLACE_NO_DESCRIPTOR };

/* Connect to the member at a place. PLACE_CALLED: `connection` is open, or -1 if the member has
 * died meanwhile; it becomes the caller's. */
enum place_call places_call(uint32_t place, int *connection);

/* Whether there is a member at a place. The member ignores this connection, as one from outside the
 * job. */
bool places_taken(uint32_t place);

/* Close the socket of the leader's place, after all calls: the member at place 1 sees it. */
void places_release(void);

/* ---- a member ---- */

/* Wait until the leader calls. REASON_NONE: the leader has called, and `leader` is the
 * connection. */
enum reason places_wait_for_call(int *leader);

#endif
