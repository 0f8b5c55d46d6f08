#include "pmpi_wrap/abi/communicators/from_parent.h"

#include "coll_inplace/child.h"
#include "node/node.h"
#include "pmpi_wrap/abi/communicators/members.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/memory/gpu_memory.h"
#include "pmpi_wrap/abi/private_comm.h"

/* The children that have made no collective call, by handle. A smaller and cheaper map than the
 * registry. */
enum { CHAINS = 64 };
static struct child *chain[CHAINS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static inline struct child **chain_of(uintptr_t handle)
{
    return &chain[registry_hash(handle) % CHAINS];
}

/* Take a child off its chain. NULL: there is none with this handle. */
static struct child *take_off_chain(uintptr_t handle)
{
    bool locked = lock_if_concurrent(&mutex);
    struct child **link = chain_of(handle), *child;
    for (child = *link; child && child->handle != handle; child = *link)
        link = &child->next;
    if (child)
        *link = child->next;
    unlock_if_locked(&mutex, locked);
    return child;
}

static void put_child(struct child *child)
{
    bool locked = lock_if_concurrent(&mutex);
    struct child **first = chain_of(child->handle);
    child->next = *first;
    *first = child;
    unlock_if_locked(&mutex, locked);
}

void team_forget_child(uintptr_t handle)
{
    struct child *child = take_off_chain(handle);
    if (child)
        child_cancel(child);
}

int team_forget_freed(int result, const MPI_Comm *created)
{
    if (result == MPI_SUCCESS && *created != MPI_COMM_NULL)
        team_forget_child(BITS(*created));
    return result;
}

void team_forget_children(void)
{
    for (int i = 0; i < CHAINS; i++)
        while (chain[i])
            team_forget_child(chain[i]->handle);
}

/* ---- the first collective call ---- */

static void set_ranks_in_parent(MPI_Comm comm, struct child *child, int size)
{
    struct members_found found = {.next = 0};
    uint16_t member[TEAM_RANKS_MAX] = {0};
    MPI_Group group;
    host.Comm_group(comm, &group);
    for (bool more = true; more;) {
        more = members_find(group, size, &found);
        for (int i = 0; i < found.some; i++)
            member[found.rank[i]] = (uint16_t)found.member[i];
    }
    host.Group_free(&group);
    for (int rank = 0; rank < size; rank++)
        child_set_member(child, (uint32_t)rank, member[rank]);
}

static void settle_child(MPI_Comm comm, struct communicator *c, struct child *child)
{
    host.Comm_size(comm, &c->size);
    host.Comm_rank(comm, &c->rank);
    if (c->size == 1) {
        child_cancel(child);
        team_be_alone(c);
        return;
    }
    if (!child->same_ranks)
        set_ranks_in_parent(comm, child, c->size);
    c->team = child_settle(child, (uint32_t)c->size, (uint32_t)c->rank);
    c->from_parent = c->team;
    c->reason = c->team ? REASON_NONE : REASON_NOT_READY;
}

struct communicator *team_from_parent(MPI_Comm comm)
{
    struct child *child = take_off_chain(BITS(comm));
    struct communicator *c = child ? team_register(comm) : NULL;
    if (c) {
        settle_child(comm, c, child);
        free_notice_comm(comm);
    } else if (child) {
        child_cancel(child);
    }
    return c;
}

struct team *team_in_collective(MPI_Comm comm)
{
    struct communicator *c = team_find(comm);
    if (!c)
        c = team_from_parent(comm);
    return c ? c->team : NULL;
}

/* ---- creation ---- */

/* The team of a parent whose children get their teams from it. NULL: it has none. */
static inline struct team *parent_of(MPI_Comm comm)
{
    struct team *team = inside_host() ? NULL : team_in_collective(comm);
    return team && !team->alone ? team : NULL;
}

static inline void offer(struct team *parent)
{
    if (!child_is_offered(parent))
        child_offer(parent, gpu_memory_possible());
}

bool team_before_creation(MPI_Comm parent)
{
    struct team *team = parent_of(parent);
    if (team)
        offer(team);
    return team;
}

int team_after_creation(MPI_Comm parent, int result, const MPI_Comm *created, bool same_ranks)
{
    struct team *team = result == MPI_SUCCESS ? parent_of(parent) : NULL;
    if (!team)
        return result;
    offer(team);
    struct child *child = child_create(team);
    if (!child)
        return result;
    if (*created == MPI_COMM_NULL) {
        child_cancel(child);
        return result;
    }
    child->handle = BITS(*created);
    child->same_ranks = same_ranks;
    put_child(child);
    return result;
}
