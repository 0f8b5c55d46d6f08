#include "program.h"

const char *const call_names[] = {
    "Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Get+Put"};

/* ---- the setting ---- */

static struct profile invent_profile(struct rng *r)
{
    static const int share[] = {0, 20, 50, 90};
    static const long most[] = {1, 8, 16, 64, 300};
    struct profile p = {.aligned = chance(r, 65), .counters = chance(r, 25)};
    p.derived = share[below(r, 4)];
    p.depth = (int)below(r, 4);
    p.requests = share[below(r, 4)];
    p.most = most[below(r, 5)];
    return p;
}

/* Bytes of a rank's window. */
static long window_size(struct rng *r)
{
    long kind = below(r, 100);
    if (kind < 6)
        return 0;
    if (kind < 16)
        return between(r, 1, 40);
    if (kind < 90)
        return between(r, 64, 1500);
    return between(r, 2000, 10000);
}

static int unit_of(struct rng *r, bool aligned)
{
    static const int units[] = {1, 1, 1, 8, 4, 16, 2, 3, 7, 24};
    return units[below(r, aligned ? 7 : 10)];
}

/* Sometimes a length around the sizes at which implementations change their algorithm. */
static long big_size(struct rng *r)
{
    return chance(r, 25) ? between(r, 2100000, 2600000) : between(r, 65536, 300000);
}

static void invent_window(struct rng *r, struct program *p, struct window *w, bool big)
{
    bool same_size = chance(r, 25);
    long common = window_size(r);
    int common_unit = unit_of(r, p->profile.aligned);
    for (int rank = 0; rank < p->size; rank++) {
        long fence = p->memory == FROM_WIN_ALLOCATE ? 0 : between(r, 0, 4) * 16;
        if (fence && !p->profile.aligned)
            fence += below(r, 16);
        w->size[rank] = big ? big_size(r) : same_size ? common : window_size(r);
        w->unit[rank] = same_size ? common_unit : unit_of(r, p->profile.aligned);
        w->offset[rank] = fence;
        long end = fence + w->size[rank] + (p->memory == FROM_WIN_ALLOCATE ? 0 : below(r, 70));
        if (p->profile.tame) { /* MPICH 4.0 alone would access wrong bytes */
            w->offset[rank] = round_up_to(w->offset[rank], 64);
            w->size[rank] = round_up_to(w->size[rank], 64);
            end = w->offset[rank] + w->size[rank];
        }
        if (end > p->bytes[rank])
            p->bytes[rank] = end;
    }
}

void program_invent(struct program *p, uint64_t seed, int size, struct manner manner)
{
    struct rng r = rng_for(seed, 0);
    *p = (struct program){.seed = seed, .size = size, .windows = 1};
    p->profile = invent_profile(&r);
    p->profile.depth += manner.deep ? DEEPER : 0;
    long where = below(&r, 100);
    p->memory = where < 57   ? FROM_ALLOC_MEM
                : where < 60 ? ATTACHED
                : where < 97 ? FROM_WIN_ALLOCATE
                : where < 98 ? FROM_MALLOC
                             : FROM_MALLOC_AT_ONE;
    p->memory = manner.dynamic ? ATTACHED : p->memory;
    p->pieces = p->memory == ATTACHED && !(manner.dynamic && size > 1 && seed / 4 % 4 == 0);
    p->odd_one = (int)below(&r, size);
    p->profile.tame =
        manner.tame || p->pieces || p->memory == FROM_MALLOC || p->memory == FROM_MALLOC_AT_ONE;
    p->profile.aligned |= p->profile.tame;
    p->buffer_from_mpi = chance(&r, 50);
    bool big = chance(&r, 2);
    if (big)
        p->profile.most = 1 << 22;
    if (p->memory != FROM_WIN_ALLOCATE && chance(&r, 15))
        p->windows = 2;
    long largest = 0;
    for (int w = 0; w < p->windows; w++)
        invent_window(&r, p, &p->window[w], big);
    for (int rank = 0; rank < size; rank++)
        largest = p->bytes[rank] > largest ? p->bytes[rank] : largest;
    p->buffer = big ? 4 * largest : 24000;
    p->rounds = big ? 2 : (int)between(&r, 1, 4);
}

