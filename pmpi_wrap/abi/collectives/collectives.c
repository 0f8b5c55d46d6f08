/* The collectives of intracommunicators and intercommunicators; see collectives.h. In the calls
 * that have a root, the program passes a rank of the team or, in an intercommunicator, MPI_ROOT or
 * MPI_PROC_NULL. */
#include "coll_inplace/reduce_unsegmented.h"
#include "pmpi_wrap/abi/collectives/arguments.h"
#include "pmpi_wrap/abi/collectives/reduction.h"
#include "pmpi_wrap/abi/nodes/across_nodes.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/quirks.h"

/* Which calls report an error if their two buffers are the same. A single rank may pass the same
 * buffer twice. If it left the call to a host that accepts this, the other ranks would wait for it
 * (H13). A setting of the host can switch its check off. */
static struct {
    bool reduce, others;
} refuses_aliases;

/* A host with QUIRK_REFUSES_ALIASES is asked with an empty datatype: without its check, Debian's
 * MPICH aborts when it copies a buffer onto itself. */
void collectives_open(void)
{
    int value = 0;
    MPI_Datatype empty;
    MPI_Comm self = private_comm_lock();
    if (!quirk(QUIRK_REFUSES_ALIASES)) {
        refuses_aliases.reduce =
            host.Reduce(&value, &value, 1, MPI_INT, MPI_SUM, 0, self) != MPI_SUCCESS;
    } else if (host.Type_contiguous(0, constants.byte, &empty) == MPI_SUCCESS) {
        host.Type_commit(&empty);
        refuses_aliases.others =
            host.Alltoall(&value, 1, empty, &value, 1, empty, self) != MPI_SUCCESS;
        refuses_aliases.reduce = refuses_aliases.others;
        host.Type_free(&empty);
    }
    private_comm_unlock();
}

/* ---- roles ---- */

/* Leave a call of a team to the host. In an intercommunicator it has an operation number all the
 * same: see collectives.h. */
static COLD int defer_of_team(struct team *t, enum call call, enum reason reason)
{
    if (team_is_inter(t))
        coll_pass(t);
    return defer_call(call, reason);
}

/* Returns INTER_ROOT if this rank is the root of an intercommunicator, otherwise 0. */
static COLD uint32_t inter_root(const struct team *t, int root)
{
    return team_is_inter(t) && root == MPI_ROOT ? INTER_ROOT : 0;
}

/* End the call of a rank whose root is neither a rank nor MPI_ROOT. */
static COLD int finish_without_root(struct team *t, enum call call, MPI_Comm comm, int root)
{
    if (!team_is_inter(t) || root != MPI_PROC_NULL)
        return defer_of_team(t, call, REASON_ARGUMENTS);
    coll_pass(t);
    return finish_call(call, comm, COLL_OK, 0);
}

/* ---- moving data ---- */

int do_bcast(enum call call, struct data d, int root, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, false);
    struct buffer b;
    uint32_t r = (uint32_t)root;
    if (UNLIKELY(!t))
        return across_nodes_bcast(call, d, root, comm);
    if (UNLIKELY(r >= t->size) && (r = inter_root(t, root)) != INTER_ROOT)
        return finish_without_root(t, call, comm, root);
    if (UNLIKELY(!translate_bcast(d, &b)))
        return defer_of_team(t, call, REASON_ARGUMENTS);
    return finish_call(call, comm, coll_bcast(t, b, r), bytes_of(b));
}

/* The arguments of MPI_Gather or MPI_Scatter. */
struct rooted {
    struct team *team;
    uint32_t root;
    struct buffer own; /* empty if this rank, the root, has none or passes MPI_IN_PLACE */
    bool has_own;
    struct blocks all; /* only at the root */
};

HOT_INLINE bool translate_rooted(struct rooted *x, bool is_root, struct data own,
                                 const struct rank_blocks *all)
{
    return (!x->has_own || translate(own, &x->own)) &&
           (!is_root || translate_blocks(all, x->team->size, &x->all, NULL));
}

