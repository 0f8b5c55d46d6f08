#include "pmpi_wrap/abi/nodes/across_nodes.h"

#include "pmpi_wrap/abi/nodes/lane_call.h"
#include "pmpi_wrap/quirks.h"

/* ---- barrier and broadcast ---- */

int across_nodes_barrier(MPI_Comm comm)
{
    struct hierarchy *h = team_hierarchy(comm);
    if (!h)
        return DEFERRED;
    begin_call(h);
    coll_barrier(h->node);
    if (leads(h))
        ON_LANE(h, host.Barrier(h->lane));
    coll_barrier(h->node);
    return end_call(h, CALL_Barrier, comm, COLL_OK, 0);
}

static void bcast_between_nodes(struct hierarchy *h, struct data d, uint32_t root)
{
    ON_LANE(h, host.Bcast((void *)d.address, (int)d.count, d.type, (int)h->node_of[root], h->lane));
}

/* Broadcast between the nodes on the root's lane, if every node has a rank on it. */
static enum coll_error bcast_on_lane(struct hierarchy *h, struct data d, struct buffer b,
                                     uint32_t root)
{
    uint32_t local = h->local[root];
    if (h->node->rank == local)
        bcast_between_nodes(h, d, root);
    return coll_bcast(h->node, b, local);
}

static enum coll_error bcast_by_leaders(struct hierarchy *h, struct data d, struct buffer b,
                                        uint32_t root)
{
    enum coll_error error = COLL_OK;
    bool at_root = h->my_node == h->node_of[root];
    if (at_root)
        error = coll_bcast(h->node, b, h->local[root]);
    if (leads(h))
        bcast_between_nodes(h, d, root);
    return at_root ? error : coll_bcast(h->node, b, 0);
}

/* Whether the host sends as few messages between nodes as the library, and is faster inside a
 * node. */
static bool host_bcasts_by_node(size_t bytes)
{
    return bytes > HIERARCHY_BCAST && bytes <= quirk(QUIRK_BCAST_BY_NODE);
}

int across_nodes_bcast(enum call call, struct data d, int root, MPI_Comm comm)
{
    struct hierarchy *h = team_hierarchy(comm);
    struct buffer b;
    if (!h)
        return DEFERRED;
    if ((uint32_t)root >= h->size || !translate_bcast(d, &b))
        return defer_call(call, REASON_ARGUMENTS);
    size_t bytes = bytes_of(b);
    if (!is_countable(1, bytes) || host_bcasts_by_node(bytes))
        return leave(call);
    if (!bytes)
        return finish_call(call, comm, COLL_OK, 0);
    begin_call(h);
    enum coll_error error = h->equal ? bcast_on_lane(h, d, b, (uint32_t)root)
                                     : bcast_by_leaders(h, d, b, (uint32_t)root);
    return end_call(h, call, comm, error, bytes);
}

/* ---- gather and scatter ---- */

/* Whether gathers and scatters of blocks of so many bytes are fast. */
static bool may_run_ahead(const struct hierarchy *h, size_t bytes)
{
    return h->equal && fits_leaders(h->size, bytes) && bytes * h->largest <= HIERARCHY_AHEAD;
}

static bool host_scatters_by_node(const struct hierarchy *h, size_t bytes)
{
    return h->consecutive && bytes * h->largest < HIERARCHY_SCATTER_MIN;
}

/* The arguments of MPI_Gather or MPI_Scatter. */
struct rooted_across {
    struct hierarchy *h;
    bool is_root, in_place;
    struct buffer own; /* in place: this rank's block of `all` */
    struct blocks all; /* only at the root */
    size_t bytes;      /* of each block */
};

static bool translate_rooted_across(struct rooted_across *x, struct data own,
                                    const struct rank_blocks *all)
{
    return (x->in_place || translate(own, &x->own)) &&
           (!x->is_root || translate_blocks(all, x->h->size, &x->all, NULL));
}