/* ---- rounds ---- */

static long least_common(long a, long b)
{
    return a / gcd(a, b) * b;
}

static bool is_counter(const struct basic *b)
{
    return b->extent <= 8 && b->kind != PAIR && b->kind != COMPLEX && b->kind != OPAQUE;
}

/* So many of the first operations are correct on every host. */
enum { TAME_BASICS = 4 };

static int pick_basic(struct rng *r, const struct profile *p)
{
    int i = (int)below(r, basic_count);
    /* The common datatypes come first. */
    if (chance(r, 30))
        i = (int)below(r, 4);
    while (!basics[i].present || basics[i].packed || (p->counters && !is_counter(&basics[i])) ||
           (p->tame && i >= TAME_BASICS))
        i = (i + 1) % basic_count;
    return i;
}

bool op_usable(const struct profile *p, const struct basic *b, int op)
{
    /* Both hosts compare unsigned longs as signed, and apply logical operations bitwise. */
    bool wrong = (op <= OP_MIN && b->kind == UNSIGNED) || (op > OP_PROD && op < OP_REPLACE);
    return op_defined(b, op) && !(p->tame && wrong);
}

static int pick_op(struct rng *r, const struct profile *p, const struct basic *b)
{
    int op = (int)below(r, OP_REPLACE);
    for (int tries = 0; tries < OP_REPLACE && !op_usable(p, b, op); tries++)
        op = (op + 1) % OP_REPLACE;
    return op_usable(p, b, op) ? op : -1;
}

static void invent_region(struct rng *r, const struct program *p, struct round *round,
                          struct region *g)
{
    const struct window *w = round->window;
    g->basic = chance(r, 75) || p->profile.counters ? pick_basic(r, &p->profile) : -1;
    const struct basic *b = g->basic < 0 ? NULL : &basics[g->basic];
    long align = p->profile.aligned ? b ? b->align : 16 : 1;
    /* The window's start is aligned to 16 in an aligned program. */
    g->at = round_up_to(g->at, least_common(w->unit[g->rank], align));
    long room = w->size[g->rank] - g->at;
    g->bytes = room <= 0 ? 0 : chance(r, 30) ? room : between(r, 1, room);
    if (!b)
        return;
    g->cells = g->bytes / b->extent;
    /* A pair's trailing padding lies in the region too. */
    g->bytes = g->cells * b->extent;
    g->op = pick_op(r, &p->profile, b);
    g->commuting = g->op >= 0 && chance(r, 50);
    if (round->sync == PASSIVE && b->kind == SIGNED && chance(r, 40)) {
        g->op = OP_SUM;
        g->commuting = true;
        g->role = LOCKED;
    }
}

enum { REGIONS_A_RANK = 5 };

static void invent_regions(struct rng *r, const struct program *p, struct round *round)
{
    round->region = keep(REGIONS_A_RANK * RANKS_MAX * sizeof *round->region);
    for (int rank = 0; rank < p->size; rank++) {
        long at = chance(r, 60) ? 0 : below(r, 20);
        for (int i = 0; i < REGIONS_A_RANK; i++) {
            struct region *g = &round->region[round->regions];
            *g = (struct region){.rank = rank, .at = at};
            invent_region(r, p, round, g);
            if (g->bytes <= 0)
                break;
            round->regions++;
            at = g->at + g->bytes + (chance(r, 50) ? 0 : below(r, 24));
        }
    }
}

