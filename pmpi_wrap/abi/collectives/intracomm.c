/* The collectives of intracommunicators; see collectives.h. */
#include "pmpi_wrap/abi/collectives/arguments.h"
#include "pmpi_wrap/abi/collectives/intercomm.h"
#include "pmpi_wrap/abi/collectives/reduction.h"
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

static bool is_root(const struct team *t, int root)
{
    return t->rank == (uint32_t)root;
}

/* ---- moving data ---- */

int do_bcast(enum call call, struct data d, int root, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, false);
    struct buffer b;
    if (UNLIKELY(!t))
        return intercomm_bcast(call, d, root, comm);
    if (UNLIKELY((uint32_t)root >= t->size) || UNLIKELY(!translate(d, &b)))
        return defer_call(call, REASON_ARGUMENTS);
    return finish_call(call, comm, coll_bcast(t, b, (uint32_t)root), bytes_of(b));
}

int do_gather(enum call call, struct data from, const struct rank_blocks *to, int root,
              MPI_Comm comm)
{
    struct team *t = team_for(comm, call, false);
    struct buffer own = {0};
    struct blocks all = {0};
    if (!t)
        return intercomm_gather(call, from, to, root, comm);
    if ((uint32_t)root >= t->size)
        return defer_call(call, REASON_ARGUMENTS);
    bool in_place = from.address == MPI_IN_PLACE && is_root(t, root);
    if ((!in_place && (from.address == MPI_IN_PLACE || !translate(from, &own))) ||
        (is_root(t, root) && !translate_blocks(to, t->size, &all, NULL)))
        return defer_call(call, REASON_ARGUMENTS);
    enum coll_error error = coll_gather(t, own, &all, (uint32_t)root, in_place);
    return finish_call(call, comm, error, in_place ? 0 : bytes_of(own));
}

int do_scatter(enum call call, const struct rank_blocks *from, struct data to, int root,
               MPI_Comm comm)
{
    bool equal = call == CALL_Scatter || call == CALL_Scatter_c;
    struct team *t = team_for(comm, call, false);
    struct buffer own = {0};
    struct blocks all = {0};
    if (!t)
        return intercomm_scatter(call, from, to, root, comm);
    if ((uint32_t)root >= t->size)
        return defer_call(call, REASON_ARGUMENTS);
    bool in_place = to.address == MPI_IN_PLACE && is_root(t, root);
    if ((!in_place && (to.address == MPI_IN_PLACE || !translate(to, &own))) ||
        (is_root(t, root) && !translate_blocks(from, t->size, &all, NULL)))
        return defer_call(call, REASON_ARGUMENTS);
    enum coll_error error = coll_scatter(t, &all, own, (uint32_t)root, in_place, equal);
    return finish_call(call, comm, error, in_place ? 0 : bytes_of(own));
}

int do_allgather(enum call call, struct data from, const struct rank_blocks *to, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, !to->counts);
    struct buffer own;
    struct blocks all;
    if (!t)
        return intercomm_allgather(call, from, to, comm);
    bool in_place = from.address == MPI_IN_PLACE;
    if (!in_place && !translate(from, &own))
        return defer_call(call, REASON_ARGUMENTS);
    if (!translate_blocks(to, t->size, &all, NULL))
        return defer_call(call, REASON_ARGUMENTS);
    if (in_place)
        own = block_of(&all, t->rank);
    return finish_call(call, comm, coll_allgather(t, own, &all, in_place), bytes_of(own));
}

/* Does the host report an error because both buffers are the same, which is right only with
 * MPI_IN_PLACE? It does not check this in the calls with counts, whose blocks may be disjoint. */
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
        return intercomm_alltoall(call, from, to, comm);
    bool in_place = from->address == MPI_IN_PLACE;
    if (!translate_blocks(to, t->size, &in, team_table(t, TABLE_RECEIVED_TYPES)) ||
        !translate_blocks(in_place ? to : from, t->size, &out, team_table(t, TABLE_SENT_TYPES)))
        return defer_call(call, REASON_ARGUMENTS);
    if (refuses_same_blocks(from, to) && bytes_of_all(t, &out))
        return defer_call(call, REASON_ARGUMENTS);
    return finish_call(call, comm, coll_alltoall(t, &out, &in, in_place), bytes_of_all(t, &out));
}

/* ---- reductions ---- */

/* In MPI_Exscan and the calls that scatter, a rank may have no result, and pass a null buffer. */
static bool has_result(enum call call)
{
    return call == CALL_Reduce || call == CALL_Reduce_c || call == CALL_Allreduce ||
           call == CALL_Allreduce_c || call == CALL_Scan || call == CALL_Scan_c;
}

/* Does the host refuse this call if operand and result are the same buffer? Then it has to report
 * the error. */
static bool refuses_same_buffer(enum call call)
{
    bool is_reduce = call == CALL_Reduce || call == CALL_Reduce_c;
    return is_reduce ? refuses_aliases.reduce : refuses_aliases.others;
}

/* All ranks agree, since they pass equal type signatures. */
static bool host_is_faster(enum call call, MPI_Op op, struct buffer operand)
{
    size_t most = quirk(QUIRK_REDUCE_USER_BYTES);
    return (call == CALL_Reduce || call == CALL_Reduce_c) && op_of(op) == OP_COUNT && most &&
           bytes_of(operand) > most;
}

/* False: the call is left to the host, and has been counted. `receives`: this rank gets a result;
 * otherwise `to` is not used. */
static bool translate_reduction(enum call call, const struct reduction *r, struct team *t,
                                bool receives, struct reducer *red, struct buffer *from,
                                struct buffer *to)
{
    bool in_place = r->from == MPI_IN_PLACE;
    struct data data = {in_place ? r->to : r->from, r->count, r->type};
    bool valid = translate(data, from) && (receives ? r->to != MPI_IN_PLACE : !in_place);
    *to = *from;
    to->at = r->to;
    if (valid && receives && has_result(call))
        valid = has_address(to, bytes_of(*from));
    bool aliased = valid && !in_place && receives && r->from == r->to && bytes_of(*from) &&
                   refuses_same_buffer(call);
    if (!valid || aliased) {
        defer_call(call, REASON_ARGUMENTS);
        return false;
    }
    if (!host_is_faster(call, r->op, *from) && reducer_open(red, t, r->op, r->type, *from, t->size))
        return true;
    defer_call(call, REASON_HOST_OPERATION);
    return false;
}

int do_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, false);
    struct reducer red;
    struct buffer from, to;
    if (!t)
        return intercomm_reduce(call, r, root, comm);
    if ((uint32_t)root >= t->size)
        return defer_call(call, REASON_ARGUMENTS);
    if (!translate_reduction(call, r, t, is_root(t, root), &red, &from, &to))
        return DEFERRED;
    enum coll_error error = coll_reduce(t, &red, from, to, (uint32_t)root);
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
        return intercomm_allreduce(call, r, comm);
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
        return intercomm_undefined(call, comm);
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
        return intercomm_reduce_scatter(call, r, results, comm);
    if (!translate_results(&r, &results, t->size, &blocks, &r.count))
        return defer_call(call, REASON_ARGUMENTS);
    if (!translate_reduction(call, &r, t, true, &red, &from, &to))
        return DEFERRED;
    to.count = block_of(&blocks, t->rank).count;
    enum coll_error error = coll_reduce_scatter(t, &red, from, to, &blocks);
    reducer_close(&red);
    return finish_call(call, comm, error, bytes_of(from));
}