/* Begin a gather or scatter. False: the call is left to the host. */
static bool begin_rooted_across(struct rooted_across *x, enum call call, struct data own,
                                const struct rank_blocks *all, int root, MPI_Comm comm)
{
    bool scatters = IS_CALL(call, Scatter);
    bool equal = scatters || IS_CALL(call, Gather);
    struct hierarchy *h = team_hierarchy(comm);
    if (!h)
        return false;
    bool is_root = h->rank == (uint32_t)root, in_place = own.address == MPI_IN_PLACE && is_root;
    *x = (struct rooted_across){.h = h, .is_root = is_root, .in_place = in_place};
    bool valid =
        translate_rooted_across(x, own, all) ||
        (commit_rooted(call, is_root, own.type, all->type) && translate_rooted_across(x, own, all));
    if ((uint32_t)root >= h->size || !valid) {
        defer_call(call, REASON_ARGUMENTS);
        return false;
    }
    if (in_place)
        x->own = block_of(&x->all, h->rank);
    x->bytes = bytes_of(x->own);
    if (equal && may_run_ahead(h, x->bytes) && !(scatters && host_scatters_by_node(h, x->bytes)))
        return true;
    leave(call);
    return false;
}

/* Buffer 0 holds the blocks of this node, buffer 1 those of all nodes, sorted by node. */
int across_nodes_gather(enum call call, struct data from, const struct rank_blocks *to, int root,
                        MPI_Comm comm)
{
    struct rooted_across x;
    struct bytes storage;
    if (!begin_rooted_across(&x, call, from, to, root, comm))
        return DEFERRED;
    if (!x.bytes)
        return finish_call(call, comm, COLL_OK, 0);
    struct hierarchy *h = x.h;
    uint32_t local = h->local[root];
    int of_node = (int)(x.bytes * h->largest);
    begin_call(h);
    struct blocks here = as_blocks(&storage, h->buffer[0], x.bytes);
    enum coll_error error = coll_gather(h->node, x.own, &here, local, false);
    if (h->node->rank == local)
        ON_LANE(h, host.Gather(h->buffer[0], of_node, constants.byte, h->buffer[1], of_node,
                               constants.byte, (int)h->node_of[root], h->lane));
    for (uint32_t r = 0; r < h->size && x.is_root && h->result == MPI_SUCCESS; r++)
        if (!(x.in_place && r == h->rank))
            buffer_write(block_of(&x.all, r), 0, h->buffer[1] + h->position[r] * x.bytes, x.bytes);
    return end_call(h, call, comm, error, x.bytes);
}

int across_nodes_scatter(enum call call, const struct rank_blocks *from, struct data to, int root,
                         MPI_Comm comm)
{
    struct rooted_across x;
    struct bytes storage;
    if (!begin_rooted_across(&x, call, to, from, root, comm))
        return DEFERRED;
    if (!x.bytes)
        return finish_call(call, comm, COLL_OK, 0);
    struct hierarchy *h = x.h;
    uint32_t local = h->local[root];
    int of_node = (int)(x.bytes * h->largest);
    begin_call(h);
    for (uint32_t r = 0; r < h->size && x.is_root; r++)
        buffer_read(h->buffer[1] + h->position[r] * x.bytes, block_of(&x.all, r), 0, x.bytes);
    if (h->node->rank == local)
        ON_LANE(h, host.Scatter(h->buffer[1], of_node, constants.byte, h->buffer[0], of_node,
                                constants.byte, (int)h->node_of[root], h->lane));
    struct blocks here = as_blocks(&storage, h->buffer[0], x.bytes);
    enum coll_error error = coll_scatter(h->node, &here, x.own, local, x.in_place, true);
    return end_call(h, call, comm, error, x.bytes);
}

/* ---- allgather ---- */

/* Arrays with an entry per rank or node. They are in buffer 0, which is not used otherwise here;
 * a communicator with so many ranks that they do not fit is left to the host. */
struct shares {
    int *counts, *displs;           /* of the ranks of this node, from the start of the node */
    int *node_counts, *node_displs; /* of the nodes */
};

