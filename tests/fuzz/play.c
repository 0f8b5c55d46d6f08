#include "play.h"

#include <sched.h>

enum { REQUESTS_MAX = 64, TYPES_MAX = 512 };

/* This rank in the middle of a program. */
struct player {
    const struct program *program;
    const struct options *options;
    struct round *round;
    struct image images[RANKS_MAX];
    MPI_Comm comm;
    int rank, phases_left;
    char *memory, *buffer;
    MPI_Win windows[2], win;
    MPI_Request requests[REQUESTS_MAX];
    int request_count;
    MPI_Datatype types[TYPES_MAX]; /* freed at the end of the phase */
    int type_count;
    bool seen_bad; /* reality and model have parted */
    uint64_t digest;
};

/* ---- complaints ---- */

void barrier(MPI_Comm comm)
{
    MPI_Request request;
    int done = 0;
    DO(Ibarrier, comm, &request);
    while (!done) {
        DO(Test, &request, &done, MPI_STATUS_IGNORE);
        if (!done)
            sched_yield();
    }
}

/* What the phase did near a place; memory is that of the window's rank, else the buffer of a rank.
 */
static void blame(const struct player *pl, bool in_window, long at)
{
    char text[4000];
    for (int o = 0; o < pl->program->size; o++)
        for (int i = 0; i < pl->round->phase->actions[o].count; i++) {
            const struct action *a = &pl->round->phase->actions[o].list[i];
            const struct op *op = a->op;
            if (a->act != OPERATE || op->ignored)
                continue;
            const struct side *sides[] = {&op->origin, &op->result, &op->compare, &op->there};
            bool near = false;
            for (int s = in_window ? 3 : 0; s < (in_window ? 4 : 3); s++)
                near |= at >= sides[s]->at + sides[s]->pieces.low &&
                        at < sides[s]->at + sides[s]->pieces.high;
            if (!near || (in_window ? op->target != pl->rank : o != pl->rank))
                continue;
            op_print(op, text, sizeof text);
            fail("  near: origin rank %d %s", o, text);
        }
}

/* ---- comparing ---- */

static uint64_t digest_of(uint64_t digest, const char *data, const char *unknown, long n)
{
    for (long i = 0; i < n; i++)
        digest = (digest ^ (unknown[i] ? 0 : (unsigned char)data[i])) * 0x100000001b3u;
    return digest;
}

/* `start`: of the window in its memory; 0 for the buffer. */
static void compare(struct player *pl, bool in_window, const char *real, const char *image,
                    const char *unknown, long n, long start)
{
    const char *where = in_window ? "window memory" : "buffer";
    if (pl->options->digest)
        pl->digest = digest_of(pl->digest, real, unknown, n);
    if (!memcmp(real, image, (size_t)n) || pl->seen_bad)
        return;
    long bad = 0, first = -1;
    for (long i = 0; i < n; i++)
        if (real[i] != image[i] && !unknown[i]) {
            first = bad++ ? first : i;
        }
    if (!bad)
        return;
    pl->seen_bad = true;
    fail("%s: %ld bytes differ, the first at %ld (of the window: %ld): %02x, should be %02x", where,
         bad, first, first - start, (unsigned char)real[first], (unsigned char)image[first]);
    blame(pl, in_window, first - start);
}

/* What was fetched in any order must at least lie on the way. */
static void check_combined(struct player *pl, const struct op *op)
{
    struct cursor back = {.pieces = &op->result.pieces}, to = {.pieces = &op->there.pieces};
    struct image *image = &pl->images[op->target];
    long r, at;
    int basic;
    while (cursor_next(&to, &at, &basic) && cursor_next(&back, &r, &basic)) {
        long place = pl->round->window->offset[op->target] + op->there.at + at;
        char text[4000];
        if (is_between(&basics[basic], op->region->op, image->before + place,
                       pl->buffer + op->result.at + r, image->memory + place))
            continue;
        op_print(op, text, sizeof text);
        fail("fetched what cannot have been there: %s", text);
        return;
    }
}

