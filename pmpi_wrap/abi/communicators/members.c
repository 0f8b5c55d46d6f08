#include "pmpi_wrap/abi/communicators/members.h"

#include "node/node.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"
#include "pmpi_wrap/abi/private_comm.h"

/* Open MPI searches the second group from its beginning, so finding a rank in MPI_COMM_WORLD takes
 * as many steps as the number of that rank. If the job has other nodes, which may make that number
 * large, search only the ranks of this node. */
static bool searches_by_node(void)
{
    return node.ranks_here < node_world_size() && node_group() != MPI_GROUP_NULL;
}

int member_of_rank(long argument, int rank)
{
    MPI_Comm comm = HANDLE_OF(MPI_Comm, argument);
    if (!node.header || rank < 0)
        return -1;
    if (comm == MPI_COMM_WORLD)
        return node_member_of(rank);
    const struct team *team = team_if_ready(comm);
    if (!team || (uint32_t)rank >= team->size)
        return -1;
    return node_owner_of(team->mailbox[rank]);
}

int member_by_host(long argument, int rank)
{
    MPI_Comm comm = HANDLE_OF(MPI_Comm, argument);
    MPI_Group group;
    int member = member_of_rank(argument, rank), inter = 0, found = -1;
    if (member >= 0 || !node.header || rank < 0 || comm == MPI_COMM_WORLD)
        return member;
    host.Comm_test_inter(comm, &inter);
    int result = inter ? host.Comm_remote_group(comm, &group) : host.Comm_group(comm, &group);
    if (result != MPI_SUCCESS)
        return -1;
    bool by_node = searches_by_node();
    host.Group_translate_ranks(group, 1, &rank, by_node ? node_group() : world_group(), &found);
    host.Group_free(&group);
    return found < 0 ? -1 : node_member_of(by_node ? node.rank_here[found] : found);
}

int members_translate(MPI_Group from, int size, int first, MPI_Group to,
                      int found[MEMBERS_AT_A_TIME])
{
    int ranks[MEMBERS_AT_A_TIME];
    int some = size - first < MEMBERS_AT_A_TIME ? size - first : MEMBERS_AT_A_TIME;
    for (int i = 0; i < some; i++)
        ranks[i] = first + i;
    host.Group_translate_ranks(from, some, ranks, to, found);
    return some;
}

bool members_find(MPI_Group group, int size, struct members_found *f)
{
    bool by_node = searches_by_node();
    int first = f->next, all = by_node ? node.ranks_here : size, to[MEMBERS_AT_A_TIME], n = 0;
    int some = by_node ? members_translate(node_group(), all, first, group, to)
                       : members_translate(group, all, first, world_group(), to);
    for (int i = 0; i < some; i++) {
        f->rank[n] = by_node ? to[i] : first + i;
        f->member[n] = node_member_of(by_node ? node.rank_here[first + i] : to[i]);
        n += f->rank[n] != MPI_UNDEFINED && f->member[n] >= 0;
    }
    f->some = n;
    f->next = first + some;
    return f->next < all;
}
