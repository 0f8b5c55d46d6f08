#include "pmpi_wrap/abi/nodes/hierarchy.h"

#include "node/node.h"
#include "pmpi_wrap/abi/communicators/members.h"
#include "pmpi_wrap/abi/nodes/agreement.h"
#include "pmpi_wrap/abi/private_comm.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct hierarchy *hierarchies;
static uint32_t number_of_hierarchies;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void list_hierarchy(struct hierarchy *h)
{
    pthread_mutex_lock(&mutex);
    number_of_hierarchies++;
    h->next = hierarchies;
    h->link = &hierarchies;
    if (h->next)
        h->next->link = &h->next;
    hierarchies = h;
    pthread_mutex_unlock(&mutex);
}

static void unlist_hierarchy(struct hierarchy *h)
{
    pthread_mutex_lock(&mutex);
    number_of_hierarchies--;
    *h->link = h->next;
    if (h->next)
        h->next->link = h->link;
    pthread_mutex_unlock(&mutex);
}

bool hierarchies_are_many(void)
{
    pthread_mutex_lock(&mutex);
    bool many = number_of_hierarchies >= HIERARCHIES_MAX;
    pthread_mutex_unlock(&mutex);
    return many;
}

/* ---- which rank is where ---- */

void hierarchy_find_part(MPI_Comm comm, int size, struct node_part *part)
{
    int rank, first_member = -1, found[MEMBERS_AT_A_TIME];
    MPI_Group group;
    host.Comm_rank(comm, &rank);
    host.Comm_group(comm, &group);
    *part = (struct node_part){.neighbour = -1};
    for (int first = 0; first < size; first += MEMBERS_AT_A_TIME) {
        int some = members_translate(group, size, first, world_group(), found);
        for (int i = 0; i < some; i++) {
            int member = node_member_of(found[i]);
            if (member < 0)
                continue;
            if (first_member < 0)
                first_member = member;
            if (first + i < rank)
                part->rank++;
            else if (first + i > rank && part->neighbour < 0)
                part->neighbour = member;
            part->size++;
        }
    }
    if (part->neighbour < 0)
        part->neighbour = first_member;
    host.Group_free(&group);
}

/* The buffers come last and are not cleared, so that pages that no call needs stay untouched. */
static struct hierarchy *allocate_hierarchy(uint32_t size)
{
    size_t parts = 2 * (size_t)size * sizeof(int64_t);
    size_t tables = (7 * (size_t)size + 1) * sizeof(uint32_t);
    size_t cleared = round_up(sizeof(struct hierarchy) + parts + tables, LINE);
    struct hierarchy *h = malloc(cleared + HIERARCHY_BUFFERS * (size_t)HIERARCHY_BUFFER);
    if (!h)
        return NULL;
    memset(h, 0, cleared);
    for (int i = 0; i < HIERARCHY_BUFFERS; i++)
        h->buffer[i] = (char *)h + cleared + (size_t)i * HIERARCHY_BUFFER;
    h->counts = (int64_t *)(h + 1);
    h->displs = h->counts + size;
    h->node_of = (uint32_t *)(h->displs + size);
    h->local = h->node_of + size;
    h->position = h->local + size;
    h->sorted = h->position + size;
    h->lane_ranks = (int *)(h->sorted + size);
    h->lane_displs = h->lane_ranks + size;
    h->first = (uint32_t *)h->lane_displs + size;
    return h;
}

/* Number the nodes in the order of their lowest ranks, and the ranks of each node. */
static void number_nodes(struct hierarchy *h, const int *leaders)
{
    for (uint32_t r = 0; r < h->size; r++) {
        uint32_t earlier = r;
        while (earlier && leaders[earlier - 1] != leaders[r])
            earlier--;
        bool known = earlier;
        h->node_of[r] = known ? h->node_of[earlier - 1] : h->nodes++;
        h->local[r] = known ? h->local[earlier - 1] + 1 : 0;
    }
}

static void sort_ranks(struct hierarchy *h)
{
    for (uint32_t r = 0; r < h->size; r++)
        h->first[h->node_of[r] + 1]++;
    h->equal = h->consecutive = true;
    for (uint32_t n = 0; n < h->nodes; n++) {
        h->equal &= h->first[n + 1] == h->first[1];
        if (h->first[n + 1] > h->largest)
            h->largest = h->first[n + 1];
    }
    for (uint32_t n = 0; n < h->nodes; n++)
        h->first[n + 1] += h->first[n];
    for (uint32_t r = 0; r < h->size; r++) {
        h->position[r] = h->first[h->node_of[r]] + h->local[r];
        h->sorted[h->position[r]] = r;
        h->consecutive &= h->position[r] == r;
    }
}

struct hierarchy *hierarchy_create(struct team *team, const int *leaders, uint32_t size,
                                   uint32_t rank)
{
    struct hierarchy *h = allocate_hierarchy(size);
    if (!h)
        return NULL;
    h->node = team;
    h->size = size;
    h->rank = rank;
    h->lane = MPI_COMM_NULL;
    number_nodes(h, leaders);
    sort_ranks(h);
    h->my_node = h->node_of[rank];
    list_hierarchy(h);
    return h;
}

/* ---- lanes ---- */

/* The ranks of this rank's lane, as ranks of the communicator. Returns their number. */
static int find_lane(struct hierarchy *h)
{
    int number = 0;
    for (uint32_t n = 0; n < h->nodes; n++)
        if (hierarchy_ranks_of(h, n) > h->node->rank)
            h->lane_ranks[number++] = (int)h->sorted[h->first[n] + h->node->rank];
    return number;
}

/* MPICH 4.0 crashes if the group was made from that of another communicator than the parent. */
static bool create_lane(struct hierarchy *h, MPI_Comm comm, int tag)
{
    MPI_Group group, parent, lane;
    int ranks = find_lane(h);
    host.Comm_group(comm, &group);
    host.Comm_group(nodes_comm(), &parent);
    host.Group_translate_ranks(group, ranks, h->lane_ranks, parent, h->lane_displs);
    host.Group_incl(parent, ranks, h->lane_displs, &lane);
    enter_host();
    bool created = host.Comm_create_group(nodes_comm(), lane, tag, &h->lane) == MPI_SUCCESS;
    if (created)
        host.Comm_set_errhandler(h->lane, MPI_ERRORS_RETURN);
    leave_host();
    host.Group_free(&lane);
    host.Group_free(&parent);
    host.Group_free(&group);
    return created;
}

/* A rank without memory takes no part in the creation of its lane, so no rank may wait for it
 * there: the ranks agree before and after the creation. */
bool hierarchy_connect(struct hierarchy *h, MPI_Comm comm, int tag)
{
    int mine = h != NULL, everybody = 0;
    if (host.Allreduce(&mine, &everybody, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || !everybody)
        return false;
    assert(h); /* everybody has one */
    mine = create_lane(h, comm, tag);
    host.Allreduce(&mine, &everybody, 1, MPI_INT, MPI_MIN, comm);
    h->connected = everybody;
    return everybody;
}

static void free_lane(struct hierarchy *h)
{
    if (h->lane != MPI_COMM_NULL)
        host.Comm_free(&h->lane);
    h->lane = MPI_COMM_NULL;
}

void hierarchy_free(struct hierarchy *h)
{
    unlist_hierarchy(h);
    free_lane(h);
    team_leave(h->node);
    free(h);
}

void hierarchies_finalized(void)
{
    pthread_mutex_lock(&mutex);
    for (struct hierarchy *h = hierarchies; h; h = h->next)
        h->lane = MPI_COMM_NULL;
    pthread_mutex_unlock(&mutex);
}