/* Leave a gather or scatter with wrong arguments to the host. If it is one of no elements,
 * MPI_DATATYPE_NULL is an error only at the rank that passes it, or none: other ranks may have
 * completed the call, so it takes an operation number. */
static COLD void defer_rooted(struct team *t, enum call call, MPI_Count count)
{
    bool equal = IS_CALL(call, Gather) || IS_CALL(call, Scatter);
    if (equal && !count && !t->alone && !team_is_inter(t))
        coll_pass(t);
    defer_of_team(t, call, REASON_ARGUMENTS);
}

/* Translate the data of this rank and, at the root, the blocks of all ranks. False: there is no
 * team, or the call has ended with `*result`. */
HOT_INLINE bool begin_rooted(struct rooted *x, enum call call, struct data own,
                             const struct rank_blocks *all, int root, MPI_Comm comm, int *result)
{
    struct team *t = team_for(comm, call, false);
    uint32_t r = (uint32_t)root;
    *x = (struct rooted){.team = t};
    *result = DEFERRED;
    if (UNLIKELY(!t))
        return false;
    if (UNLIKELY(r >= t->size) && (r = inter_root(t, root)) != INTER_ROOT) {
        *result = finish_without_root(t, call, comm, root);
        return false;
    }
    bool is_root = r == t->self;
    bool has_own = !is_root || (own.address != MPI_IN_PLACE && !team_is_inter(t));
    *x = (struct rooted){.team = t, .root = r, .has_own = has_own};
    if (LIKELY(translate_rooted(x, is_root, own, all)))
        return true;
    if (commit_rooted(call, is_root, own.type, all->type) && translate_rooted(x, is_root, own, all))
        return true;
    defer_rooted(t, call, is_root ? all->count : own.count);
    return false;
}

static int finish_rooted(const struct rooted *x, enum call call, MPI_Comm comm,
                         enum coll_error error)
{
    return finish_call(call, comm, error, x->has_own ? bytes_of(x->own) : 0);
}

int do_gather(enum call call, struct data from, const struct rank_blocks *to, int root,
              MPI_Comm comm)
{
    struct rooted x;
    int result;
    if (!begin_rooted(&x, call, from, to, root, comm, &result))
        return x.team ? result : across_nodes_gather(call, from, to, root, comm);
    return finish_rooted(&x, call, comm, coll_gather(x.team, x.own, &x.all, x.root, !x.has_own));
}

int do_scatter(enum call call, const struct rank_blocks *from, struct data to, int root,
               MPI_Comm comm)
{
    bool equal = IS_CALL(call, Scatter);
    struct rooted x;
    int result;
    if (!begin_rooted(&x, call, to, from, root, comm, &result))
        return x.team ? result : across_nodes_scatter(call, from, to, root, comm);
    return finish_rooted(&x, call, comm,
                         coll_scatter(x.team, &x.all, x.own, x.root, !x.has_own, equal));
}

int do_allgather(enum call call, struct data from, const struct rank_blocks *to, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, !to->counts);
    struct buffer own;
    struct blocks all;
    if (!t)
        return across_nodes_allgather(call, from, to, comm);
    bool in_place = from.address == MPI_IN_PLACE && !team_is_inter(t);
    bool valid = (in_place || translate(from, &own)) && translate_received(to, t->size, &all);
    if (UNLIKELY(!valid))
        return defer_of_team(t, call, REASON_ARGUMENTS);
    if (in_place)
        own = block_of(&all, t->rank);
    return finish_call(call, comm, coll_allgather(t, own, &all, in_place), bytes_of(own));
}

/* Does the host report an error because both buffers are the same, which is right only with
 * MPI_IN_PLACE? It does not check this in the calls with an array of counts, such as MPI_Alltoallv,
 * whose blocks may be disjoint. */
static bool refuses_same_blocks(const struct rank_blocks *from, const struct rank_blocks *to)
{
    return UNLIKELY(from->address == to->address) && !to->counts && from->count == to->count &&
           from->type == to->type && refuses_aliases.others;
}

