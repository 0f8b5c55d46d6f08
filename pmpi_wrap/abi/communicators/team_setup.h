/* Communicators: which have a team, and how they get one (H13, H14).
 *
 * The ranks of a communicator agree on a team by an exchange of offers, which the host's
 * nonblocking allgather does: begun after the second collective call, since many communicators
 * never see one; complete at the first call after it that synchronises anyway, or at the latest
 * some calls later, so that no call waits that would not under the host (H15). Calls are
 * counted, and come in the same order on all ranks, so all begin and end it at the same call; but
 * not one of which the host refuses the arguments: it may be the call of one rank alone. Whether
 * there is one at all depends on what comm_properties_of() says, the same on all ranks.
 *
 * Between the groups of an intercommunicator the host's allgather tells each only what the other
 * one offers. So a second one follows where the first ends, in which each group answers; it ends in
 * the same way.
 *
 * Freeing a communicator waits for nobody. An exchange that is still under way then is ended when
 * the process next looks, at MPI_Finalize at the latest; so is the memory of a team that slower
 * ranks still use.
 */
#ifndef MPIACCEL_COMM_H
#define MPIACCEL_COMM_H

#include "coll_inplace/team.h"
#include "pmpi_wrap/abi/abi.h"

struct communicator {
    struct team *team;   /* NULL: not fast, or not yet */
    struct team *across; /* the same of an intercommunicator */
    enum reason reason;  /* with neither: why */
    uint32_t calls;      /* that the host has done, until there is a team */
    uint32_t most;       /* after so many an exchange under way ends in any case */
    struct team *prepared;
    struct team_offer mine, answer, *offers;
    MPI_Request request; /* of the exchange */
    bool exchanging, answering, freed;
    int size, rank;            /* these four: known when the exchange begins */
    int others;                /* of an intercommunicator: ranks of the other group; else 0 */
    int neighbour;             /* see team_prepare() */
    struct communicator *next; /* among those whose exchange is under way */
};

extern struct registry communicators;

struct team *team_not_yet(MPI_Comm comm, enum call call, bool synchronises);

/* The team of a communicator for this collective call, each call once; NULL: the host's, and
 * counted. */
HOT_INLINE struct team *team_for(MPI_Comm comm, enum call call, bool synchronises)
{
    struct entry *e = registry_find(&communicators, BITS(comm));
    struct communicator *c = LIKELY(e != NULL) ? e->object : NULL;
    if (LIKELY(c && c->team) && LIKELY(!inside_host()))
        return c->team;
    return team_not_yet(comm, call, synchronises);
}

/* The team of an intercommunicator, where team_for() has just found none. */
struct team *team_of_intercomm(MPI_Comm comm);

/* The host has done a collective call. Returns the result. */
int comm_used(MPI_Comm comm, int result);

/* There is no memory for what other ranks count on: they would wait for ever. */
void end_job(const char *what) __attribute__((noreturn));

/* Report an error through the communicator's handler. Returns its class. */
int report_on_comm(MPI_Comm comm, int error_class);

/* At MPI_Finalize, before the host's. */
void comms_close(void);

#endif
