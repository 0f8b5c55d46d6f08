#include "player.h"

#include <sched.h>

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

/* Prints the operations of the phase near an offset, in the memory of the window's rank or in the
 * buffer of a rank. */
static void blame(const struct player *pl, bool in_window, long at)
{
    char text[4000];
    for (int o = 0; o < pl->program->size; o++)
        for (int i = 0; i < pl->round->phase->actions[o].count; i++) {
            const struct action *a = &pl->round->phase->actions[o].list[i];
            const struct op *op = a->op;
            if (a->act != OPERATE || op->ignored)
                continue;
            const struct side *sides[] = {&op->origin, &op->result, &op->compare, &op->remote};
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

/* `start`: offset of the window in its memory; 0 for the buffer. */
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

/* A value fetched in any order must be one of the possible intermediate values. */
static void check_combined(struct player *pl, const struct op *op)
{
    struct cursor back = {.pieces = &op->result.pieces}, to = {.pieces = &op->remote.pieces};
    struct image *image = &pl->images[op->target];
    long r, at;
    int basic;
    while (cursor_next(&to, &at, &basic) && cursor_next(&back, &r, &basic)) {
        long offset = pl->round->window->offset[op->target] + op->remote.at + at;
        char text[4000];
        if (is_between(&basics[basic], op->region->op, image->before + offset,
                       pl->buffer + op->result.at + r, image->memory + offset))
            continue;
        op_print(op, text, sizeof text);
        fail("fetched a value that no order of the operations explains: %s", text);
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

/* ---- phases ---- */

/* The stores into own memory before the phase, in the model and, on the owner, in memory. */
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
    int stores = pl->part[pl->rank] ? MPI_MODE_NOSTORE : 0; /* of any rank */
    DO(Win_fence, round->phase->close[pl->rank] & ~stores, pl->win);
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
    return p->memory == FROM_MALLOC || (p->memory == FROM_MALLOC_AT_ONE && rank == p->odd_one) ||
           (p->pieces && (p->seed / 16 + (uint64_t)rank) % 3 == 0);
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

static bool is_on_one_node(MPI_Comm comm)
{
    int size, here;
    MPI_Comm node;
    DO(Comm_split_type, comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    DO(Comm_size, node, &here);
    DO(Comm_size, comm, &size);
    DO(Comm_free, &node);
    return here == size;
}

/* Its parts follow each other, except where the program relies on aligned memory. */
static bool make_shared_window(struct player *pl)
{
    const struct program *p = pl->program;
    MPI_Info info;
    DO(Info_create, &info);
    DO(Info_set, info, "alloc_shared_noncontig", p->profile.aligned ? "true" : "false");
    DO(Win_allocate_shared, p->bytes[pl->rank], p->window[0].unit[pl->rank], info, pl->comm,
       &pl->memory, &pl->windows[0]);
    DO(Info_free, &info);
    return !failures;
}

static bool make_windows(struct player *pl)
{
    const struct program *p = pl->program;
    long bytes = p->bytes[pl->rank];
    if (p->memory == FROM_WIN_ALLOCATE) {
        /* MPICH 4.0.2 alone operates on wrong bytes of such windows. */
        if (!p->profile.tame && p->seed / 4 % 4 == 0 && is_on_one_node(pl->comm))
            return make_shared_window(pl);
        DO(Win_allocate, bytes, p->window[0].unit[pl->rank], MPI_INFO_NULL, pl->comm, &pl->memory,
           &pl->windows[0]);
        return !failures;
    }
    pl->memory = get_memory(bytes, !from_malloc(p, pl->rank));
    for (int w = 0; w < p->windows; w++) {
        const struct window *window = &p->window[w];
        long size = window->size[pl->rank];
        char *base = size ? pl->memory + window->offset[pl->rank] : NULL;
        int error = p->memory == ATTACHED
                        ? MPI_Win_create_dynamic(MPI_INFO_NULL, pl->comm, &pl->windows[w])
                        : MPI_Win_create(base, size, window->unit[pl->rank], MPI_INFO_NULL,
                                         pl->comm, &pl->windows[w]);
        if (error && p->size == 1)
            return false; /* Open MPI 4.1 rejects it */
        must_succeed("Win_create", error);
    }
    return !failures;
}

/* Open MPI 4.1 names the files of its windows by the context id alone, which disjoint groups may
 * share. */
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

/* Hosts before MPI-4.1 refuse that, except for windows of MPI_Win_allocate_shared. */
static void find_parts(struct player *pl)
{
    const struct program *p = pl->program;
    MPI_Aint size;
    int unit;
    for (int rank = 0; rank < p->size && p->memory == FROM_WIN_ALLOCATE; rank++)
        if (p->profile.tame ||
            MPI_Win_shared_query(pl->windows[0], rank, &size, &unit, &pl->part[rank]) ||
            size < p->window[0].size[rank])
            pl->part[rank] = NULL;
}

/* Cut [base, base + size) into ranges to attach. Between two ranges there may be a gap: MPICH
 * accesses any memory, and Open MPI the whole pages of what is attached, so a gap must neither
 * begin nor end at a page. The library leaves operations on a gap to the host. Private memory is
 * one range: Open MPI refuses operations on two of them. */
static void cut(struct player *pl, char *base, long size)
{
    enum { PAGE = 4096, WAYS = 3 };
    struct rng r = rng_for(pl->program->seed, 5000 + (uint64_t)(pl->round->number * 64 + pl->rank));
    bool whole = !pl->program->pieces || from_malloc(pl->program, pl->rank);
    bool gaps = !whole && chance(&r, 60), aligned = chance(&r, 50);
    long at = 0;
    pl->piece_count = 0;
    while (at < size && pl->piece_count < PIECES_MAX) {
        long n = pl->piece_count + 1 == PIECES_MAX || whole
                     ? size - at
                     : 1 + below(&r, chance(&r, 50) ? 64 : size - at);
        n = aligned ? round_up_to(n, 16) : n;
        n = at + n > size ? size - at : n;
        pl->piece[pl->piece_count] = base + at;
        pl->piece_bytes[pl->piece_count++] = n;
        at += n;
        long gap = gaps ? below(&r, WAYS) * 16 : 0;
        if (gap && at + gap < size && ((uintptr_t)base + (uintptr_t)at) % PAGE &&
            ((uintptr_t)base + (uintptr_t)(at + gap)) % PAGE)
            at += gap;
    }
}

/* This rank's part of the current window, and where those of the others are. */
static void attach(struct player *pl)
{
    const struct window *w = pl->round->window;
    char *base = pl->memory + w->offset[pl->rank];
    MPI_Aint address;
    if (pl->program->memory != ATTACHED)
        return;
    cut(pl, base, w->size[pl->rank]);
    for (int i = 0; i < pl->piece_count; i++)
        DO(Win_attach, pl->win, pl->piece[i], pl->piece_bytes[i]);
    DO(Get_address, base, &address);
    DO(Allgather, &address, 1, MPI_AINT, pl->address, 1, MPI_AINT, pl->comm);
}

static void detach(struct player *pl)
{
    if (pl->program->memory != ATTACHED)
        return;
    barrier(pl->comm);
    for (int i = 0; i < pl->piece_count; i++)
        DO(Win_detach, pl->win, pl->piece[i]);
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
    program_invent(&program, seed, size, options->manner);
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
    find_parts(pl);
    memcpy(pl->memory, pl->images[pl->rank].memory, (size_t)program.bytes[pl->rank]);
    memcpy(pl->buffer, pl->images[pl->rank].buffer, (size_t)program.buffer);
    for (int i = 0; i < program.rounds && pl->phases_left > 0; i++) {
        struct round round;
        progress->round = i;
        round_invent(&program, i, ops, &round);
        pl->round = &round;
        pl->win = pl->windows[round.window - program.window];
        attach(pl);
        play_round(pl);
        detach(pl);
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