void round_invent(const struct program *p, int number, int first_op, struct round *round)
{
    struct rng r = rng_for(p->seed, (uint64_t)(1 + number));
    *round = (struct round){.number = number, .ops = first_op};
    round->sync = (enum sync)below(&r, 3);
    if (p->profile.tame && round->sync == POST_START) /* MPICH 4.0 alone hangs occasionally */
        round->sync = FENCE;
    round->lock_own = chance(&r, 70) && !p->profile.tame; /* and so it does here */
    round->window = &p->window[below(&r, p->windows)];
    round->phases = round->sync == PASSIVE ? 1 : (int)between(&r, 1, PHASES_MAX);
    for (int i = 1; i < round->phases; i++)
        round->joined[i] = round->sync == FENCE && chance(&r, 40);
    invent_regions(&r, p, round);
}

/* ---- phases ---- */

struct action *act(struct scene *s, enum act what, int target)
{
    struct actions *a = &s->phase->actions[s->origin];
    if (a->count == a->room) {
        a->room = a->room ? 2 * a->room : 16;
        struct action *list = keep((size_t)a->room * sizeof *list);
        if (a->count)
            memcpy(list, a->list, (size_t)a->count * sizeof *list);
        a->list = list;
    }
    a->list[a->count] = (struct action){.act = what, .target = target};
    return &a->list[a->count++];
}

static void assign_roles(struct rng *r, const struct program *p, struct round *round,
                         const struct phase *phase)
{
    for (int i = 0; i < round->regions; i++) {
        struct region *g = &round->region[i];
        if (g->role == LOCKED)
            continue;
        int kind = (int)below(r, 100);
        g->role = g->commuting && kind < 60 ? COMBINED : kind > 85 ? READ : OWNED;
        g->owner = (int)below(r, p->size);
        /* A rank that may access it. */
        for (int o = 0; round->sync == POST_START && o < p->size; o++)
            if (!phase->access[g->owner][g->rank])
                g->owner = (g->owner + 1) % p->size;
    }
}

static int op_count(struct rng *r, const struct program *p)
{
    return p->buffer > 1000000 ? (int)below(r, 3) : (int)below(r, 7);
}

static void active_actions(struct scene *s)
{
    for (int n = op_count(&s->rng, s->program); n-- > 0;)
        operate(s);
}

/* Whether another rank changes this rank's window in the phase. */
static bool is_written(const struct program *p, const struct phase *phase, int rank)
{
    for (int o = 0; o < p->size; o++)
        for (int i = 0; i < phase->actions[o].count; i++) {
            const struct op *op = phase->actions[o].list[i].op;
            if (op && op->target == rank && op->call != GET)
                return true;
        }
    return false;
}

static void fence_assertions(struct rng *r, const struct program *p, const struct round *round,
                             struct phase *phase, int number)
{
    bool precede = chance(r, 50), succeed = chance(r, 50);
    bool last = number == round->phases - 1;
    for (int rank = 0; rank < p->size; rank++) {
        bool written = is_written(p, phase, rank);
        if (!round->joined[number]) {
            phase->open[rank] = precede ? MPI_MODE_NOPRECEDE : 0;
            if (!written && chance(r, 50))
                phase->open[rank] |= MPI_MODE_NOPUT;
            if (!phase->refill[rank] && number && chance(r, 50))
                phase->open[rank] |= MPI_MODE_NOSTORE;
        }
        if (last && succeed)
            phase->close[rank] |= MPI_MODE_NOSUCCEED;
        if (chance(r, 50)) /* no rank stores into its own window during the phase */
            phase->close[rank] |= MPI_MODE_NOSTORE;
    }
}

static void post_plan(struct rng *r, const struct program *p, struct phase *phase)
{
    static const int density[] = {15, 50, 100};
    int percent = density[below(r, 3)];
    for (int o = 0; o < p->size; o++)
        for (int t = 0; t < p->size; t++)
            phase->access[o][t] = chance(r, percent);
    phase->no_check = chance(r, 15);
    for (int rank = 0; rank < p->size; rank++) {
        phase->test[rank] = chance(r, 40);
        phase->post_nobody[rank] = chance(r, 50);
    }
}

