#include "pmpi_wrap/abi/collectives/arguments.h"
#include "pmpi_wrap/abi/collectives/intercomm.h"
#include "pmpi_wrap/abi/collectives/reduction.h"

COLD int defer_call(enum call call, enum reason reason)
{
    deferred(call, reason);
    return DEFERRED;
}

static bool is_root(const struct team *t, int root)
{
    return t->rank == (uint32_t)root;
}

/* ---- moving data ---- */

int accel_Barrier(MPI_Comm comm)
{
    struct team *t = team_for(comm, CALL_Barrier, true);
    if (UNLIKELY(!t)) {
        int result = intercomm_barrier(comm);
        return result != DEFERRED ? result : comm_used(comm, host.Barrier(comm));
    }
    coll_barrier(t);
    return done(CALL_Barrier, comm, COLL_OK, 0);
}

int do_bcast(enum call call, struct data d, int root, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, false);
    struct buffer b;
    if (UNLIKELY(!t))
        return intercomm_bcast(call, d, root, comm);
    if (UNLIKELY((uint32_t)root >= t->size) || UNLIKELY(!translate(d, &b)))
        return defer_call(call, REASON_ARGUMENTS);
    return done(call, comm, coll_bcast(t, b, (uint32_t)root), bytes_of(b));
}

int do_gather(enum call call, struct data from, const struct all *to, int root, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, false);
    struct buffer mine = {0};
    struct blocks all = {0};
    if (!t)
        return intercomm_gather(call, from, to, root, comm);
    if ((uint32_t)root >= t->size)
        return defer_call(call, REASON_ARGUMENTS);
    bool in_place = from.at == MPI_IN_PLACE && is_root(t, root);
    if ((!in_place && (from.at == MPI_IN_PLACE || !translate(from, &mine))) ||
        (is_root(t, root) && !translate_all(to, t->size, &all, NULL)))
        return defer_call(call, REASON_ARGUMENTS);
    enum coll_error error = coll_gather(t, mine, &all, (uint32_t)root, in_place);
    return done(call, comm, error, in_place ? 0 : bytes_of(mine));
}

int do_scatter(enum call call, const struct all *from, struct data to, int root, MPI_Comm comm)
{
    bool equal = call == CALL_Scatter || call == CALL_Scatter_c;
    struct team *t = team_for(comm, call, false);
    struct buffer mine = {0};
    struct blocks all = {0};
    if (!t)
        return intercomm_scatter(call, from, to, root, comm);
    if ((uint32_t)root >= t->size)
        return defer_call(call, REASON_ARGUMENTS);
    bool in_place = to.at == MPI_IN_PLACE && is_root(t, root);
    if ((!in_place && (to.at == MPI_IN_PLACE || !translate(to, &mine))) ||
        (is_root(t, root) && !translate_all(from, t->size, &all, NULL)))
        return defer_call(call, REASON_ARGUMENTS);
    enum coll_error error = coll_scatter(t, &all, mine, (uint32_t)root, in_place, equal);
    return done(call, comm, error, in_place ? 0 : bytes_of(mine));
}

int do_allgather(enum call call, struct data from, const struct all *to, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, true);
    struct buffer mine;
    struct blocks all;
    if (!t)
        return intercomm_allgather(call, from, to, comm);
    bool in_place = from.at == MPI_IN_PLACE;
    if (!in_place && !translate(from, &mine))
        return defer_call(call, REASON_ARGUMENTS);
    if (!translate_all(to, t->size, &all, NULL))
        return defer_call(call, REASON_ARGUMENTS);
    if (in_place)
        mine = block_of(&all, t->rank);
    return done(call, comm, coll_allgather(t, mine, &all, in_place), bytes_of(mine));
}

int do_alltoall(enum call call, const struct all *from, const struct all *to, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, true);
    struct blocks out, in;
    struct maps out_maps, in_maps;
    if (!t)
        return intercomm_alltoall(call, from, to, comm);
    bool in_place = from->at == MPI_IN_PLACE;
    if (!translate_all(to, t->size, &in, &in_maps) ||
        !translate_all(in_place ? to : from, t->size, &out, &out_maps))
        return defer_call(call, REASON_ARGUMENTS);
    return done(call, comm, coll_alltoall(t, &out, &in, in_place), bytes_of_all(t, &out));
}

/* ---- reductions ---- */

/* The buffers and how to combine. Where this rank gets no result, `to` has none either. */
static bool translate_reduction(enum call call, const struct reduction *r, struct team *t,
                                bool receives, struct reducer *red, struct buffer *from,
                                struct buffer *to)
{
    bool in_place = r->from == MPI_IN_PLACE;
    struct data data = {in_place ? r->to : r->from, r->count, r->type};
    bool good = translate(data, from) && (receives || !in_place);
    bool aliased = good && !in_place && receives && r->from == r->to && bytes_of(*from) &&
                   HOST_REFUSES_ALIASES(call);
    if (!good || aliased) {
        defer_call(call, REASON_ARGUMENTS);
        return false;
    }
    *to = *from;
    to->at = r->to;
    if (reducer_for(red, r->op, r->type, *from, t->size))
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
    int result = done(call, comm, error, bytes_of(from));
    reducer_close(&red);
    return result;
}

/* Returns how many bytes were reduced; 0: none, it is not a case for coll_allreduce_few(). */
HOT_INLINE size_t allreduce_few(const struct reduction *r, struct team *t)
{
    if ((uint64_t)r->count > COLL_FEW)
        return 0;
    const struct typemap *map = map_of(r->type);
    enum op op = op_of(r->op);
    if (UNLIKELY(!map || !reduction_kernels || op == OP_COUNT || map->without_holes) ||
        r->from == r->to)
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
    struct team *t = team_for(comm, call, true);
    struct reducer red;
    struct buffer from, to;
    if (UNLIKELY(!t))
        return intercomm_allreduce(call, r, comm);
    size_t few = allreduce_few(r, t);
    if (few)
        return done(call, comm, COLL_OK, few);
    if (UNLIKELY(!translate_reduction(call, r, t, true, &red, &from, &to)))
        return DEFERRED;
    enum coll_error error = coll_allreduce(t, &red, from, to);
    int result = done(call, comm, error, bytes_of(from));
    reducer_close(&red);
    return result;
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
    int result = done(call, comm, error, bytes_of(from));
    reducer_close(&red);
    return result;
}

/* `shares`: counts of their own for each rank, or one for all. */
int do_reduce_scatter(enum call call, struct reduction r, struct all shares, MPI_Comm comm)
{
    struct team *t = team_for(comm, call, true);
    struct reducer red;
    struct buffer from, to;
    if (!t)
        return intercomm_reduce_scatter(call, r, shares, comm);
    struct blocks blocks = {.map = map_of(r.type),
                            .count = (size_t)shares.count,
                            .counts = shares.counts,
                            .wide = shares.wide};
    if (!blocks.map || (!shares.counts && shares.count < 0) || !blocks_are_good(&blocks, t->size))
        return defer_call(call, REASON_ARGUMENTS);
    r.count = 0;
    for (uint32_t rank = 0; rank < t->size; rank++)
        r.count += (MPI_Count)block_of(&blocks, rank).count;
    if (!translate_reduction(call, &r, t, true, &red, &from, &to))
        return DEFERRED;
    to.count = block_of(&blocks, t->rank).count;
    enum coll_error error = coll_reduce_scatter(t, &red, from, to, &blocks);
    int result = done(call, comm, error, bytes_of(from));
    reducer_close(&red);
    return result;
}