static void look_at_buffer(struct player *pl)
{
    const struct image *image = &pl->images[pl->rank];
    compare(pl, false, pl->buffer, image->buffer, image->buffer_unknown, pl->program->buffer, 0);
    const struct actions *mine = &pl->round->phase->actions[pl->rank];
    for (int i = 0; i < mine->count && !pl->seen_bad; i++) {
        const struct op *op = mine->list[i].op;
        bool combined = op && op->region && op->region->role == COMBINED && !op->ignored;
        if (mine->list[i].act == OPERATE && combined && op->result.layout)
            check_combined(pl, op);
    }
}

static void look_at_window(struct player *pl)
{
    const struct image *image = &pl->images[pl->rank];
    compare(pl, true, pl->memory, image->memory, image->memory_unknown,
            pl->program->bytes[pl->rank], pl->round->window->offset[pl->rank]);
}

/* ---- operations ---- */

/* A side as MPI takes it. */
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

static struct given give(struct player *pl, const struct side *side, const struct op *op, bool here)
{
    struct given g = {NULL, 0, basics[op->basic > 0 ? op->basic : 0].type};
    if (!side->layout)
        return g;
    g = (struct given){here ? pl->buffer + side->at : NULL, side->count, layout_type(side->layout)};
    if (side->layout->constructor != PREDEFINED)
        for_this_phase(pl, g.type);
    if (here && side->bottom && side->pieces.count) {
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

static void free_types(struct player *pl)
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
                              struct given r, struct given t, long disp, int how)
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

/* Under an exclusive lock: fetch, add, store. */
static void increment(struct player *pl, const struct op *op, struct given o, struct given r,
                      struct given t, long disp)
{
    DO(Get, r.at, (int)r.count, r.type, op->target, disp, (int)t.count, t.type, pl->win);
    DO(Win_flush, op->target, pl->win);
    for (long i = 0; i < t.count; i++)
        combine(&basics[op->basic], OP_SUM, r.at + i * basics[op->basic].extent,
                o.at + i * basics[op->basic].extent);
    DO(Put, r.at, (int)r.count, r.type, op->target, disp, (int)t.count, t.type, pl->win);
}

static void call(struct player *pl, const struct op *op, int how)
{
    struct given o = give(pl, &op->origin, op, true), r = give(pl, &op->result, op, true),
                 t = give(pl, &op->there, op, false), c = give(pl, &op->compare, op, true);
    int owner = op->target == MPI_PROC_NULL ? pl->rank : op->target;
    long disp = op->there.at / pl->round->window->unit[owner];
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
    if (op->id % 2) /* MPI keeps what it needs of them */
        free_types(pl);
}

/* ---- actions ---- */

/* The model has stored into this rank's buffer; so does the rank. */
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
        printf("  rank %d: %s\n", pl->rank, text);
        fflush(stdout);
    }
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

/* What the others do is only modelled. */
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

static void play_actions(struct player *pl)
{
    const struct actions *mine = &pl->round->phase->actions[pl->rank];
    for (int i = 0; i < mine->count; i++)
        play_action(pl, &mine->list[i]);
    for (int rank = 0; rank < pl->program->size; rank++)
        if (rank != pl->rank)
            follow(pl, rank);
}

/* ---- phases ---- */

/* The stores into own memory before the phase, in the model and, where it is known, here. */
static void prepare(struct player *pl, int number)
{
    const struct program *p = pl->program;
    for (int rank = 0; rank < p->size; rank++) {
        struct image *image = &pl->images[rank];
        model_prepare(p, pl->round, number, rank, image);
        memcpy(image->before, image->memory, (size_t)p->bytes[rank]);
    }
    const struct image *mine = &pl->images[pl->rank];
    if (pl->round->phase->refill[pl->rank])
        memcpy(pl->memory, mine->memory, (size_t)p->bytes[pl->rank]);
    if (number == 0)
        memcpy(pl->buffer, mine->buffer, (size_t)p->buffer);
}