static void post_assertions(struct rng *r, const struct program *p, struct phase *phase, int number)
{
    for (int rank = 0; rank < p->size; rank++) {
        phase->post[rank] = phase->no_check ? MPI_MODE_NOCHECK : 0;
        if (!is_written(p, phase, rank) && chance(r, 50))
            phase->post[rank] |= MPI_MODE_NOPUT;
        if (!phase->refill[rank] && number && chance(r, 50))
            phase->post[rank] |= MPI_MODE_NOSTORE;
    }
}

/* ---- passive phases ---- */

/* The locks of each origin, for the whole phase. */
struct plan {
    bool all[RANKS_MAX];                  /* this origin uses lock_all */
    bool exclusive[RANKS_MAX][RANKS_MAX]; /* origin, target */
    int only;                             /* no rank but this origin accesses anything; or -1 */
};

static struct plan lock_plan(struct rng *r, const struct program *p)
{
    struct plan plan = {.only = chance(r, 10) ? (int)below(r, p->size) : -1};
    int all = chance(r, 30) ? 100 : chance(r, 50) ? 0 : 50, exclusive = (int)below(r, 3) * 50;
    if (p->profile.tame)
        all = 100;
    for (int o = 0; o < p->size; o++) {
        plan.all[o] = chance(r, all);
        for (int t = 0; t < p->size; t++)
            plan.exclusive[o][t] = !plan.all[o] && chance(r, exclusive);
    }
    return plan;
}

/* Whether an origin may pass MPI_MODE_NOCHECK for this target. */
static bool unopposed(const struct plan *plan, const struct program *p, int origin, int target)
{
    bool any_exclusive = false;
    for (int o = 0; o < p->size; o++)
        any_exclusive |= plan->exclusive[o][target];
    return plan->only == origin || !any_exclusive;
}

static bool anybody_locks_all(const struct plan *plan, const struct program *p)
{
    for (int o = 0; o < p->size; o++)
        if (plan->all[o])
            return true;
    return false;
}

/* Operations on the target, or on all targets (-1), are complete at the origin. */
static void complete(struct scene *s, int target, bool requests_too)
{
    struct actions *list = &s->phase->actions[s->origin];
    for (int i = 0; i < list->count; i++) {
        struct op *op = list->list[i].op;
        if (op && (target < 0 || op->target == target))
            op->complete |= requests_too || !op->request;
    }
}

static void complete_requests(struct scene *s)
{
    struct actions *list = &s->phase->actions[s->origin];
    for (int i = 0; i < list->count; i++)
        if (list->list[i].op)
            list->list[i].op->complete |= list->list[i].op->request;
}

void flush(struct scene *s, enum act what, int target)
{
    act(s, what, target);
    if (what == FLUSH_ALL || what == FLUSH_LOCAL_ALL)
        target = -1;
    complete(s, target, false);
    if (what == FLUSH || what == FLUSH_ALL)
        forget(s, target);
}

/* An action between operations. */
static void pause_somehow(struct scene *s)
{
    static const enum act kinds[] = {FLUSH,           FLUSH, FLUSH_ALL, FLUSH_LOCAL,
                                     FLUSH_LOCAL_ALL, SYNC,  WAIT};
    struct rng *r = &s->rng;
    enum act what = kinds[below(r, 7)];
    int target = (int)below(r, s->program->size);
    while (!s->may[target])
        target = (target + 1) % s->program->size;
    if (what != WAIT && what != SYNC) {
        flush(s, what, target);
        return;
    }
    act(s, what, target)->how = (int)below(r, 4);
    if (what == WAIT)
        complete_requests(s);
}

/* Overwrite the buffer of an operation that no longer needs it. */
static void scribble(struct scene *s)
{
    struct actions *list = &s->phase->actions[s->origin];
    for (int i = 0; i < list->count; i++) {
        struct op *op = list->list[i].op;
        bool sends = op && op->origin.layout && !op->chained && !op->reused && op->call != GET &&
                     op->call != INCREMENT;
        if (sends && op->complete && chance(&s->rng, 30)) {
            act(s, SCRIBBLE, 0)->op = op;
            return;
        }
    }
}

