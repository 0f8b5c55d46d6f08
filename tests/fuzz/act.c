/* Executes one action of a program: the MPI calls, and the change of the model. */
#include "player.h"

#include <sched.h>

/* ---- operations ---- */

/* The arguments of one side for MPI. */
struct given {
    char *at;
    long count;
    MPI_Datatype type;
};

static MPI_Datatype for_this_phase(struct player *pl, MPI_Datatype type)
{
    if (pl->type_count == TYPES_MAX)
        give_up("more datatypes than expected");
    return pl->types[pl->type_count++] = type;
}

static struct given give(struct player *pl, const struct side *side, const struct op *op,
                         bool local)
{
    struct given g = {NULL, 0, basics[op->basic > 0 ? op->basic : 0].type};
    if (!side->layout)
        return g;
    g = (struct given){local ? pl->buffer + side->at : NULL, side->count,
                       layout_type(side->layout)};
    if (side->layout->constructor != PREDEFINED)
        for_this_phase(pl, g.type);
    if (local && side->bottom && side->pieces.count) {
        MPI_Aint address;
        int count = (int)g.count;
        MPI_Get_address(g.at, &address);
        DO(Type_create_hindexed, 1, &count, &address, g.type, &g.type);
        DO(Type_commit, &g.type);
        for_this_phase(pl, g.type);
        g = (struct given){MPI_BOTTOM, 1, g.type};
    }
    return g;
}

void free_types(struct player *pl)
{
    while (pl->type_count)
        DO(Type_free, &pl->types[--pl->type_count]);
}

static void wait_for(MPI_Request *request, int how)
{
    int done = 0;
    if (how == WAITED_FOR)
        DO(Wait, request, MPI_STATUS_IGNORE);
    for (; how == TESTED_FOR && !done; sched_yield())
        DO(Test, request, &done, MPI_STATUS_IGNORE);
}

static void wait_for_requests(struct player *pl, int how)
{
    MPI_Request *r = pl->requests;
    MPI_Status statuses[REQUESTS_MAX]; /* GCC mistakes MPICH's MPI_STATUSES_IGNORE for an array */
    int n = pl->request_count, which, done = 0;
    pl->request_count = 0;
    if (how == 0)
        DO(Waitall, n, r, statuses);
    else if (how == 1)
        for (int i = n; i-- > 0;)
            wait_for(&r[i], WAITED_FOR);
    else if (how == 2)
        for (int i = 0; i < n; i++)
            DO(Waitany, n, r, &which, MPI_STATUS_IGNORE);
    else
        for (; !done; sched_yield())
            DO(Testall, n, r, &done, statuses);
}

