/* When the ranks of a node meet (node/rendezvous.h).
 *
 * They enter before the host is initialized. They settle at a point that no rank of the job reaches
 * before all ranks have entered, since ranks without this library cannot take part in a barrier of
 * ours (H3). There are two such points; the first one that a process reaches counts:
 *
 *   MPI_Init                    has returned
 *   MPI_Comm_create_from_group  has returned, and the group has all processes of the job
 *
 * MPI_Session_init is not such a point: it may be local, as it is in MPICH 5. Hosts need not
 * synchronise the ranks in the other two calls either, but they do: the ranks agree on the context
 * of the communicator. If a host did not, the node would be partial, and no rank would wait.
 *
 * Early groups. Calls on a communicator must be fast on all its ranks or on none (H13). A
 * communicator that descends from one of all processes begins after the node has settled, on all
 * its ranks. A session may also make communicators of fewer processes before that. If threads use
 * them, the node may settle between the same two collective calls on one rank, and not on another.
 * So each rank publishes, when it has settled, whether it has made or begun to make such a
 * communicator. If any rank of the node has, only MPI_COMM_WORLD and communicators of all processes
 * from MPI_Comm_create_from_group are fast: no rank has any of these before it has settled.
 * Communicators derived from them are left to the host, because they cannot be told apart from
 * those derived from communicators that ranks made before the node settled. A thread that makes a
 * communicator while another one settles waits until that is over. So a rank that has published no
 * such communicator has begun none.
 *
 * The word in layout_member is written by its owner after the verdict (core/layout.h), and read by
 * all. A reader waits until it is written, which every rank does as soon as it has settled.
 */
#ifndef MPIACCEL_NODE_SETUP_H
#define MPIACCEL_NODE_SETUP_H

#include "pmpi_wrap/abi/host_api.h"

/* The word, as a set. 0: not written yet. */
enum start_fact { START_KNOWN = 1, START_EARLY_GROUPS = 2, START_BY_SESSION = 4 };

/* Call before the host is initialized for the first time. `session`: a session initializes it. */
void node_setup_enter(bool session);

/* Call at one of the points above; does nothing if the node has settled. `all`: a communicator of
 * all processes, on which the program has not communicated yet. `tag`: with which
 * MPI_Comm_create_from_group has created it; NULL: it is MPI_COMM_WORLD. */
void node_setup_settle(MPI_Comm all, const char *tag);

bool node_setup_is_over(void);

/* Call when another copy of the host has been loaded. The node remains, and the next call of
 * node_setup_settle() registers the predefined handles of that host. */
void node_setup_host_reloaded(void);

/* Call before the host makes a communicator from a group that has not all processes. */
void node_setup_group_begins(void);

/* Whether it still matters which groups communicators are made from. */
bool node_setup_needs_groups(void);

/* Call after the node has settled. The first function returns whether a rank of this node has early
 * groups, the second one whether the host's MPI_Reduce_local works on all ranks of the node
 * (QUIRK_REDUCE_LOCAL_NEEDS_INIT). */
bool node_setup_has_early_groups(void);
bool node_setup_has_reduce_local(void);

/* The steps by which the ranks of a node begin MPI_Finalize together, for a host with
 * QUIRK_FINALIZE_HANGS.
 *
 * Such a host closes each connection with a message. The peer acknowledges it when it makes
 * progress. The host stops making progress when all its own messages are acknowledged. This is safe
 * if every rank sends its messages before it acknowledges any: then the acknowledgement of a peer
 * arrives after the peer's own message, and no peer needs this rank any more. But a rank that makes
 * progress before the host closes its connections, for instance in a wait of this library,
 * acknowledges first. When it closes its own connection, the peer may have stopped.
 *
 * So each rank publishes a step and waits until all ranks of the node have reached it. In the
 * first wait it makes progress, since ranks that have not entered MPI_Finalize may need it. In the
 * second it makes none, and needs none from others, since all of them wait in the same way. After
 * it no rank makes progress before the host closes its connections, except in delete functions of
 * MPI_COMM_WORLD.
 *
 * A rank may never take the steps: it exits early, or it needs something that another rank does
 * only after them, such as the delete function of an attribute of MPI_COMM_WORLD. So each wait
 * is limited to 10 seconds. After that the rank goes on alone, as it would without this library.
 *
 * A job on several nodes takes no steps: the first wait would make a hang between nodes more
 * likely. */
enum finalize_step { FINALIZE_ENTERED = 1, FINALIZE_NO_PROGRESS };

/* Publish the step and wait. Call private_comm_free() before the second step: while that
 * communicator exists, waiting makes progress. */
void node_setup_finalize(enum finalize_step step);

/* Call if this rank takes no further step. Publishes the last step, so that no other rank waits for
 * this rank. */
void node_setup_finalize_alone(void);

/* The rank of this process in the job, and the number of ranks; 0 before the host is initialized.
 */
extern int world_rank HIDDEN, world_size HIDDEN;

#endif