int do_alltoall(enum call call, const struct rank_blocks *from, const struct rank_blocks *to,
                MPI_Comm comm)
{
    struct team *t = team_for(comm, call, !to->counts);
    struct blocks out, in;
    if (!t)
        return across_nodes_alltoall(call, from, to, comm);
    bool in_place = from->address == MPI_IN_PLACE && !team_is_inter(t);
    if (!translate_blocks(to, t->size, &in, team_table(t, TABLE_RECEIVED_TYPES)) ||
        !translate_blocks(in_place ? to : from, t->size, &out, team_table(t, TABLE_SENT_TYPES)))
        return defer_of_team(t, call, REASON_ARGUMENTS);
    if (refuses_same_blocks(from, to) && !team_is_inter(t) && bytes_of_all(t, &out))
        return defer_call(call, REASON_ARGUMENTS);
    return finish_call(call, comm, coll_alltoall(t, &out, &in, in_place), bytes_of_all(t, &out));
}

/* ---- reductions ---- */

/* In MPI_Exscan and the reduce_scatter calls, a rank may have no result, and pass a null buffer. */
static bool has_result(enum call call)
{
    return IS_CALL(call, Reduce) || IS_CALL(call, Allreduce) || IS_CALL(call, Scan);
}

/* Does the host have to decide whether it is an error that operand and result are the same buffer?
 * At the root of an intercommunicator the operand is not an argument. */
static bool refuses_same_buffer(const struct team *t, enum call call)
{
    if (team_is_inter(t))
        return !IS_CALL(call, Reduce);
    return IS_CALL(call, Reduce) ? refuses_aliases.reduce : refuses_aliases.others;
}

bool refuses_alias(enum call call, const struct reduction *r, size_t bytes)
{
    return r->from == r->to && bytes &&
           (IS_CALL(call, Reduce) ? refuses_aliases.reduce : refuses_aliases.others);
}

/* All ranks agree, since they pass equal type signatures. */
static bool host_is_faster(const struct team *t, enum call call, MPI_Op op, struct buffer operand)
{
    size_t most = quirk(QUIRK_REDUCE_USER_BYTES);
    return IS_CALL(call, Reduce) && op_of(op) == OP_COUNT && most && bytes_of(operand) > most &&
           !team_is_inter(t);
}

/* In an intercommunicator each rank would reduce all operands of the other group; for long ones a
 * tree, as in the hosts, is faster. */
static bool is_too_long(const struct team *t, enum call call, struct buffer operand)
{
    return team_is_inter(t) && has_result(call) && !fits_into_cell(bytes_of(operand)) &&
           team_larger_group(t) > UNSEGMENTED_RANKS_MAX;
}

/* Translate the arguments of a reduction. False: the call is left to the host, and has been
 * counted. `receives`: this rank gets a result; otherwise `to` is not used. */
static bool translate_reduction(enum call call, const struct reduction *r, struct team *t,
                                bool receives, struct reducer *red, struct buffer *from,
                                struct buffer *to)
{
    bool inter = team_is_inter(t), in_place = r->from == MPI_IN_PLACE && receives && !inter;
    bool only_receives = inter && receives && IS_CALL(call, Reduce);
    struct data data = {in_place || only_receives ? r->to : r->from, r->count, r->type};
    bool valid = translate(data, from) && !(receives && r->to == MPI_IN_PLACE);
    *to = *from;
    to->at = r->to;
    if (valid && receives && has_result(call))
        valid = has_address(to, bytes_of(*from));
    bool aliased =
        valid && r->from == r->to && receives && bytes_of(*from) && refuses_same_buffer(t, call);
    if (!valid || aliased) {
        defer_of_team(t, call, REASON_ARGUMENTS);
        return false;
    }
    if (host_is_faster(t, call, r->op, *from) || !reducer_open(red, t, r->op, r->type, *from)) {
        defer_of_team(t, call, REASON_HOST_OPERATION);
        return false;
    }
    if (LIKELY(!is_too_long(t, call, *from)))
        return true;
    reducer_close(red);
    defer_of_team(t, call, REASON_TOO_MANY_RANKS);
    return false;
}

