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

/* Leave the call to the host. It has an operation number all the same. */
static COLD int defer_numbered(struct team *t, enum call call, enum reason reason)
{
    coll_pass(t);
    return defer_call(call, reason);
}

/* The call of a rank that passes MPI_PROC_NULL as root. */
static int finish_proc_null(struct team *t, enum call call, MPI_Comm comm)
{
    coll_pass(t);
    return finish_call(call, comm, COLL_OK, 0);
}

/* ---- moving data ---- */

int intercomm_barrier(MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    if (!t)
        return DEFERRED;
    coll_barrier_between(t);
    return finish_call(CALL_Barrier, comm, COLL_OK, 0);
}

int intercomm_bcast(enum call call, struct data d, int root, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct buffer b;
    if (!t)
        return DEFERRED;
    if (root == MPI_PROC_NULL)
        return finish_proc_null(t, call, comm);
    if (!sends_or_receives(t, root) || !translate(d, &b))
        return defer_numbered(t, call, REASON_ARGUMENTS);
    return finish_call(call, comm, coll_bcast(t, b, role(root)), bytes_of(b));
}

int intercomm_gather(enum call call, struct data from, const struct rank_blocks *to, int root,
                     MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct buffer own = {0};
    struct blocks all = {0};
    if (!t)
        return DEFERRED;
    if (root == MPI_PROC_NULL)
        return finish_proc_null(t, call, comm);
    bool valid = root == MPI_ROOT ? translate_blocks(to, t->size, &all, NULL)
                                  : from.address != MPI_IN_PLACE && translate(from, &own);
    if (!sends_or_receives(t, root) || !valid)
        return defer_numbered(t, call, REASON_ARGUMENTS);
    enum coll_error error = coll_gather(t, own, &all, role(root), false);
    return finish_call(call, comm, error, root == MPI_ROOT ? 0 : bytes_of(own));
}

int intercomm_scatter(enum call call, const struct rank_blocks *from, struct data to, int root,
                      MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct buffer own = {0};
    struct blocks all = {0};
    if (!t)
        return DEFERRED;
    if (root == MPI_PROC_NULL)
        return finish_proc_null(t, call, comm);
    bool valid = root == MPI_ROOT ? translate_blocks(from, t->size, &all, NULL)
                                  : to.address != MPI_IN_PLACE && translate(to, &own);
    if (!sends_or_receives(t, root) || !valid)
        return defer_numbered(t, call, REASON_ARGUMENTS);
    bool equal = call == CALL_Scatter || call == CALL_Scatter_c;
    enum coll_error error = coll_scatter(t, &all, own, role(root), false, equal);
    return finish_call(call, comm, error, root == MPI_ROOT ? 0 : bytes_of(own));
}

int intercomm_allgather(enum call call, struct data from, const struct rank_blocks *to,
                        MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct buffer own;
    struct blocks all;
    if (!t)
        return DEFERRED;
    if (from.address == MPI_IN_PLACE || !translate(from, &own) ||
        !translate_blocks(to, t->size, &all, NULL))
        return defer_numbered(t, call, REASON_ARGUMENTS);
    return finish_call(call, comm, coll_allgather(t, own, &all, false), bytes_of(own));
}

int intercomm_alltoall(enum call call, const struct rank_blocks *from, const struct rank_blocks *to,
                       MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct blocks out, in;
    if (!t)
        return DEFERRED;
    if (from->address == MPI_IN_PLACE ||
        !translate_blocks(to, t->size, &in, team_table(t, TABLE_RECEIVED_TYPES)) ||
        !translate_blocks(from, t->size, &out, team_table(t, TABLE_SENT_TYPES)))
        return defer_numbered(t, call, REASON_ARGUMENTS);
    return finish_call(call, comm, coll_alltoall(t, &out, &in, false), bytes_of_all(t, &out));
}

/* ---- reductions ---- */

static uint32_t larger_group(const struct team *t)
{
    return t->size > t->group ? t->size : t->group;
}

/* False: the call is left to the host, and has been counted. */
static bool translate_operand(enum call call, const struct reduction *r, const void *operand,
                              struct team *t, struct reducer *red, struct buffer *b)
{
    if (operand == MPI_IN_PLACE || !translate((struct data){operand, r->count, r->type}, b))
        defer_numbered(t, call, REASON_ARGUMENTS);
    else if (!reducer_open(red, t, r->op, r->type, *b, larger_group(t)))
        defer_numbered(t, call, REASON_HOST_OPERATION);
    else
        return true;
    return false;
}

/* Each rank would reduce all operands of the other group; for long ones a tree, as in the hosts, is
 * faster. */
static bool is_too_long(const struct team *t, struct buffer b)
{
    return larger_group(t) > UNSEGMENTED_RANKS_MAX && !fits_into_cell(bytes_of(b));
}

int intercomm_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct reducer red;
    struct buffer b;
    if (!t)
        return DEFERRED;
    if (root == MPI_PROC_NULL)
        return finish_proc_null(t, call, comm);
    if (!sends_or_receives(t, root))
        return defer_numbered(t, call, REASON_ARGUMENTS);
    if (!translate_operand(call, r, root == MPI_ROOT ? r->to : r->from, t, &red, &b))
        return DEFERRED;
    if (is_too_long(t, b)) {
        reducer_close(&red);
        return defer_numbered(t, call, REASON_TOO_MANY_RANKS);
    }
    enum coll_error error = coll_reduce(t, &red, b, b, role(root));
    reducer_close(&red);
    return finish_call(call, comm, error, bytes_of(b));
}

/* Operand and result. If they are the same buffer, the host decides whether that is an error. */
static bool translate_both(enum call call, const struct reduction *r, struct team *t,
                           struct reducer *red, struct buffer *from, struct buffer *to)
{
    if (!translate_operand(call, r, r->from, t, red, from))
        return false;
    if (r->from == r->to && bytes_of(*from)) {
        reducer_close(red);
        defer_numbered(t, call, REASON_ARGUMENTS);
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
    if (is_too_long(t, from)) {
        reducer_close(&red);
        return defer_numbered(t, call, REASON_TOO_MANY_RANKS);
    }
    enum coll_error error = coll_allreduce(t, &red, from, to);
    reducer_close(&red);
    return finish_call(call, comm, error, bytes_of(from));
}

int intercomm_reduce_scatter(enum call call, struct reduction r, struct rank_blocks results,
                             MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    struct reducer red;
    struct buffer from, to;
    struct blocks blocks;
    if (!t)
        return DEFERRED;
    if (!translate_results(&r, &results, t->group, &blocks, &r.count))
        return defer_numbered(t, call, REASON_ARGUMENTS);
    if (!translate_both(call, &r, t, &red, &from, &to))
        return DEFERRED;
    to.count = block_of(&blocks, t->rank).count;
    enum coll_error error = coll_reduce_scatter(t, &red, from, to, &blocks);
    reducer_close(&red);
    return finish_call(call, comm, error, bytes_of(from));
}

int intercomm_undefined(enum call call, MPI_Comm comm)
{
    struct team *t = team_of_intercomm(comm);
    return t ? defer_numbered(t, call, REASON_ARGUMENTS) : DEFERRED;
}
