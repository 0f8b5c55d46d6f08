/* The reductions of communicators that span nodes; see across_nodes.h. */
#include "coll_inplace/reduce_segmented.h"
#include "pmpi_wrap/abi/collectives/reduction.h"
#include "pmpi_wrap/abi/nodes/across_nodes.h"
#include "pmpi_wrap/abi/nodes/lane_call.h"
#include "pmpi_wrap/quirks.h"

/* ---- which calls ---- */

/* The operation and its operands. */
struct lane_reduction {
    struct hierarchy *h;
    const struct reduction *r;
    struct reducer red;
    struct buffer from, to;
    size_t bytes; /* of an operand, holes included if there is a kernel */
};

/* Whether combining the operands node by node keeps the order of the ranks, or the order does not
 * matter because the operation commutes. */
static bool order_is_kept(const struct hierarchy *h, MPI_Op op)
{
    int commutes = 0;
    return h->consecutive || (host.Op_commutative(op, &commutes) == MPI_SUCCESS && commutes);
}

/* Whether the library performs the call. All ranks get the same answer, since they pass the same
 * operation and equal numbers of bytes. A user-defined operation is limited to a cell: with longer
 * operands, a node with many ranks or without memory would leave the call to the host, and the
 * others would not. */
static bool is_performed(const struct lane_reduction *o, enum call call)
{
    bool all = IS_CALL(call, Allreduce), equal = o->h->equal;
    if (op_of(o->r->op) == OP_COUNT)
        return all && o->r->op != MPI_OP_NULL && fits_into_cell(bytes_of(o->from)) &&
               order_is_kept(o->h, o->r->op);
    if (!kernel_for(op_of(o->r->op), o->r->type, o->from.map) || !is_countable(1, o->bytes))
        return false;
    if (all)
        return equal || fits_leaders(1, o->bytes);
    if (IS_CALL(call, Scan) || IS_CALL(call, Exscan))
        return equal && o->h->consecutive && fits_leaders(1, o->bytes) &&
               o->bytes > quirk(QUIRK_SCAN_CHAIN);
    return IS_CALL(call, Reduce) ? equal && o->bytes <= HIERARCHY_BUFFER
                                 : fits_leaders(1, o->bytes);
}

/* Begin a reduction. False: the call is left to the host, and has been counted. `receives`: this
 * rank gets a result; otherwise `to` is not used. */
static bool begin_lane_reduction(struct lane_reduction *o, struct hierarchy *h, enum call call,
                                 const struct reduction *r, bool receives, size_t results)
{
    bool in_place = r->from == MPI_IN_PLACE;
    struct data data = {in_place ? r->to : r->from, r->count, r->type};
    *o = (struct lane_reduction){.h = h, .r = r};
    bool valid = translate(data, &o->from) && (receives ? r->to != MPI_IN_PLACE : !in_place);
    o->to = o->from;
    o->to.at = r->to;
    o->to.count = results;
    if (valid && receives)
        valid = has_address(&o->to, bytes_of(o->to)) &&
                (in_place || !refuses_alias(call, r, bytes_of(o->from)));
    if (!valid) {
        defer_call(call, REASON_ARGUMENTS);
        return false;
    }
    o->bytes = o->from.count * o->from.map->element;
    if (!is_performed(o, call)) {
        leave(call);
        return false;
    }
    if (!reducer_open(&o->red, h->node, r->op, r->type, o->from)) {
        defer_call(call, REASON_HOST_OPERATION);
        return false;
    }
    begin_call(h);
    return true;
}

static int end_lane_reduction(struct lane_reduction *o, enum call call, MPI_Comm comm,
                              enum coll_error error)
{
    reducer_close(&o->red);
    return end_call(o->h, call, comm, error, bytes_of(o->from));
}

/* ---- allreduce ---- */

static enum coll_error allreduce_by_leaders(struct lane_reduction *o)
{
    struct hierarchy *h = o->h;
    const struct reduction *r = o->r;
    enum coll_error error = coll_reduce(h->node, &o->red, o->from, o->to, 0);
    if (leads(h))
        ON_LANE(h, host.Allreduce(MPI_IN_PLACE, r->to, (int)r->count, r->type, r->op, h->lane));
    return error | coll_bcast(h->node, o->to, 0);
}

