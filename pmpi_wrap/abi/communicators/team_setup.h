/* Communicators and their teams.
 *
 * A communicator that is created from one with a team gets its own in its first collective call
 * (from_parent.h). The ranks of other communicators agree on a team by exchanging offers through
 * the host's nonblocking allgather. The exchange begins after the second collective call, since
 * many communicators never see a second one. It completes after the first later call that
 * synchronises its ranks anyway, or after some more calls, so that a call which does not wait under
 * the host does not wait here (H15: collectives that do not synchronise). Connecting nodes takes
 * longer, so the ranks of a communicator that spans them, other than MPI_COMM_WORLD, must have made
 * MPIACCEL_NODES_CALLS collective calls on it before the exchange begins.
 *
 * All ranks begin and complete the exchange in the same call, because they make the same collective
 * calls in the same order, and each counts them (H14: setting up is itself collective). A call
 * whose arguments the host refuses does not count: a single rank may have made it. Creating a
 * window counts if each rank can count it (team_can_count()). Whether there is an exchange at all
 * depends on comm_properties_of(), which is the same on all ranks (H13: decisions from what is
 * equal on all ranks).
 *
 * Open MPI performs an MPI_Comm_idup step by step in later calls, and starts nonblocking
 * collectives on the parent in them. A nonblocking exchange could come before these on one rank and
 * after them on another (QUIRK_IDUP_STARTS_LATE). So if MPI_Comm_idup is called before the exchange
 * begins, the exchange is a blocking allgather, in a later call that synchronises its ranks anyway.
 * The second exchange of an intercommunicator may be nonblocking, since Open MPI duplicates one by
 * collectives on the local communicator of each group.
 *
 * In an intercommunicator the host's allgather gives each group only the other group's offers. A
 * second exchange follows, in which each group publishes whether it accepts them.
 *
 * Freeing a communicator does not depend on other ranks. It waits for an exchange in progress for a
 * limited time, if the host needs that: Open MPI may hang or crash if a communicator is freed
 * before (QUIRK_FREE_BREAKS_COLLECTIVES). An exchange that is still in progress then is completed
 * when this process begins another one, or before the host is finalized. The memory of a team that
 * slower ranks still use is freed in the same way.
 */
#ifndef MPIACCEL_TEAM_SETUP_H
#define MPIACCEL_TEAM_SETUP_H

#include "coll_inplace/team.h"
#include "pmpi_wrap/abi/host_api.h"
#include "pmpi_wrap/registry.h"

struct communicator {
    struct team *team;       /* of an intracommunicator; NULL: none, or not yet */
    struct team *inter_team; /* of an intercommunicator; NULL: none, or not yet */
    enum reason reason;      /* why it has no team */
    bool from_parent;        /* the team has come from the parent */
    uint32_t calls;        /* collective calls that the host has performed, until there is a team */
    uint32_t max_calls;    /* after so many, the exchange completes anyway, if within a node */
    struct team *prepared; /* during the exchange */
    struct team_offer own_offer, answer, *offers;
    MPI_Request request; /* of the exchange */
    bool blocking;       /* MPI_Comm_idup came first, so the exchange is a blocking allgather */
    bool exchanging, answering, freed;
    bool completing;             /* MPI_Wait for the request is in progress */
    struct hierarchy *hierarchy; /* if it spans nodes; abi/nodes/hierarchy.h */
    bool spans_nodes;
    bool connecting;      /* all ranks have accepted the hierarchy, and have to connect the nodes */
    bool in_control_part; /* this structure is in memory of arena_control_alloc() */
    bool synchronises;    /* the current call; see team_for() */
    bool refused;         /* the host has refused the arguments of a call */
    bool of_all_processes; /* see team_mark() */
    int size, rank;        /* these four are set before the exchange begins */
    int remote_size;       /* of an intercommunicator: ranks of the other group; else 0 */
    int neighbour;         /* see team_prepare() */
    uint64_t ranks; /* of comm_properties, stored by the first window that finds a team; or 0 */
    struct communicator *next; /* in the list of exchanges in progress */
};

extern struct registry communicator_registry HIDDEN;

/* Find a registered communicator. NULL: no collective call, including MPI_Comm_idup, was made and
 * no window created on it yet. */
struct communicator *team_find(MPI_Comm comm);

/* Register a communicator that team_find() does not find. NULL: no memory. If other ranks would
 * wait for this one, ends the job instead. */
struct communicator *team_register(MPI_Comm comm);

/* Give a communicator of one rank its team, or record why it gets none. */
void team_be_alone(struct communicator *c);

struct team *team_for_slow(MPI_Comm comm, enum call call, bool synchronises);

/* The team of a communicator, for one collective call. `synchronises`: in general no rank returns
 * from that call before all have entered it. It must be equal on all ranks. So MPI_Allgather and
 * MPI_Alltoall pass true even if their counts are 0, with which they need not synchronise: the
 * counts may differ between ranks, and groups of an intercommunicator may move data in one
 * direction only. NULL: unless team_hierarchy() returns a hierarchy, the call has been counted as
 * deferred and is left to the host. */
HOT_INLINE struct team *team_for(MPI_Comm comm, enum call call, bool synchronises)
{
    struct entry *e = registry_find(&communicator_registry, BITS(comm));
    struct communicator *c = LIKELY(e != NULL) ? e->object : NULL;
    if (LIKELY(c && c->team) && LIKELY(!inside_host()))
        return c->team;
    return team_for_slow(comm, call, synchronises);
}

/* The hierarchy of a communicator that spans nodes, after team_for() has returned NULL. NULL: none,
 * or not yet. */
struct hierarchy *team_hierarchy(MPI_Comm comm);

/* The team of an intracommunicator that has one; begins and completes no exchange. */
struct team *team_if_ready(MPI_Comm comm);

/* Count a collective call that the host has performed with this result. Returns `result`. */
int team_after_host(MPI_Comm comm, int result);

/* Call when the host has returned `result` from MPI_Comm_idup. */
void team_after_idup(MPI_Comm parent, int result);

/* An exchange that the library makes on its own in an MPI call, through the host, counts as a
 * collective call if each rank can count it, so that a program which only creates windows gets a
 * team, too. Call the first function before the exchange, in which each rank publishes its answer,
 * and the second one after it if all answers are true (H13: a rank may have no memory). */
bool team_can_count(MPI_Comm comm);
void team_count(MPI_Comm comm);

/* Call before the host frees a communicator; delete functions of its attributes may still use it.
 * `may_wait`: this function may wait for the other ranks, as MPI_Comm_disconnect may. Returns the
 * handle to be removed. */
uintptr_t team_begin_removal(const MPI_Comm *comm, bool may_wait);

/* Call after the host has freed the communicator, with the host's result, which is returned. */
int team_end_removal(uintptr_t handle, int result);

/* Call when the host is freeing a communicator, also if that was requested past this library. */
void team_freed(MPI_Comm comm);

/* Mark a communicator of all processes that a session has made from a group: it may be fast even if
 * there are early groups (abi/life_cycle/node_setup.h). */
void team_mark(MPI_Comm comm);
bool team_is_marked(MPI_Comm comm);

/* Call the first function before MPI_Finalize if a session of the program is still open, and the
 * second one after MPI_Finalize. */
void teams_world_ends(void);
void teams_world_ended(void);

/* Complete all exchanges. No collective call may follow. */
void teams_close(void);

/* Call when the host has been finalized, and its handles are invalid. */
void teams_forget(void);

#endif