static void play_fence(struct player *pl, int number)
{
    const struct round *round = pl->round;
    prepare(pl, number);
    if (!round->joined[number])
        DO(Win_fence, round->phase->open[pl->rank], pl->win);
    play_actions(pl);
    DO(Win_fence, round->phase->close[pl->rank], pl->win);
    look_at_buffer(pl);
    bool goes_on = number + 1 < round->phases && round->joined[number + 1];
    if (!goes_on)
        look_at_window(pl);
}

static MPI_Group group_of(struct player *pl, int n, const int *ranks)
{
    MPI_Group all, some;
    DO(Win_get_group, pl->win, &all);
    DO(Group_incl, all, n, ranks, &some);
    DO(Group_free, &all);
    return some;
}

static void play_post_start(struct player *pl, int number)
{
    struct phase *phase = pl->round->phase;
    int origins[RANKS_MAX], targets[RANKS_MAX], origin_count = 0, target_count = 0, me = pl->rank;
    for (int rank = pl->program->size; rank-- > 0;) {
        if (phase->access[rank][me])
            origins[origin_count++] = rank;
        if (phase->access[me][rank])
            targets[target_count++] = rank;
    }
    bool exposes = origin_count || phase->post_nobody[me];
    MPI_Group from = group_of(pl, origin_count, origins), to = group_of(pl, target_count, targets);
    prepare(pl, number);
    if (exposes)
        DO(Win_post, from, phase->post[me], pl->win);
    if (phase->no_check)
        barrier(pl->comm);
    DO(Win_start, to, phase->no_check ? MPI_MODE_NOCHECK : 0, pl->win);
    play_actions(pl);
    DO(Win_complete, pl->win);
    look_at_buffer(pl);
    int done = !exposes || !phase->test[me];
    for (; !done; sched_yield())
        DO(Win_test, pl->win, &done);
    if (exposes && !phase->test[me])
        DO(Win_wait, pl->win);
    look_at_window(pl);
    DO(Group_free, &from);
    DO(Group_free, &to);
}

static void play_passive(struct player *pl, int number)
{
    bool locks = pl->round->lock_own;
    if (locks)
        DO(Win_lock, MPI_LOCK_EXCLUSIVE, pl->rank, 0, pl->win);
    prepare(pl, number);
    if (locks)
        DO(Win_unlock, pl->rank, pl->win);
    barrier(pl->comm);
    play_actions(pl);
    look_at_buffer(pl);
    barrier(pl->comm);
    if (locks)
        DO(Win_lock, MPI_LOCK_SHARED, pl->rank, 0, pl->win);
    look_at_window(pl);
    if (locks)
        DO(Win_unlock, pl->rank, pl->win);
}

static void leave_out(struct player *pl)
{
    const struct options *o = pl->options;
    for (int rank = 0; rank < pl->program->size; rank++)
        for (int i = 0; i < pl->round->phase->actions[rank].count; i++) {
            struct op *op = pl->round->phase->actions[rank].list[i].op;
            if (op)
                op->ignored =
                    (o->ops >= 0 && op->id >= o->ops) || (o->only && !listed(o->only, op->id));
        }
}

static void play_round(struct player *pl)
{
    static void (*const plays[])(struct player *, int) = {play_fence, play_post_start,
                                                          play_passive};
    struct round *round = pl->round;
    for (int i = 0; i < round->phases; i++) {
        progress->phase = i;
        bool unfinished = round->sync == FENCE && i && round->joined[i];
        if (!unfinished && pl->phases_left <= 0)
            return;
        pl->phases_left--;
        phase_invent(pl->program, round, i);
        leave_out(pl);
        if (pl->options->print && pl->rank == 0) {
            static const char *const names[] = {"fence", "post and start", "passive"};
            printf("round %d phase %d: %s\n", round->number, i, names[round->sync]);
        }
        plays[round->sync](pl, i);
        free_types(pl);
    }
}

/* ---- all ---- */

static bool from_malloc(const struct program *p, int rank)
{
    return p->memory == FROM_MALLOC || (p->memory == FROM_MALLOC_AT_ONE && rank == p->odd_one);
}