int do_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, false);
    struct reducer red;
    struct buffer from, to;
    uint32_t index = (uint32_t)root;
    if (!t)
        return across_nodes_reduce(call, r, root, comm);
    if (UNLIKELY(index >= t->size) && (index = inter_root(t, root)) != INTER_ROOT)
        return finish_without_root(t, call, comm, root);
    if (!translate_reduction(call, r, t, index == t->self, &red, &from, &to))
        return DEFERRED;
    enum coll_error error = coll_reduce(t, &red, from, to, index);
    reducer_close(&red); /* before an error handler, which may not return */
    return finish_call(call, comm, error, bytes_of(from));
}

/* Returns how many bytes were reduced; 0: none, because coll_allreduce_few() does not cover the
 * call. */
HOT_INLINE size_t allreduce_few(const struct reduction *r, struct team *t)
{
    if ((uint64_t)r->count > COLL_FEW)
        return 0;
    const struct typemap *map = typemap_of_or_abort(r->type);
    enum op op = op_of(r->op);
    if (UNLIKELY(!map || op == OP_COUNT || map->without_holes || !r->from || !r->to) ||
        r->from == r->to || r->to == MPI_IN_PLACE)
        return 0;
    size_t bytes = (size_t)r->count * map->element;
    combine_fn *kernel = kernel_for(op, r->type, map);
    if (UNLIKELY(!kernel) || !coll_is_few(t, bytes))
        return 0;
    coll_allreduce_few(t, kernel, r->from == MPI_IN_PLACE ? r->to : r->from, r->to,
                       (size_t)r->count, bytes);
    return bytes;
}

int do_allreduce(enum call call, const struct reduction *r, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, r->count > 0);
    struct reducer red;
    struct buffer from, to;
    if (UNLIKELY(!t))
        return across_nodes_allreduce(call, r, comm);
    size_t few = allreduce_few(r, t);
    if (few)
        return finish_call(call, comm, COLL_OK, few);
    if (UNLIKELY(!translate_reduction(call, r, t, true, &red, &from, &to)))
        return DEFERRED;
    enum coll_error error = coll_allreduce(t, &red, from, to);
    reducer_close(&red);
    return finish_call(call, comm, error, bytes_of(from));
}

int do_scan(enum call call, const struct reduction *r, bool exclusive, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, false);
    struct reducer red;
    struct buffer from, to;
    if (!t)
        return across_nodes_scan(call, r, exclusive, comm);
    if (UNLIKELY(team_is_inter(t))) /* intercommunicators have no such call */
        return defer_of_team(t, call, REASON_ARGUMENTS);
    if (!translate_reduction(call, r, t, true, &red, &from, &to))
        return DEFERRED;
    enum coll_error error = coll_scan(t, &red, from, to, exclusive);
    reducer_close(&red);
    return finish_call(call, comm, error, bytes_of(from));
}

int do_reduce_scatter(enum call call, struct reduction r, struct rank_blocks results, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, !results.counts && results.count > 0);
    struct reducer red;
    struct buffer from, to;
    struct blocks blocks;
    if (!t)
        return across_nodes_reduce_scatter(call, r, &results, comm);
    if (!translate_results(&r, &results, t->group, &blocks, &r.count))
        return defer_of_team(t, call, REASON_ARGUMENTS);
    struct buffer share = {r.to, blocks.map, block_of(&blocks, t->rank).count};
    if (!has_address(&share, bytes_of(share)))
        return defer_of_team(t, call, REASON_ARGUMENTS);
    if (!translate_reduction(call, &r, t, true, &red, &from, &to))
        return DEFERRED;
    to.count = share.count;
    enum coll_error error = coll_reduce_scatter(t, &red, from, to, &blocks);
    reducer_close(&red);
    return finish_call(call, comm, error, bytes_of(from));
}
