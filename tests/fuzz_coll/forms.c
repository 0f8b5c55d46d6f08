/* The table of collectives, and the MPI call of each. */
#include "call.h"

static MPI_Op op_of(const struct call *c)
{
    return c->user ? c->user->handle : op_handle(c->op);
}

/* One text for the call and, if MPI has it, its _c version: the arguments have the same names, in
 * the width that is needed. */
#define NAMES(count_type, place_type, counts, displs)               \
    const count_type *sent = s->counts, *received = r->counts;      \
    const place_type *send_at = s->displs, *receive_at = r->displs; \
    (void)sent, (void)received, (void)send_at, (void)receive_at, (void)c, (void)s, (void)r
#if MPI_VERSION >= 4
#define LARGE(Name, ...)                                        \
    if (c->large) {                                             \
        NAMES(MPI_Count, MPI_Aint, large_counts, large_displs); \
        return MPI_##Name##_c(__VA_ARGS__);                     \
    }
#else
#define LARGE(Name, ...)
#endif
#define EXECUTE(Name, ...)                                                                         \
    static int execute_##Name(const struct call *c, struct args *s, struct args *r, MPI_Comm comm) \
    {                                                                                              \
        LARGE(Name, __VA_ARGS__)                                                                   \
        NAMES(int, int, counts, displs);                                                           \
        return MPI_##Name(__VA_ARGS__);                                                            \
    }
#define SEND      s->at, s->count, s->type
#define RECEIVE   r->at, r->count, r->type
#define SEND_V    s->at, sent, send_at, s->type
#define RECEIVE_V r->at, received, receive_at, r->type
#define SEND_W    s->at, sent, send_at, s->types
#define RECEIVE_W r->at, received, receive_at, r->types
#define REDUCED   s->at, r->at, s->count, s->type, op_of(c)

int root_argument(const struct call *c)
{
    bool among_us = c->root >= c->own_first && c->root < c->own_first + c->own;
    if (!c->inter)
        return c->root;
    return c->rank == c->root ? MPI_ROOT : among_us ? MPI_PROC_NULL : c->root - c->first;
}

static int execute_Barrier(const struct call *c, struct args *s, struct args *r, MPI_Comm comm)
{
    (void)c, (void)s, (void)r;
    return MPI_Barrier(comm);
}

static int execute_Bcast(const struct call *c, struct args *s, struct args *r, MPI_Comm comm)
{
    const struct args *a = c->rank == c->root ? s : r;
#if MPI_VERSION >= 4
    if (c->large)
        return MPI_Bcast_c(a->at, a->count, a->type, root_argument(c), comm);
#endif
    return MPI_Bcast(a->at, (int)a->count, a->type, root_argument(c), comm);
}

EXECUTE(Gather, SEND, RECEIVE, root_argument(c), comm)
EXECUTE(Gatherv, SEND, RECEIVE_V, root_argument(c), comm)
EXECUTE(Scatter, SEND, RECEIVE, root_argument(c), comm)
EXECUTE(Scatterv, SEND_V, RECEIVE, root_argument(c), comm)
EXECUTE(Allgather, SEND, RECEIVE, comm)
EXECUTE(Allgatherv, SEND, RECEIVE_V, comm)
EXECUTE(Alltoall, SEND, RECEIVE, comm)
EXECUTE(Alltoallv, SEND_V, RECEIVE_V, comm)
EXECUTE(Alltoallw, SEND_W, RECEIVE_W, comm)
EXECUTE(Reduce, REDUCED, root_argument(c), comm)
EXECUTE(Allreduce, REDUCED, comm)
EXECUTE(Reduce_scatter, s->at, r->at, sent, s->type, op_of(c), comm)
EXECUTE(Reduce_scatter_block, REDUCED, comm)
EXECUTE(Scan, REDUCED, comm)
EXECUTE(Exscan, REDUCED, comm)

/* At the root or on all ranks, then elsewhere. */
#define SENDS(...)    .send = {__VA_ARGS__}
#define RECEIVES(...) .receive = {__VA_ARGS__}
#define CALLED(Name)  .name = #Name, .execute = execute_##Name

const struct form forms[COLLECTIVES] = {
    [BARRIER] = {CALLED(Barrier)},
    [BCAST] = {CALLED(Bcast), SENDS(ONE, NOTHING), RECEIVES(NOTHING, ONE), .rooted = true,
               .meeting = FROM_ROOT},
    [GATHER] = {CALLED(Gather), SENDS(ONE, ONE), RECEIVES(ALIKE, NOTHING), .rooted = true,
                .in_place = ROOT_ONLY},
    [GATHERV] = {CALLED(Gatherv), SENDS(ONE, ONE), RECEIVES(COUNTED, NOTHING), .rooted = true,
                 .spread = SENDER, .in_place = ROOT_ONLY},
    [SCATTER] = {CALLED(Scatter), SENDS(ALIKE, NOTHING), RECEIVES(ONE, ONE), .rooted = true,
                 .in_place = ROOT_ONLY, .meeting = FROM_ROOT},
    [SCATTERV] = {CALLED(Scatterv), SENDS(COUNTED, NOTHING), RECEIVES(ONE, ONE), .rooted = true,
                  .spread = RECEIVER, .in_place = ROOT_ONLY, .meeting = FROM_ROOT},
    [ALLGATHER] = {CALLED(Allgather), SENDS(ONE), RECEIVES(ALIKE), .in_place = ALL_RANKS},
    [ALLGATHERV] = {CALLED(Allgatherv), SENDS(ONE), RECEIVES(COUNTED), .spread = SENDER,
                    .in_place = ALL_RANKS},
    [ALLTOALL] = {CALLED(Alltoall), SENDS(ALIKE), RECEIVES(ALIKE), .in_place = ALL_RANKS},
    [ALLTOALLV] = {CALLED(Alltoallv), SENDS(COUNTED), RECEIVES(COUNTED), .spread = BOTH,
                   .in_place = ALL_RANKS},
    [ALLTOALLW] = {CALLED(Alltoallw), SENDS(TYPED), RECEIVES(TYPED), .spread = BOTH,
                   .in_place = ALL_RANKS},
    [REDUCE] = {CALLED(Reduce), SENDS(ONE, ONE), RECEIVES(ONE, NOTHING), .rooted = true,
                .reduces = true, .in_place = ROOT_ONLY, .meeting = FROM_ALL},
    [ALLREDUCE] = {CALLED(Allreduce), SENDS(ONE), RECEIVES(ONE), .reduces = true,
                   .in_place = ALL_RANKS, .meeting = FROM_ALL},
    [REDUCE_SCATTER] = {CALLED(Reduce_scatter), SENDS(JOINED), RECEIVES(ONE), .reduces = true,
                        .spread = RECEIVER, .in_place = ALL_RANKS, .meeting = FROM_ALL},
    [REDUCE_SCATTER_BLOCK] = {CALLED(Reduce_scatter_block), SENDS(JOINED), RECEIVES(ONE),
                              .reduces = true, .in_place = ALL_RANKS, .meeting = FROM_ALL},
    [SCAN] = {CALLED(Scan), SENDS(ONE), RECEIVES(ONE), .reduces = true, .in_place = ALL_RANKS,
              .meeting = UP_TO_ME},
    [EXSCAN] = {CALLED(Exscan), SENDS(ONE), RECEIVES(ONE), .reduces = true, .in_place = ALL_RANKS,
                .meeting = BEFORE_ME},
};