/* Divide the elements among the ranks of the node: the same way on all nodes. */
static struct blocks divide(struct lane_reduction *o)
{
    struct hierarchy *h = o->h;
    size_t ranks = h->node->size, count = o->to.count;
    for (size_t i = 0; i < ranks; i++) {
        h->displs[i] = (int64_t)(count * i / ranks);
        h->counts[i] = (int64_t)(count * (i + 1) / ranks) - h->displs[i];
    }
    return (struct blocks){
        .at = o->to.at, .map = o->to.map, .counts = h->counts, .displs = h->displs, .wide = true};
}

/* Reduce each segment of the node's operands at one of its ranks: see segmented_reduce_scatter().
 */
static enum coll_error reduce_segments(struct lane_reduction *o)
{
    struct hierarchy *h = o->h;
    size_t *begin = team_table(h->node, TABLE_SEGMENTS);
    uint32_t ranks = h->node->size;
    for (uint32_t i = 0; i < ranks; i++)
        begin[i] = (size_t)h->displs[i] * o->red.element;
    begin[ranks] = o->from.count * o->red.element;
    return segmented_reduce_scatter(h->node, &o->red, o->from, o->to, begin, true);
}

static enum coll_error allreduce_on_lanes(struct lane_reduction *o)
{
    struct hierarchy *h = o->h;
    struct blocks segments = divide(o);
    struct buffer own = block_of(&segments, h->node->rank);
    enum coll_error error = reduce_segments(o);
    ON_LANE(h, host.Allreduce(MPI_IN_PLACE, own.at, (int)own.count, o->r->type, o->r->op, h->lane));
    return error | coll_allgather(h->node, own, &segments, true);
}

int across_nodes_allreduce(enum call call, const struct reduction *r, MPI_Comm comm)
{
    struct hierarchy *h = team_hierarchy(comm);
    struct lane_reduction o;
    if (!h)
        return DEFERRED;
    if (!begin_lane_reduction(&o, h, call, r, true, (size_t)r->count))
        return DEFERRED;
    enum coll_error error = COLL_OK;
    if (bytes_of(o.from))
        error = fits_leaders(1, o.bytes) || !o.red.kernel ? allreduce_by_leaders(&o)
                                                          : allreduce_on_lanes(&o);
    return end_lane_reduction(&o, call, comm, error);
}

/* ---- reduce ---- */

/* Reduce the results of the nodes on the root's lane, not in place: MPI_Reduce of MPICH 4.0 with
 * MPI_IN_PLACE crashes unless rank 0 is the root. */
static enum coll_error reduce_on_lane(struct lane_reduction *o, int root)
{
    struct hierarchy *h = o->h;
    uint32_t local = h->local[root];
    struct buffer of_node = {h->buffer[0], o->from.map, o->from.count};
    enum coll_error error = coll_reduce(h->node, &o->red, o->from, of_node, local);
    if (h->node->rank == local)
        ON_LANE(h, host.Reduce(of_node.at, o->r->to, (int)o->r->count, o->r->type, o->r->op,
                               (int)h->node_of[root], h->lane));
    return error;
}

int across_nodes_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm)
{
    struct hierarchy *h = team_hierarchy(comm);
    struct lane_reduction o;
    if (!h)
        return DEFERRED;
    if ((uint32_t)root >= h->size)
        return defer_call(call, REASON_ARGUMENTS);
    if (!begin_lane_reduction(&o, h, call, r, h->rank == (uint32_t)root, (size_t)r->count))
        return DEFERRED;
    enum coll_error error = COLL_OK;
    if (bytes_of(o.from))
        error = reduce_on_lane(&o, root);
    return end_lane_reduction(&o, call, comm, error);
}

/* ---- scans ---- */

/* The last rank of a node has the sum of the node. It receives the sum of the nodes before it in
 * buffer 0, which all ranks of the node combine with the results of a scan of the node. */
static enum coll_error scan_between_nodes(struct lane_reduction *o, const void *of_node)
{
    struct hierarchy *h = o->h;
    uint32_t last = h->node->size - 1;
    struct bytes storage;
    if (h->node->rank == last)
        ON_LANE(
            h, host.Exscan(of_node, h->buffer[0], (int)o->r->count, o->r->type, o->r->op, h->lane));
    if (!h->my_node)
        return COLL_OK;
    return coll_bcast(h->node, as_bytes(&storage, h->buffer[0], o->bytes), last);
}