static bool divide_blocks(struct hierarchy *h, const struct blocks *all, struct shares *s,
                          size_t *total)
{
    s->counts = (int *)(void *)h->buffer[0];
    s->displs = s->counts + h->largest;
    s->node_counts = s->displs + h->largest;
    s->node_displs = s->node_counts + h->nodes;
    if ((char *)(s->node_displs + h->nodes) > h->buffer[0] + HIERARCHY_ROOM)
        return false;
    *total = 0;
    for (uint32_t n = 0; n < h->nodes; n++) {
        s->node_displs[n] = (int)*total;
        for (uint32_t at = h->first[n]; at < h->first[n + 1]; at++) {
            size_t bytes = bytes_of(block_of(all, h->sorted[at]));
            if (bytes > HIERARCHY_ROOM - *total)
                return false;
            if (n == h->my_node) {
                s->counts[at - h->first[n]] = (int)bytes;
                s->displs[at - h->first[n]] = (int)*total - s->node_displs[n];
            }
            *total += bytes;
        }
        s->node_counts[n] = (int)*total - s->node_displs[n];
    }
    return true;
}

static void take_all(struct hierarchy *h, const struct blocks *all, bool in_place)
{
    const char *at = h->buffer[1];
    for (uint32_t i = 0; i < h->size; i++) {
        struct buffer block = block_of(all, h->sorted[i]);
        size_t bytes = bytes_of(block);
        if (bytes && !(in_place && h->sorted[i] == h->rank))
            buffer_write(block, 0, at, bytes);
        at += bytes;
    }
}

/* Every rank exchanges its block with the ranks of its lane. Then those of a node exchange what
 * they have received, the blocks of one node at a time. */
static void allgather_between_nodes(struct hierarchy *h, struct data from,
                                    const struct rank_blocks *to)
{
    uint32_t local = h->node->rank;
    for (uint32_t n = 0; n < h->nodes; n++) {
        h->lane_ranks[n] = (int)to->count;
        h->lane_displs[n] = (int)(h->sorted[h->first[n] + local] * to->count);
    }
    ON_LANE(h, host.Allgatherv(from.address, (int)from.count, from.type, (void *)to->address,
                               h->lane_ranks, h->lane_displs, to->type, h->lane));
}

static int allgather_on_lanes(struct hierarchy *h, enum call call, struct data from,
                              const struct rank_blocks *to, const struct blocks *all, MPI_Comm comm)
{
    size_t bytes = bytes_of(block_of(all, 0));
    enum coll_error error = COLL_OK;
    size_t most = quirk(QUIRK_ALLGATHERV_BYTES);
    if (to->counts || !h->equal || !is_countable(h->size, bytes) ||
        (most && h->nodes * bytes > most))
        return leave(call);
    begin_call(h);
    allgather_between_nodes(h, from, to);
    struct blocks here = {
        .at = all->at, .map = all->map, .counts = h->counts, .displs = h->displs, .wide = true};
    for (uint32_t n = 0; n < h->nodes; n++) {
        for (uint32_t i = 0; i < h->largest; i++) {
            h->counts[i] = (int64_t)all->count;
            h->displs[i] = (int64_t)(h->sorted[h->first[n] + i] * all->count);
        }
        error |= coll_allgather(h->node, block_of(&here, h->node->rank), &here, true);
    }
    return end_call(h, call, comm, error, bytes);
}

