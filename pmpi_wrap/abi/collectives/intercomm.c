#include "pmpi_wrap/abi/collectives/intercomm.h"

#include "coll_inplace/coll.h"
#include "coll_inplace/reduce_unsegmented.h"
#include "pmpi_wrap/abi/collectives/arguments.h"
#include "pmpi_wrap/abi/collectives/reduction.h"

/* ---- roles ---- */

static bool sends_or_receives(const struct team *t, int root)
{
    return root == MPI_ROOT || (uint32_t)root < t->size;
}

static uint32_t role(int root)
{
    return root == MPI_ROOT ? INTER_ROOT : (uint32_t)root;
}

/* The call is the host's; it takes its number all the same. */
static COLD int refused(struct team *t, enum call call, enum reason reason)
{
    coll_pass(t);
    return defer_call(call, reason);
}

static int passed(struct team *t, enum call call, MPI_Comm comm)
{
    coll_pass(t);
    return done(call, comm, COLL_OK, 0);
}

/* ---- moving data ---- */

int intercomm_barrier(MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    if (!t)
        return DEFERRED;
    coll_barrier_between(t);
    return done(CALL_Barrier, comm, COLL_OK, 0);
}

int intercomm_bcast(enum call call, struct data d, int root, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct buffer b;
    if (!t)
        return DEFERRED;
    if (root == MPI_PROC_NULL)
        return passed(t, call, comm);
    if (!sends_or_receives(t, root) || !translate(d, &b))
        return refused(t, call, REASON_ARGUMENTS);
    return done(call, comm, coll_bcast(t, b, role(root)), bytes_of(b));
}

int intercomm_gather(enum call call, struct data from, const struct all *to, int root,
                     MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct buffer mine = {0};
    struct blocks all = {0};
    if (!t)
        return DEFERRED;
    if (root == MPI_PROC_NULL)
        return passed(t, call, comm);
    bool good = root == MPI_ROOT ? translate_all(to, t->size, &all, NULL)
                                 : from.at != MPI_IN_PLACE && translate(from, &mine);
    if (!sends_or_receives(t, root) || !good)
        return refused(t, call, REASON_ARGUMENTS);
    enum coll_error error = coll_gather(t, mine, &all, role(root), false);
    return done(call, comm, error, root == MPI_ROOT ? 0 : bytes_of(mine));
}

int intercomm_scatter(enum call call, const struct all *from, struct data to, int root,
                      MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct buffer mine = {0};
    struct blocks all = {0};
    if (!t)
        return DEFERRED;
    if (root == MPI_PROC_NULL)
        return passed(t, call, comm);
    bool good = root == MPI_ROOT ? translate_all(from, t->size, &all, NULL)
                                 : to.at != MPI_IN_PLACE && translate(to, &mine);
    if (!sends_or_receives(t, root) || !good)
        return refused(t, call, REASON_ARGUMENTS);
    bool equal = call == CALL_Scatter || call == CALL_Scatter_c;
    enum coll_error error = coll_scatter(t, &all, mine, role(root), false, equal);
    return done(call, comm, error, root == MPI_ROOT ? 0 : bytes_of(mine));
}

int intercomm_allgather(enum call call, struct data from, const struct all *to, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct buffer mine;
    struct blocks all;
    if (!t)
        return DEFERRED;
    if (from.at == MPI_IN_PLACE || !translate(from, &mine) ||
        !translate_all(to, t->size, &all, NULL))
        return refused(t, call, REASON_ARGUMENTS);
    return done(call, comm, coll_allgather(t, mine, &all, false), bytes_of(mine));
}

int intercomm_alltoall(enum call call, const struct all *from, const struct all *to, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct blocks out, in;
    struct maps out_maps, in_maps;
    if (!t)
        return DEFERRED;
    if (from->at == MPI_IN_PLACE || !translate_all(to, t->size, &in, &in_maps) ||
        !translate_all(from, t->size, &out, &out_maps))
        return refused(t, call, REASON_ARGUMENTS);
    return done(call, comm, coll_alltoall(t, &out, &in, false), bytes_of_all(t, &out));
}