#if MPI_VERSION >= 4
#define CALL(name, ...) \
    (op->large ? must_succeed(#name "_c", MPI_##name##_c(__VA_ARGS__)) : DO(name, __VA_ARGS__))
#else
#define CALL(name, ...) DO(name, __VA_ARGS__)
#endif

static void call_with_request(struct player *pl, const struct op *op, struct given o,
                              struct given r, struct given t, MPI_Aint disp, int how)
{
    MPI_Request request;
    MPI_Op by = op_handle(op->op);
    if (pl->request_count == REQUESTS_MAX)
        wait_for_requests(pl, 0);
    if (op->call == PUT)
        CALL(Rput, o.at, o.count, o.type, op->target, disp, t.count, t.type, pl->win, &request);
    else if (op->call == GET)
        CALL(Rget, o.at, o.count, o.type, op->target, disp, t.count, t.type, pl->win, &request);
    else if (op->call == ACCUMULATE)
        CALL(Raccumulate, o.at, o.count, o.type, op->target, disp, t.count, t.type, by, pl->win,
             &request);
    else
        CALL(Rget_accumulate, o.at, o.count, o.type, r.at, r.count, r.type, op->target, disp,
             t.count, t.type, by, pl->win, &request);
    if (how == AT_LEISURE)
        pl->requests[pl->request_count++] = request;
    else
        wait_for(&request, how);
}

/* Fetch, add and store, under an exclusive lock. */
static void increment(struct player *pl, const struct op *op, struct given o, struct given r,
                      struct given t, MPI_Aint disp)
{
    DO(Get, r.at, (int)r.count, r.type, op->target, disp, (int)t.count, t.type, pl->win);
    DO(Win_flush, op->target, pl->win);
    for (long i = 0; i < t.count; i++)
        combine(&basics[op->basic], OP_SUM, r.at + i * basics[op->basic].extent,
                o.at + i * basics[op->basic].extent);
    DO(Put, r.at, (int)r.count, r.type, op->target, disp, (int)t.count, t.type, pl->win);
}

/* Whether an operation is done by loads and stores instead of MPI. The model does not distinguish
 * the two. A start may return before the target has posted, so there only operations of MPI wait
 * for the target's own stores. */
static bool by_loads(const struct player *pl, const struct op *op)
{
    bool plain = op->call == PUT || op->call == GET || op->call == INCREMENT;
    return plain && op->target >= 0 && pl->part[op->target] && pl->round->sync != POST_START &&
           mix(pl->program->seed + (uint64_t)op->id) % 3 == 0;
}

static void sync_memory(struct player *pl)
{
    if (pl->round->sync == PASSIVE)
        DO(Win_sync, pl->win);
}

static void load_and_store(struct player *pl, const struct op *op)
{
    struct cursor here = {.pieces = &op->origin.pieces}, there = {.pieces = &op->remote.pieces};
    long from, to;
    int basic;
    if (op->call == INCREMENT) /* the last one may have put */
        DO(Win_flush, op->target, pl->win);
    sync_memory(pl);
    while (cursor_next(&there, &to, &basic) && cursor_next(&here, &from, &basic)) {
        char *local = pl->buffer + op->origin.at + from;
        char *remote = pl->part[op->target] + op->remote.at + to;
        struct part parts[2];
        if (op->call == INCREMENT)
            combine(&basics[basic], OP_SUM, remote, local);
        for (int p = basic_parts(&basics[basic], parts); p-- > 0 && op->call != INCREMENT;)
            memcpy((op->call == PUT ? remote : local) + parts[p].at,
                   (op->call == PUT ? local : remote) + parts[p].at, (size_t)parts[p].size);
    }
    sync_memory(pl);
}

static void call(struct player *pl, const struct op *op, int how)
{
    struct given o = give(pl, &op->origin, op, true), r = give(pl, &op->result, op, true),
                 t = give(pl, &op->remote, op, false), c = give(pl, &op->compare, op, true);
    int owner = op->target == MPI_PROC_NULL ? pl->rank : op->target;
    MPI_Aint disp = pl->address[owner] ? pl->address[owner] + op->remote.at
                                       : op->remote.at / pl->round->window->unit[owner];
    MPI_Op by = op_handle(op->op);
    MPI_Win win = pl->win;
    if (op->request)
        call_with_request(pl, op, o, r, t, disp, how);
    else if (op->call == PUT)
        CALL(Put, o.at, o.count, o.type, op->target, disp, t.count, t.type, win);
    else if (op->call == GET)
        CALL(Get, o.at, o.count, o.type, op->target, disp, t.count, t.type, win);
    else if (op->call == ACCUMULATE)
        CALL(Accumulate, o.at, o.count, o.type, op->target, disp, t.count, t.type, by, win);
    else if (op->call == GET_ACCUMULATE)
        CALL(Get_accumulate, o.at, o.count, o.type, r.at, r.count, r.type, op->target, disp,
             t.count, t.type, by, win);
    else if (op->call == FETCH_AND_OP)
        DO(Fetch_and_op, o.at, r.at, t.type, op->target, disp, by, win);
    else if (op->call == COMPARE_AND_SWAP)
        DO(Compare_and_swap, o.at, c.at, r.at, t.type, op->target, disp, win);
    else
        increment(pl, op, o, r, t, disp);
    if (op->id % 2) /* MPI keeps references as long as it needs them */
        free_types(pl);
}

/* ---- actions ---- */

/* The model has stored into this rank's buffer; do the same in the buffer. */
static void copy_fill(struct player *pl, const struct side *side)
{
    struct cursor c = {.pieces = &side->pieces};
    struct part parts[2];
    long at;
    int basic;
    while (side->layout && cursor_next(&c, &at, &basic))
        for (int p = basic_parts(&basics[basic], parts); p-- > 0;)
            memcpy(pl->buffer + side->at + at + parts[p].at,
                   pl->images[pl->rank].buffer + side->at + at + parts[p].at,
                   (size_t)parts[p].size);
}

static void play_operation(struct player *pl, const struct action *a)
{
    const struct op *op = a->op;
    progress->op = op->id;
    model_fill(pl->program, pl->round, op, pl->rank, pl->images);
    if (!op->chained)
        copy_fill(pl, &op->origin);
    copy_fill(pl, &op->result);
    copy_fill(pl, &op->compare);
    if (op->ignored)
        return;
    if (pl->options->print) {
        char text[4000];
        op_print(op, text, sizeof text);
        printf("  rank %d: %s%s\n", pl->rank, text, by_loads(pl, op) ? " (by loads)" : "");
        fflush(stdout);
    }
    if (by_loads(pl, op))
        load_and_store(pl, op);
    else
        call(pl, op, a->how);
    model_operate(pl->round, op, pl->rank, pl->images);
}

static void play_action(struct player *pl, const struct action *a)
{
    static const char *const names[] = {
        "",          "lock",        "unlock",          "lock_all", "unlock_all", "flush",
        "flush_all", "flush_local", "flush_local_all", "sync",     "wait",       "scribble"};
    if (pl->options->print && a->act != OPERATE) {
        printf("  rank %d: %s %d how %d assertion %d\n", pl->rank, names[a->act], a->target, a->how,
               a->assertion);
        fflush(stdout);
    }
    switch (a->act) {
    case OPERATE:
        play_operation(pl, a);
        break;
    case LOCK:
        DO(Win_lock, a->how, a->target, a->assertion, pl->win);
        break;
    case UNLOCK:
        wait_for_requests(pl, 0);
        DO(Win_unlock, a->target, pl->win);
        break;
    case LOCK_ALL:
        DO(Win_lock_all, a->assertion, pl->win);
        break;
    case UNLOCK_ALL:
        wait_for_requests(pl, 0);
        DO(Win_unlock_all, pl->win);
        break;
    case FLUSH:
        DO(Win_flush, a->target, pl->win);
        break;
    case FLUSH_ALL:
        DO(Win_flush_all, pl->win);
        break;
    case FLUSH_LOCAL:
        DO(Win_flush_local, a->target, pl->win);
        break;
    case FLUSH_LOCAL_ALL:
        DO(Win_flush_local_all, pl->win);
        break;
    case SYNC:
        DO(Win_sync, pl->win);
        break;
    case WAIT:
        wait_for_requests(pl, a->how);
        break;
    case SCRIBBLE:
        model_scribble(pl->program, pl->round, a, &pl->images[pl->rank]);
        copy_fill(pl, &a->op->origin);
        break;
    }
}

/* Actions of other ranks only change the model. */
static void follow(struct player *pl, int rank)
{
    for (int i = 0; i < pl->round->phase->actions[rank].count; i++) {
        const struct action *a = &pl->round->phase->actions[rank].list[i];
        if (a->act == SCRIBBLE)
            model_scribble(pl->program, pl->round, a, &pl->images[rank]);
        if (a->act != OPERATE)
            continue;
        model_fill(pl->program, pl->round, a->op, rank, pl->images);
        if (!a->op->ignored)
            model_operate(pl->round, a->op, rank, pl->images);
    }
}

void play_actions(struct player *pl)
{
    const struct actions *mine = &pl->round->phase->actions[pl->rank];
    for (int i = 0; i < mine->count; i++)
        play_action(pl, &mine->list[i]);
    for (int rank = 0; rank < pl->program->size; rank++)
        if (rank != pl->rank)
            follow(pl, rank);
}