int across_nodes_allgather(enum call call, struct data from, const struct rank_blocks *to,
                           MPI_Comm comm)
{
    struct hierarchy *h = team_hierarchy(comm);
    struct buffer own;
    struct blocks all;
    struct shares s;
    struct bytes storage, storage_of_all;
    size_t total;
    bool in_place = from.address == MPI_IN_PLACE;
    if (!h)
        return DEFERRED;
    if ((!in_place && !translate(from, &own)) || !translate_received(to, h->size, &all))
        return defer_call(call, REASON_ARGUMENTS);
    if (in_place)
        own = block_of(&all, h->rank);
    if (!divide_blocks(h, &all, &s, &total))
        return allgather_on_lanes(h, call, from, to, &all, comm);
    if (!total)
        return finish_call(call, comm, COLL_OK, 0);
    begin_call(h);
    struct blocks here = as_blocks(&storage, h->buffer[1] + s.node_displs[h->my_node], 1);
    here.counts = s.counts;
    here.displs = s.displs;
    enum coll_error error = coll_gather(h->node, own, &here, 0, false);
    if (leads(h))
        ON_LANE(h, host.Allgatherv(MPI_IN_PLACE, 0, constants.byte, h->buffer[1], s.node_counts,
                                   s.node_displs, constants.byte, h->lane));
    error |= coll_bcast(h->node, as_bytes(&storage_of_all, h->buffer[1], total), 0);
    take_all(h, &all, in_place);
    return end_call(h, call, comm, error, bytes_of(own));
}

/* ---- alltoall ---- */

/* Blocks are sorted by the node of the receiver, then by sender, then by receiver: what one leader
 * sends to another one is adjacent. */
static void sort_for_nodes(const struct hierarchy *h, char *to, const char *from, size_t bytes)
{
    for (uint32_t n = 0; n < h->nodes; n++)
        for (uint32_t s = 0; s < h->node->size; s++)
            for (uint32_t at = h->first[n]; at < h->first[n + 1]; at++, to += bytes)
                memcpy(to, from + ((size_t)s * h->size + h->sorted[at]) * bytes, bytes);
}

static void sort_for_ranks(const struct hierarchy *h, char *to, const char *from, size_t bytes)
{
    for (uint32_t at = 0; at < h->size; at++)
        for (uint32_t d = 0; d < h->node->size; d++, from += bytes)
            memcpy(to + ((size_t)d * h->size + h->sorted[at]) * bytes, from, bytes);
}

static void exchange_blocks(struct hierarchy *h, size_t bytes)
{
    int *counts = h->lane_ranks, *displs = h->lane_displs;
    for (uint32_t n = 0; n < h->nodes; n++) {
        counts[n] = (int)((size_t)hierarchy_ranks_of(h, n) * h->node->size * bytes);
        displs[n] = (int)((size_t)h->first[n] * h->node->size * bytes);
    }
    ON_LANE(h, host.Alltoallv(h->buffer[1], counts, displs, constants.byte, h->buffer[0], counts,
                              displs, constants.byte, h->lane));
}

int across_nodes_alltoall(enum call call, const struct rank_blocks *from,
                          const struct rank_blocks *to, MPI_Comm comm)
{
    struct hierarchy *h = team_hierarchy(comm);
    struct blocks out, in;
    struct bytes storage;
    bool in_place = from->address == MPI_IN_PLACE;
    if (!h)
        return DEFERRED;
    if (to->counts || to->types)
        return leave(call);
    if (!translate_blocks(to, h->size, &in, NULL) ||
        !translate_blocks(in_place ? to : from, h->size, &out, NULL))
        return defer_call(call, REASON_ARGUMENTS);
    size_t bytes = bytes_of(block_of(&in, 0)), of_rank = bytes * h->size;
    if (bytes > HIERARCHY_BLOCK || !fits_leaders(h->size, bytes) ||
        !fits_leaders(h->largest, of_rank))
        return leave(call);
    if (!bytes)
        return finish_call(call, comm, COLL_OK, 0);
    begin_call(h);
    struct buffer sent = {out.at, out.map, out.count * h->size};
    struct buffer received = {in.at, in.map, in.count * h->size};
    struct blocks here = as_blocks(&storage, h->buffer[0], of_rank);
    enum coll_error error = coll_gather(h->node, sent, &here, 0, false);
    if (leads(h)) {
        sort_for_nodes(h, h->buffer[1], h->buffer[0], bytes);
        exchange_blocks(h, bytes);
        sort_for_ranks(h, h->buffer[1], h->buffer[0], bytes);
    }
    here.at = h->buffer[1];
    error |= coll_scatter(h->node, &here, received, 0, false, true);
    return end_call(h, call, comm, error, of_rank);
}
