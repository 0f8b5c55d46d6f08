#include "pmpi_wrap/abi/communicators/properties.h"

#include "node/node.h"
#include "pmpi_wrap/abi/communicators/members.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/abi/nodes/agreement.h"
#include "pmpi_wrap/abi/private_comm.h"

static bool has_foreign_ranks(MPI_Group group, int size)
{
    int found[MEMBERS_AT_A_TIME];
    if (group == world_group())
        return false;
    for (int first = 0; first < size; first += MEMBERS_AT_A_TIME) {
        int some = members_translate(group, size, first, world_group(), found);
        for (int i = 0; i < some; i++)
            if (found[i] == MPI_UNDEFINED)
                return true;
    }
    return false;
}

/* Why not all ranks of a group are here. If the nodes are connected, all ranks must agree whether
 * the group has ranks of another job, so look at every rank. Otherwise the reason only appears in
 * the statistics. */
static enum reason why_not_here(MPI_Group group, int size)
{
    bool one_node = node.ranks_here == node_world_size();
    if (one_node || size > node_world_size())
        return REASON_FOREIGN;
    return nodes_why_not() == REASON_NONE && has_foreign_ranks(group, size) ? REASON_FOREIGN
                                                                            : REASON_ONE_NODE_ONLY;
}

/* A sum over all ranks does not depend on the order in which they are found. */
static void add_rank(struct comm_properties *s, int rank, int member)
{
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = ((uint64_t)rank << 32 | (uint32_t)(member + 1)) * odd;
    s->ranks += (hash ^ hash >> 32) * odd;
}

/* Are all ranks of a group members of this node, and which member is `neighbour`? Allocates
 * nothing: a rank without memory would decide differently from the others. */
static enum reason find_members(MPI_Group group, int size, int neighbour, struct comm_properties *s)
{
    struct members_found found = {.next = 0};
    int here = 0;
    for (bool more = size <= node.ranks_here; more; here += found.some) {
        more = members_find(group, size, &found);
        for (int i = 0; i < found.some; i++) {
            if (found.rank[i] == neighbour)
                s->neighbour = found.member[i];
            add_rank(s, found.rank[i], found.member[i]);
        }
    }
    return here == size ? REASON_NONE : why_not_here(group, size);
}

/* May the communicator be older than the node on some rank? */
static bool may_be_early(MPI_Comm comm)
{
    return node_setup_has_early_groups() && comm != MPI_COMM_WORLD && !team_is_marked(comm);
}

static enum reason members_of_comm(MPI_Comm comm, struct comm_properties *s)
{
    MPI_Group group;
    if (may_be_early(comm))
        return REASON_EARLY_GROUP;
    host.Comm_group(comm, &group);
    int next = s->rank + 1 < s->size ? s->rank + 1 : 0;
    enum reason reason = find_members(group, s->size, next, s);
    host.Group_free(&group);
    return reason;
}

enum reason comm_properties_of(MPI_Comm comm, int max_ranks, struct comm_properties *s)
{
    int inter = 0;
    *s = (struct comm_properties){0};
    if (inside_host())
        return REASON_INSIDE;
    if (!node.header && node.why_not == REASON_NOT_INITIALISED)
        return REASON_NOT_INITIALISED;
    if (comm == MPI_COMM_NULL || (s->error = host.Comm_test_inter(comm, &inter)) != MPI_SUCCESS)
        return REASON_ARGUMENTS;
    if (inter)
        return REASON_INTERCOMM;
    host.Comm_size(comm, &s->size);
    host.Comm_rank(comm, &s->rank);
    if (s->size == 1)
        return REASON_NONE;
    if (s->size > max_ranks)
        return REASON_TOO_MANY_RANKS;
    return node.header ? members_of_comm(comm, s) : node.why_not;
}

enum reason intercomm_properties_of(MPI_Comm comm, int max_ranks, struct comm_properties *s)
{
    *s = (struct comm_properties){0};
    host.Comm_size(comm, &s->size);
    host.Comm_rank(comm, &s->rank);
    host.Comm_remote_size(comm, &s->remote_size);
    if (s->size > max_ranks || s->remote_size > max_ranks)
        return REASON_TOO_MANY_RANKS;
    if (!node.header)
        return node.why_not;
    enum reason reason = members_of_comm(comm, s);
    MPI_Group group;
    if (reason != REASON_NONE)
        return reason;
    host.Comm_remote_group(comm, &group);
    reason = find_members(group, s->remote_size, s->rank % s->remote_size, s);
    host.Group_free(&group);
    return reason;
}
