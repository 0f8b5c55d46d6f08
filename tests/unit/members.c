/* Which ranks of communicators are members of the node, in large jobs of a simulated host that
 * searches a group from its beginning for each rank that it translates, as Open MPI does: the steps
 * of its searches depend on the sizes of the node and of the communicator, not on that of the job.
 */
#include "tests/unit/unit.h"

#include "node/node.c"
#include "pmpi_wrap/abi/communicators/members.c"
#include "pmpi_wrap/abi/communicators/properties.c"
#include "pmpi_wrap/abi/private_comm.c"

enum { WORLD = 16384, MEMBERS = 64, FIRST = 12000, MAX_RANKS = 32767, OF_ANOTHER_JOB = 1 << 20 };

/* ---- the host ---- */

struct MPI_ABI_Group {
    int size;
    int *process; /* by rank: its rank in MPI_COMM_WORLD, or a number from OF_ANOTHER_JOB on */
};

struct MPI_ABI_Comm {
    struct MPI_ABI_Group group, remote;
    int rank;
};

static struct MPI_ABI_Comm of_world;
static uint64_t steps;
static int groups_made;

static struct MPI_ABI_Comm *comm_of(MPI_Comm handle)
{
    return handle == MPI_COMM_WORLD ? &of_world : handle;
}

static int give_group(MPI_Comm handle, MPI_Group *group)
{
    *group = &comm_of(handle)->group;
    return MPI_SUCCESS;
}

static int give_remote_group(MPI_Comm handle, MPI_Group *group)
{
    *group = &comm_of(handle)->remote;
    return MPI_SUCCESS;
}

static int give_size(MPI_Comm handle, int *size)
{
    *size = comm_of(handle)->group.size;
    return MPI_SUCCESS;
}

static int give_remote_size(MPI_Comm handle, int *size)
{
    *size = comm_of(handle)->remote.size;
    return MPI_SUCCESS;
}

static int give_rank(MPI_Comm handle, int *rank)
{
    *rank = comm_of(handle)->rank;
    return MPI_SUCCESS;
}

static int has_remote_group(MPI_Comm handle, int *inter)
{
    *inter = comm_of(handle)->remote.size > 0;
    return MPI_SUCCESS;
}