static enum coll_error scan(struct lane_reduction *o, bool exclusive)
{
    struct hierarchy *h = o->h;
    bool is_last = h->node->rank == h->node->size - 1;
    char *own = h->buffer[1], *before = h->buffer[0];
    if (is_last && exclusive)
        copy_bytes(own, o->from.at, o->bytes);
    enum coll_error error = coll_scan(h->node, &o->red, o->from, o->to, exclusive);
    if (is_last && exclusive)
        reducer_combine(&o->red, own, o->to.at, own, o->bytes);
    error |= scan_between_nodes(o, exclusive ? own : o->to.at);
    if (!h->my_node)
        return error;
    if (!exclusive || h->node->rank)
        reducer_combine(&o->red, before, before, o->to.at, o->bytes);
    reducer_write(&o->red, o->to, 0, before, o->bytes);
    return error;
}

int across_nodes_scan(enum call call, const struct reduction *r, bool exclusive, MPI_Comm comm)
{
    struct hierarchy *h = team_hierarchy(comm);
    struct lane_reduction o;
    if (!h)
        return DEFERRED;
    size_t results = exclusive && !h->rank ? 0 : (size_t)r->count;
    if (!begin_lane_reduction(&o, h, call, r, true, results))
        return DEFERRED;
    o.to.count = (size_t)r->count;
    enum coll_error error = bytes_of(o.from) ? scan(&o, exclusive) : COLL_OK;
    return end_lane_reduction(&o, call, comm, error);
}

/* ---- reduce_scatter ---- */

/* Copy an operand from buffer 0 to buffer 1, sorted by node, and count the elements of each node.
 * Returns where the results of this node's ranks will be in buffer 0. */
static struct blocks sort_by_node(struct lane_reduction *o, const struct blocks *results)
{
    struct hierarchy *h = o->h;
    int *first = h->lane_displs, *of_node = h->lane_ranks, sum = 0, start;
    for (uint32_t n = 0; n < h->nodes; n++) {
        start = sum;
        for (uint32_t at = h->first[n], i = 0; at < h->first[n + 1]; at++, i++) {
            int count = (int)block_of(results, h->sorted[at]).count;
            first[h->sorted[at]] = sum;
            if (n == h->my_node) {
                h->displs[i] = sum - start;
                h->counts[i] = count;
            }
            sum += count;
        }
        of_node[n] = sum - start;
    }
    size_t element = o->red.element;
    const char *from = h->buffer[0];
    for (uint32_t r = 0; r < h->size; r++) {
        size_t bytes = block_of(results, r).count * element;
        copy_bytes(h->buffer[1] + (size_t)first[r] * element, from, bytes);
        from += bytes;
    }
    return (struct blocks){.at = h->buffer[0],
                           .map = o->from.map,
                           .counts = h->counts,
                           .displs = h->displs,
                           .wide = true};
}

static enum coll_error reduce_scatter(struct lane_reduction *o, const struct blocks *results)
{
    struct hierarchy *h = o->h;
    struct buffer sum = {h->buffer[0], o->from.map, o->from.count};
    struct blocks of_node = {0};
    enum coll_error error = coll_reduce(h->node, &o->red, o->from, sum, 0);
    if (leads(h)) {
        of_node = sort_by_node(o, results);
        ON_LANE(h, host.Reduce_scatter(h->buffer[1], h->buffer[0], h->lane_ranks, o->r->type,
                                       o->r->op, h->lane));
    }
    return error | coll_scatter(h->node, &of_node, o->to, 0, false, false);
}

int across_nodes_reduce_scatter(enum call call, struct reduction r,
                                const struct rank_blocks *results, MPI_Comm comm)
{
    struct hierarchy *h = team_hierarchy(comm);
    struct blocks blocks;
    struct lane_reduction o;
    if (!h)
        return DEFERRED;
    if (!translate_results(&r, results, h->size, &blocks, &r.count))
        return defer_call(call, REASON_ARGUMENTS);
    if (!begin_lane_reduction(&o, h, call, &r, true, block_of(&blocks, h->rank).count))
        return DEFERRED;
    enum coll_error error = bytes_of(o.from) ? reduce_scatter(&o, &blocks) : COLL_OK;
    return end_lane_reduction(&o, call, comm, error);
}