static void passive_actions(struct scene *s)
{
    for (int n = op_count(&s->rng, s->program); n-- > 0;) {
        operate(s);
        if (chance(&s->rng, 30))
            pause_somehow(s);
        if (chance(&s->rng, 20))
            scribble(s);
    }
}

static void lock_all_session(struct scene *s, const struct plan *plan)
{
    bool unchecked = true;
    for (int t = 0; t < s->program->size; t++) {
        unchecked &= unopposed(plan, s->program, s->origin, t);
        s->may[t] = true;
        s->exclusive[t] = false;
    }
    act(s, LOCK_ALL, 0)->assertion = unchecked && chance(&s->rng, 40) ? MPI_MODE_NOCHECK : 0;
    passive_actions(s);
    act(s, UNLOCK_ALL, 0);
    complete(s, -1, true);
    forget(s, -1);
}

static void lock_session(struct scene *s, const struct plan *plan, bool several)
{
    int n = s->program->size;
    bool any = false;
    for (int t = 0; t < n; t++)
        s->may[t] = several && chance(&s->rng, 50);
    for (int t = 0; t < n; t++)
        any |= s->may[t];
    if (!any)
        s->may[below(&s->rng, n)] = true;
    /* Lock targets in rank order, so that locks cannot deadlock. */
    for (int t = 0; t < n; t++) {
        s->exclusive[t] = s->may[t] && plan->exclusive[s->origin][t];
        if (!s->may[t])
            continue;
        struct action *a = act(s, LOCK, t);
        a->how = s->exclusive[t] ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
        if (unopposed(plan, s->program, s->origin, t) && chance(&s->rng, 40))
            a->assertion = MPI_MODE_NOCHECK;
    }
    passive_actions(s);
    bool down = chance(&s->rng, 50);
    for (int i = 0; i < n; i++) {
        int t = down ? n - 1 - i : i;
        if (!s->may[t])
            continue;
        act(s, UNLOCK, t);
        complete(s, t, true);
        forget(s, t);
    }
}

static void passive_phase(struct scene *s, const struct plan *plan)
{
    if (plan->only >= 0 && plan->only != s->origin)
        return;
    bool all = plan->all[s->origin], several = !anybody_locks_all(plan, s->program);
    for (int n = (int)between(&s->rng, 1, 2); n-- > 0;) {
        if (all)
            lock_all_session(s, plan);
        else
            lock_session(s, plan, several);
    }
}

/* ---- all ---- */

void phase_invent(const struct program *p, struct round *round, int number)
{
    struct phase *phase = round->phase = keep(sizeof *phase);
    struct rng r = rng_for(p->seed, (uint64_t)(1000 + 10 * round->number + number));
    struct plan plan = {0};
    for (int rank = 0; rank < p->size; rank++)
        phase->refill[rank] = !number || (!round->joined[number] && chance(&r, 50));
    if (round->sync == POST_START)
        post_plan(&r, p, phase);
    else if (round->sync == PASSIVE)
        plan = lock_plan(&r, p);
    assign_roles(&r, p, round, phase);
    struct scene s = {.program = p, .round = round, .phase = phase};
    s.passive = round->sync == PASSIVE;
    for (int rank = 0; rank < p->size; rank++)
        s.state[rank] = keep((size_t)round->window->size[rank] + 1);
    for (s.origin = 0; s.origin < p->size; s.origin++) {
        s.rng = rng_for(rng_next(&r), (uint64_t)s.origin);
        s.used = 0;
        for (int t = 0; t < p->size; t++)
            s.may[t] = round->sync == FENCE || phase->access[s.origin][t];
        if (s.passive)
            passive_phase(&s, &plan);
        else
            active_actions(&s);
    }
    if (round->sync == FENCE)
        fence_assertions(&r, p, round, phase, number);
    else if (round->sync == POST_START)
        post_assertions(&r, p, phase, number);
}