static int release_group(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

static int find_rank(const struct MPI_ABI_Group *group, int process)
{
    for (int r = 0; r < group->size; r++, steps++)
        if (group->process[r] == process)
            return r;
    return MPI_UNDEFINED;
}

static int translate_by_search(MPI_Group from, int n, const int ranks[], MPI_Group to, int found[])
{
    for (int i = 0; i < n; i++) {
        INSIST(ranks[i] >= 0 && ranks[i] < from->size, "rank %d of %d", ranks[i], from->size);
        found[i] = find_rank(to, from->process[ranks[i]]);
    }
    return MPI_SUCCESS;
}

static int make_group(MPI_Group from, int n, const int ranks[], MPI_Group *group)
{
    groups_made++;
    *group = malloc(sizeof **group);
    **group = (struct MPI_ABI_Group){n, malloc((size_t)n * sizeof *ranks)};
    for (int i = 0; i < n; i++)
        (*group)->process[i] = from->process[ranks[i]];
    return MPI_SUCCESS;
}

struct host_functions host = {.Comm_group = give_group,
                              .Comm_rank = give_rank,
                              .Comm_remote_group = give_remote_group,
                              .Comm_remote_size = give_remote_size,
                              .Comm_size = give_size,
                              .Comm_test_inter = has_remote_group,
                              .Group_free = release_group,
                              .Group_incl = make_group,
                              .Group_translate_ranks = translate_by_search};
struct constants constants;

/* ---- what else the files use ---- */

static enum reason nodes = REASON_ONE_NODE_ONLY;

enum reason nodes_why_not(void)
{
    return nodes;
}

bool node_setup_has_early_groups(void)
{
    return false;
}

bool team_is_marked(MPI_Comm c)
{
    return c == MPI_COMM_WORLD;
}

struct team *team_if_ready(MPI_Comm c)
{
    (void)c;
    return NULL;
}

void host_wait_suspend(void)
{
}

void host_wait_resume(void)
{
}

/* ---- jobs and communicators ---- */

static int process_of_world(int rank)
{
    return rank;
}

static int local(int rank)
{
    return FIRST + rank;
}

static int local_reversed(int rank)
{
    return FIRST + MEMBERS - 1 - rank;
}

static int local_except_one(int rank)
{
    return rank == 5 ? FIRST - 1 : FIRST + rank;
}

static int foreign_except_own(int rank)
{
    return rank ? OF_ANOTHER_JOB + rank : FIRST;
}

static int foreign(int rank)
{
    return OF_ANOTHER_JOB + rank;
}

static int foreign_at_the_end(int rank)
{
    return rank < 999 ? rank : OF_ANOTHER_JOB;
}

static struct MPI_ABI_Group group_with(int size, int (*process)(int rank))
{
    struct MPI_ABI_Group group = {size, malloc((size_t)size * sizeof *group.process)};
    for (int r = 0; r < size; r++)
        group.process[r] = process(r);
    return group;
}

static MPI_Comm comm_with(int size, int (*process)(int rank))
{
    MPI_Comm c = calloc(1, sizeof *c);
    c->group = group_with(size, process);
    return c;
}

/* This process is one of `members` members, whose numbers are in another order than their ranks. */
static void begin(int ranks, int members, int first)
{
    private_comm_finalized();
    private_comm_world_begins();
    node = (struct node){.header = calloc(1, layout_header_size((uint32_t)members)),
                         .size = (uint32_t)members};
    for (int i = 0; i < members; i++)
        node_member((uint32_t)i)->world_rank = first + (i + 7) % members;
    by_rank.count = ranks;
    by_rank.member = malloc((size_t)(ranks + members) * sizeof *by_rank.member);
    index_ranks();
    of_world.group = group_with(ranks, process_of_world);
    nodes = REASON_ONE_NODE_ONLY;
    groups_made = 0;
}

static struct comm_properties found;

static enum reason reason_for(MPI_Comm c)
{
    steps = 0;
    return comm_properties_of(c, MAX_RANKS, &found);
}

/* ---- cases ---- */

START_TEST(large_communicators_are_not_searched)
{
    begin(WORLD, MEMBERS, FIRST);
    ck_assert_int_eq(reason_for(MPI_COMM_WORLD), REASON_ONE_NODE_ONLY);
    ck_assert_uint_eq(steps, 0);
    ck_assert_int_eq(reason_for(comm_with(MEMBERS + 1, local)), REASON_ONE_NODE_ONLY);
    ck_assert_uint_eq(steps, 0);
    ck_assert_int_eq(reason_for(comm_with(WORLD + 1, process_of_world)), REASON_FOREIGN);
    ck_assert_uint_eq(steps, 0);
    ck_assert_int_eq(found.size, WORLD + 1);
}
END_TEST

START_TEST(small_communicators_do_not_depend_on_the_job)
{
    begin(WORLD, MEMBERS, FIRST);
    for (int size = 2; size <= MEMBERS; size *= 2) {
        ck_assert_int_eq(reason_for(comm_with(size, local)), REASON_NONE);
        ck_assert_uint_le(steps, (uint64_t)size * MEMBERS);
        ck_assert_int_eq(found.neighbour, node_member_of(FIRST + 1));
    }
    ck_assert_int_eq(reason_for(comm_with(MEMBERS, local_except_one)), REASON_ONE_NODE_ONLY);
    ck_assert_uint_le(steps, MEMBERS * MEMBERS);
    ck_assert_int_eq(groups_made, 1);
}
END_TEST

START_TEST(the_hash_depends_on_the_order)
{
    begin(WORLD, MEMBERS, FIRST);
    reason_for(comm_with(MEMBERS, local));
    uint64_t ascending = found.ranks;
    reason_for(comm_with(MEMBERS, local_reversed));
    uint64_t descending = found.ranks;
    ck_assert_int_eq(found.neighbour, node_member_of(FIRST + MEMBERS - 2));
    reason_for(comm_with(MEMBERS, local));
    ck_assert_uint_eq(found.ranks, ascending);
    ck_assert_uint_ne(found.ranks, descending);
    reason_for(comm_with(2, local));
    ck_assert_uint_ne(found.ranks, 0);
}
END_TEST

START_TEST(a_node_may_be_the_whole_job)
{
    begin(MEMBERS, MEMBERS, 0);
    ck_assert_int_eq(reason_for(MPI_COMM_WORLD), REASON_NONE);
    ck_assert_uint_le(steps, MEMBERS * MEMBERS);
    ck_assert_int_eq(found.neighbour, node_member_of(1));
    ck_assert_int_eq(reason_for(comm_with(2, process_of_world)), REASON_NONE);
    ck_assert_uint_le(steps, 3);
    ck_assert_int_eq(reason_for(comm_with(2, foreign)), REASON_FOREIGN);
    ck_assert_int_eq(groups_made, 0);
}
END_TEST

/* All ranks have to agree whether nodes may be connected in a communicator. */
START_TEST(ranks_of_another_job_are_found_if_nodes_are_connected)
{
    begin(WORLD, MEMBERS, FIRST);
    nodes = REASON_NONE;
    ck_assert_int_eq(reason_for(MPI_COMM_WORLD), REASON_ONE_NODE_ONLY);
    ck_assert_uint_eq(steps, 0);
    ck_assert_int_eq(reason_for(comm_with(1000, process_of_world)), REASON_ONE_NODE_ONLY);
    ck_assert_int_eq(reason_for(comm_with(1000, foreign_at_the_end)), REASON_FOREIGN);
    ck_assert_int_eq(reason_for(comm_with(10, foreign_except_own)), REASON_FOREIGN);
    ck_assert_int_eq(reason_for(comm_with(MEMBERS, local_except_one)), REASON_ONE_NODE_ONLY);
    ck_assert_int_eq(reason_for(comm_with(MEMBERS, local)), REASON_NONE);
}
END_TEST

START_TEST(both_groups_of_an_intercommunicator_are_searched)
{
    begin(WORLD, MEMBERS, FIRST);
    MPI_Comm c = comm_with(MEMBERS, local);
    c->remote = group_with(8, local_reversed);
    c->rank = 9;
    ck_assert_int_eq(reason_for(c), REASON_INTERCOMM);
    ck_assert_int_eq(intercomm_properties_of(c, MAX_RANKS, &found), REASON_NONE);
    ck_assert_uint_le(steps, MEMBERS * (MEMBERS + 8));
    ck_assert_int_eq(found.neighbour, node_member_of(FIRST + MEMBERS - 2));
    c->remote = group_with(8, process_of_world);
    ck_assert_int_eq(intercomm_properties_of(c, MAX_RANKS, &found), REASON_ONE_NODE_ONLY);
    c->remote = group_with(MEMBERS + 1, process_of_world);
    steps = 0;
    ck_assert_int_eq(intercomm_properties_of(c, MAX_RANKS, &found), REASON_ONE_NODE_ONLY);
    ck_assert_uint_le(steps, MEMBERS * MEMBERS);
}
END_TEST

START_TEST(the_member_of_a_rank_is_found_on_the_node)
{
    begin(WORLD, MEMBERS, 0);
    MPI_Comm c = comm_with(WORLD, process_of_world);
    node_group();
    steps = 0;
    ck_assert_int_eq(member_by_host((long)c, FIRST + 5), node_member_of(FIRST + 5));
    ck_assert_int_eq(member_by_host((long)c, FIRST - 1), -1);
    ck_assert_uint_le(steps, 2 * MEMBERS);
    begin(4, 4, 0);
    ck_assert_int_eq(member_by_host((long)comm_with(4, process_of_world), 2), node_member_of(2));
}
END_TEST

START_TEST(a_node_may_be_treated_as_several)
{
    config.node_size = 2;
    begin(4, 4, 0); /* this process has rank 3 */
    ck_assert_int_eq(reason_for(MPI_COMM_WORLD), REASON_ONE_NODE_ONLY);
    ck_assert_uint_eq(steps, 0);
    ck_assert_int_eq(reason_for(comm_with(2, process_of_world)), REASON_ONE_NODE_ONLY);
    MPI_Comm c = comm_with(2, process_of_world);
    c->group.process[0] = 3;
    c->group.process[1] = 2;
    ck_assert_int_eq(reason_for(c), REASON_NONE);
    ck_assert_int_eq(found.neighbour, node_member_of(2));
    config.node_size = 0;
}
END_TEST

UNIT_MAIN(large_communicators_are_not_searched, small_communicators_do_not_depend_on_the_job,
          the_hash_depends_on_the_order, a_node_may_be_the_whole_job,
          ranks_of_another_job_are_found_if_nodes_are_connected,
          both_groups_of_an_intercommunicator_are_searched, a_node_may_be_treated_as_several,
          the_member_of_a_rank_is_found_on_the_node)