static char *get_memory(long bytes, bool from_mpi)
{
    char *memory = NULL;
    if (from_mpi)
        DO(Alloc_mem, bytes, MPI_INFO_NULL, &memory);
    else
        memory = aligned_alloc(64, (size_t)round_up_to(bytes + 1, 64));
    return memory;
}

static void free_memory(char *memory, bool from_mpi)
{
    if (from_mpi)
        DO(Free_mem, memory);
    else
        free(memory);
}

static bool make_windows(struct player *pl)
{
    const struct program *p = pl->program;
    long bytes = p->bytes[pl->rank];
    if (p->memory == FROM_WIN_ALLOCATE) {
        DO(Win_allocate, bytes, p->window[0].unit[pl->rank], MPI_INFO_NULL, pl->comm, &pl->memory,
           &pl->windows[0]);
        return !failures;
    }
    pl->memory = get_memory(bytes, !from_malloc(p, pl->rank));
    for (int w = 0; w < p->windows; w++) {
        const struct window *window = &p->window[w];
        long size = window->size[pl->rank];
        char *base = size ? pl->memory + window->offset[pl->rank] : NULL;
        int error = MPI_Win_create(base, size, window->unit[pl->rank], MPI_INFO_NULL, pl->comm,
                                   &pl->windows[w]);
        if (error && p->size == 1)
            return false; /* Open MPI 4.1 refuses */
        must_succeed("Win_create", error);
    }
    return !failures;
}

/* Open MPI 4.1 names the files of its windows by the number of the communicator alone, which groups
 * without a common member may share. */
static bool make_windows_in_turn(struct player *pl)
{
    bool made = false;
    for (int turn = 0; turn < pl->options->turns; turn++) {
        if (turn == pl->options->turn)
            made = make_windows(pl);
        if (pl->options->turns > 1)
            barrier(MPI_COMM_WORLD);
    }
    return made;
}

bool play(uint64_t seed, MPI_Comm comm, const struct options *options)
{
    static struct player player; /* large */
    struct program program;
    struct player *pl = &player;
    int size, ops = 0;
    *pl = (struct player){.program = &program, .options = options, .comm = comm};
    pl->phases_left = options->epochs < 0 ? 1000 : options->epochs;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &pl->rank);
    program_invent(&program, seed, size, options->tame);
    bool made = make_windows_in_turn(pl);
    if (!made && !failures) {
        free_memory(pl->memory, !from_malloc(&program, pl->rank));
        return false;
    }
    if (!made)
        give_up("no window");
    pl->buffer = get_memory(program.buffer, program.buffer_from_mpi);
    images_open(&program, pl->images);
    for (int w = 0; w < program.windows; w++)
        DO(Win_set_errhandler, pl->windows[w], MPI_ERRORS_RETURN);
    memcpy(pl->memory, pl->images[pl->rank].memory, (size_t)program.bytes[pl->rank]);
    memcpy(pl->buffer, pl->images[pl->rank].buffer, (size_t)program.buffer);
    for (int i = 0; i < program.rounds && pl->phases_left > 0; i++) {
        struct round round;
        progress->round = i;
        round_invent(&program, i, ops, &round);
        pl->round = &round;
        pl->win = pl->windows[round.window - program.window];
        play_round(pl);
        ops = round.ops;
    }
    for (int w = 0; w < program.windows; w++)
        DO(Win_free, &pl->windows[w]);
    free_memory(pl->buffer, program.buffer_from_mpi);
    if (program.memory != FROM_WIN_ALLOCATE)
        free_memory(pl->memory, !from_malloc(&program, pl->rank));
    images_close(&program, pl->images);
    if (options->digest) {
        MPI_Comm_rank(MPI_COMM_WORLD, &pl->rank);
        printf("digest seed %lld rank %d: %016llx\n", (long long)progress->seed, pl->rank,
               (unsigned long long)pl->digest);
    }
    if (options->print && pl->rank == 0)
        printf("%d operations\n", ops);
    release();
    return true;
}