/* ---- reductions ---- */

static uint32_t larger_group(const struct team *t)
{
    return t->size > t->group ? t->size : t->group;
}

/* Whether the program's way of combining is ours; `at`: the operand. */
static bool translate_operand(enum call call, const struct reduction *r, const void *at,
                              struct team *t, struct reducer *red, struct buffer *b)
{
    if (at == MPI_IN_PLACE || !translate((struct data){at, r->count, r->type}, b))
        refused(t, call, REASON_ARGUMENTS);
    else if (!reducer_for(red, r->op, r->type, *b, larger_group(t)))
        refused(t, call, REASON_HOST_OPERATION);
    else
        return true;
    return false;
}

/* Where each rank combines all of the other group's long operands, a tree is better. */
static bool too_much(const struct team *t, struct buffer b)
{
    return larger_group(t) > UNSEGMENTED_RANKS_MAX && bytes_of(b) > TEAM_CELL;
}

int intercomm_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct reducer red;
    struct buffer b;
    if (!t)
        return DEFERRED;
    if (root == MPI_PROC_NULL)
        return passed(t, call, comm);
    if (!sends_or_receives(t, root))
        return refused(t, call, REASON_ARGUMENTS);
    if (!translate_operand(call, r, root == MPI_ROOT ? r->to : r->from, t, &red, &b))
        return DEFERRED;
    int result = too_much(t, b)
                     ? refused(t, call, REASON_TOO_MANY_RANKS)
                     : done(call, comm, coll_reduce(t, &red, b, b, role(root)), bytes_of(b));
    reducer_close(&red);
    return result;
}

/* Both operand and result. The host judges whether one may be the other. */
static bool translate_both(enum call call, const struct reduction *r, struct team *t,
                           struct reducer *red, struct buffer *from, struct buffer *to)
{
    if (!translate_operand(call, r, r->from, t, red, from))
        return false;
    if (r->from == r->to && bytes_of(*from)) {
        reducer_close(red);
        refused(t, call, REASON_ARGUMENTS);
        return false;
    }
    *to = *from;
    to->at = r->to;
    return true;
}

int intercomm_allreduce(enum call call, const struct reduction *r, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct reducer red;
    struct buffer from, to;
    if (!t || !translate_both(call, r, t, &red, &from, &to))
        return DEFERRED;
    int result = too_much(t, from)
                     ? refused(t, call, REASON_TOO_MANY_RANKS)
                     : done(call, comm, coll_allreduce(t, &red, from, to), bytes_of(from));
    reducer_close(&red);
    return result;
}

int intercomm_reduce_scatter(enum call call, struct reduction r, struct all shares, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct reducer red;
    struct buffer from, to;
    if (!t)
        return DEFERRED;
    struct blocks blocks = {.map = map_of(r.type),
                            .count = (size_t)shares.count,
                            .counts = shares.counts,
                            .wide = shares.wide};
    if (!blocks.map || (!shares.counts && shares.count < 0) || !blocks_are_good(&blocks, t->group))
        return refused(t, call, REASON_ARGUMENTS);
    r.count = 0;
    for (uint32_t rank = 0; rank < t->group; rank++)
        r.count += (MPI_Count)block_of(&blocks, rank).count;
    if (!translate_both(call, &r, t, &red, &from, &to))
        return DEFERRED;
    to.count = block_of(&blocks, t->rank).count;
    enum coll_error error = coll_reduce_scatter(t, &red, from, to, &blocks);
    int result = done(call, comm, error, bytes_of(from));
    reducer_close(&red);
    return result;
}

int intercomm_undefined(enum call call, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    return t ? refused(t, call, REASON_ARGUMENTS) : DEFERRED;
}
