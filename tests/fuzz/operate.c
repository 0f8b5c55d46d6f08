/* Draws one random operation. */
#include "program.h"

/* ---- which bytes have been used how ---- */

/* State of a byte in a region that one origin owns. Accumulates with the same operation, and
 * operations that only fetch, may follow each other without a flush. */
enum { UNUSED, IS_READ, IS_WRITTEN, IS_SWAPPED, IS_FETCHED, IS_COMBINED /* + operation */ };

static unsigned char state_after(const struct op *op)
{
    switch (op->call) {
    case PUT:
        return IS_WRITTEN;
    case GET:
        return IS_READ;
    case COMPARE_AND_SWAP:
        return IS_SWAPPED;
    default:
        return op->op == OP_NO_OP ? IS_FETCHED : (unsigned char)(IS_COMBINED + op->op);
    }
}

static bool may_follow(unsigned char before, unsigned char next)
{
    if (before == UNUSED || (before == next && before != IS_WRITTEN))
        return true;
    return (before == IS_FETCHED && next >= IS_COMBINED) ||
           (next == IS_FETCHED && before >= IS_COMBINED);
}

/* Mark the bytes of the operation, or only check whether it is permitted. */
static bool visit(struct scene *s, const struct op *op, bool mark)
{
    unsigned char next = state_after(op);
    long base = op->remote.at;
    for (long i = 0; i < op->remote.pieces.count; i++) {
        const struct piece *piece = &op->remote.pieces.list[i];
        unsigned char *bytes = s->state[op->target] + base + piece->at;
        for (long b = 0; b < piece->count * basics[piece->basic].extent; b++) {
            if (base + piece->at + b >= s->round->window->size[op->target])
                break; /* the padding of the last pair may exceed the window */
            if (!mark && !may_follow(bytes[b], next))
                return false;
            if (mark && !(next == IS_FETCHED && bytes[b] >= IS_COMBINED))
                bytes[b] = next;
        }
    }
    return true;
}

void forget(struct scene *s, int target)
{
    for (int i = 0; i < s->round->regions; i++) {
        const struct region *g = &s->round->region[i];
        if (g->role == OWNED && g->owner == s->origin && (target < 0 || g->rank == target))
            memset(s->state[g->rank] + g->at, UNUSED, (size_t)g->bytes);
    }
}

/* ---- sides ---- */

static long divisor_below(struct rng *r, long n, long limit)
{
    for (int tries = 0; tries < 4; tries++) {
        long d = between(r, 1, limit);
        if (d <= n && n % d == 0)
            return d;
    }
    return 1;
}

/* A layout of n units. `plain` rules out derived datatypes. */
static struct side make_side(struct scene *s, long n, const struct unit *unit, bool plain,
                             bool on_grid)
{
    const struct profile *p = &s->program->profile;
    struct rng *r = &s->rng;
    struct side side = {0};
    bool derived = unit->parts > 1 || (!plain && chance(r, p->derived) && n <= 100000);
    if (!derived) {
        side.layout = layout_basic(unit->basic[0]);
        side.count = n;
    } else {
        long align = 1;
        for (int i = 0; i < unit->parts; i++)
            if (basics[unit->basic[i]].align > align)
                align = basics[unit->basic[i]].align;
        long grain = on_grid ? basics[unit->basic[0]].extent : p->aligned ? align : 1;
        side.count = n ? divisor_below(r, n, 4) : below(r, 3);
        side.layout = layout_random(r, n ? n / side.count : 0, unit, p->depth, grain);
        if (n == 0 && side.count == 0 && chance(r, 50))
            side.layout = layout_random(r, between(r, 1, 4), unit, p->depth, grain);
    }
    side.pieces = layout_pieces(side.layout, side.count);
    return side;
}

/* Assign an offset in the origin's buffer to a side. False: not enough room. */
static bool place_here(struct scene *s, struct side *side, bool may_overlap)
{
    long align = s->program->profile.aligned ? 16 : 1;
    if (!may_overlap && !pieces_disjoint(&side->pieces))
        return false;
    long at = s->used + below(&s->rng, 24);
    side->at = round_up_to(at - side->pieces.low, align);
    long end = side->at + side->pieces.high;
    if (side->at + side->pieces.low < s->used || end > s->program->buffer)
        return false;
    s->used = end;
    side->bottom = chance(&s->rng, 8) && !s->program->profile.tame;
    return true;
}

/* Find a displacement at which a side lies in a region. False: none exists. */
static bool place_there(struct scene *s, struct side *side, const struct region *g)
{
    const struct window *w = s->round->window;
    long unit = w->unit[g->rank];
    long step = g->basic >= 0 ? basics[g->basic].extent : s->program->profile.aligned ? 16 : 1;
    step = unit / gcd(unit, step) * step; /* of both */
    if (!pieces_disjoint(&side->pieces))
        return false;
    /* at = g->at + k * step, not below 0, with the data inside */
    long low = g->at - side->pieces.low, high = g->at + g->bytes - side->pieces.high;
    if (g->basic >= 0 && side->pieces.count) { /* the padding of the last element */
        const struct basic *b = &basics[g->basic];
        struct part parts[2];
        struct part last = parts[basic_parts(b, parts) - 1];
        high -= b->extent - last.at - last.size;
    }
    if (low < 0)
        low = 0;
    long first = (low - g->at) / step, last = (high - g->at) / step;
    while (g->at + first * step < low)
        first++;
    while (g->at + last * step > high)
        last--;
    if (first > last)
        return false;
    long k = chance(&s->rng, 25)   ? first
             : chance(&s->rng, 25) ? last
                                   : between(&s->rng, first, last);
    side->at = g->at + k * step;
    return true;
}

/* ---- operations ---- */

static bool is_ours(const struct scene *s, const struct region *g)
{
    switch (g->role) {
    case OWNED:
        return g->owner == s->origin;
    case LOCKED:
        return s->exclusive[g->rank];
    default:
        return true;
    }
}

static struct region *pick_region(struct scene *s)
{
    int first = (int)below(&s->rng, s->round->regions);
    for (int i = 0; i < s->round->regions; i++) {
        struct region *g = &s->round->region[(first + i) % s->round->regions];
        if (s->may[g->rank] && is_ours(s, g))
            return g;
    }
    return NULL;
}

/* The number of units of so many bytes, limited by `room`. */
static long pick_count(struct scene *s, long unit, long room)
{
    struct rng *r = &s->rng;
    const struct profile *p = &s->program->profile;
    static const long edges[] = {7, 8, 9, 15, 16, 17, 64};
    long kind = below(r, 100), n = 1;
    if (kind < 4)
        return 0;
    if (p->most > 1000000 && kind < 60) {
        static const long sizes[] = {65536, 65536, 131072, 2097152};
        n = sizes[below(r, 4)] / unit + between(r, -1, 1);
    } else if (kind < 35) {
        n = 1;
    } else if (kind < 60) {
        n = between(r, 2, 8);
    } else if (kind < 75) {
        n = edges[below(r, 7)];
    } else {
        n = between(r, 1, p->most);
    }
    n = n > p->most ? p->most : n;
    return n > room ? room : n;
}

static enum call pick_call(struct scene *s, const struct region *g)
{
    static const enum call all[] = {
        PUT, PUT, GET, GET, ACCUMULATE, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP};
    static const enum call looking[] = {GET, GET, GET_ACCUMULATE, FETCH_AND_OP};
    static const enum call combining[] = {ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP};
    struct rng *r = &s->rng;
    if (g->role == LOCKED)
        return INCREMENT;
    if (g->role == COMBINED)
        return combining[below(r, 3)];
    if (g->basic < 0)
        return chance(r, 50) && g->role == OWNED ? PUT : GET;
    if (g->role == READ)
        return looking[below(r, 4)];
    enum call call = all[below(r, 9)];
    bool swappable = can_compare_and_swap(&basics[g->basic]) && !g->commuting;
    if (call == COMPARE_AND_SWAP && (!swappable || s->program->profile.tame))
        return PUT;
    return call;
}

static int pick_accumulate(struct scene *s, const struct region *g, enum call call)
{
    struct rng *r = &s->rng;
    bool fetches = call != ACCUMULATE;
    if (g->role == READ || (fetches && chance(r, 20)))
        return OP_NO_OP;
    if (g->role == COMBINED || (g->commuting && chance(r, 70)))
        return g->op;
    if (chance(r, 20) || g->commuting)
        return OP_REPLACE;
    int op = (int)below(r, OP_REPLACE);
    while (!op_usable(&s->program->profile, &basics[g->basic], op))
        op = (op + 1) % OP_COUNT;
    return op == OP_NO_OP ? OP_REPLACE : op;
}

/* The basic datatypes of an operation. */
static struct unit pick_unit(struct scene *s, const struct region *g)
{
    struct rng *r = &s->rng;
    struct unit unit = {1, {g->basic}};
    if (g->basic >= 0)
        return unit;
    unit.parts = chance(r, s->program->profile.derived / 2) ? (int)between(r, 2, UNIT_MAX) : 1;
    for (int i = 0; i < unit.parts; i++) {
        unit.basic[i] = (int)below(r, basic_count);
        while (!basics[unit.basic[i]].present || (unit.parts > 1 && basics[unit.basic[i]].packed))
            unit.basic[i] = (unit.basic[i] + 1) % basic_count;
    }
    return unit;
}

static long unit_bytes(const struct unit *unit)
{
    long bytes = 0;
    for (int i = 0; i < unit->parts; i++)
        bytes += basics[unit->basic[i]].extent;
    return bytes;
}

/* The data that an operation has fetched, if the result is known, or has sent. */
static const struct side *local_data(const struct op *op)
{
    bool known = op->region && op->region->role != COMBINED;
    if (!known || op->call > GET_ACCUMULATE || op->chained)
        return NULL;
    const struct side *side = op->call == GET_ACCUMULATE ? &op->result : &op->origin;
    return side->pieces.count ? side : NULL;
}

static bool same_values(const struct op *a, const struct op *b)
{
    return a->purpose == b->purpose && (a->purpose != ANY_ORDER || a->region->op == b->region->op);
}

static long elements_of(const struct side *side)
{
    long n = 0;
    for (long i = 0; i < side->pieces.count; i++)
        n += side->pieces.list[i].count;
    return n;
}

/* Reuse the data that an earlier operation of this phase has fetched or sent as this operation's
 * origin data. */
static bool chain(struct scene *s, struct op *op, const struct unit *unit, long n)
{
    struct actions *list = &s->phase->actions[s->origin];
    for (int i = 0; unit->parts == 1 && i < list->count; i++) {
        struct op *before = list->list[i].op;
        const struct side *side = before ? local_data(before) : NULL;
        if (!side || !before->complete || !same_values(before, op) || elements_of(side) != n ||
            side->pieces.list[0].basic != unit->basic[0])
            continue;
        op->origin = *side;
        op->chained = before->reused = true;
        return true;
    }
    return false;
}

/* The sides of an operation on n units of a region. False: they do not fit. */
static bool make_sides(struct scene *s, struct op *op, const struct region *g,
                       const struct unit *unit, long n)
{
    bool single = op->call >= FETCH_AND_OP, grid = g->basic >= 0;
    bool tame = s->program->profile.tame, counters = s->program->profile.counters;
    bool combines = op->call >= ACCUMULATE;
    bool plain = single || tame;
    op->remote = make_side(s, n, unit, plain || (counters && combines), grid);
    if (!place_there(s, &op->remote, g))
        return false;
    bool sends = op->call != GET && !(op->op == OP_NO_OP && combines && chance(&s->rng, 50));
    if (s->passive && sends && !single && chance(&s->rng, 30) && chain(s, op, unit, n))
        ;
    else if (op->call == GET || sends) {
        op->origin = make_side(s, n, unit, plain, false);
        if (!place_here(s, &op->origin, op->call != GET && op->purpose == RAW_PATTERN))
            return false;
    }
    if (op->call >= GET_ACCUMULATE) {
        op->result = make_side(s, n, unit, plain, false);
        if (!place_here(s, &op->result, false))
            return false;
    }
    if (op->call == COMPARE_AND_SWAP) {
        op->compare = make_side(s, n, unit, plain, false);
        if (!place_here(s, &op->compare, false))
            return false;
    }
    if (single) /* MPI accepts no derived datatype there */
        op->origin.bottom = op->result.bottom = op->compare.bottom = false;
    return true;
}

static void add(struct scene *s, struct op *op)
{
    struct action *a = act(s, OPERATE, op->target);
    op->id = s->round->ops++;
    a->op = op;
    a->how = (int)below(&s->rng, 3);
    op->complete = op->request && a->how != AT_LEISURE;
}

/* With MPI_PROC_NULL as target, or of no elements, at any displacement. */
static void operate_on_nothing(struct scene *s)
{
    struct rng *r = &s->rng;
    struct op *op = keep(sizeof *op);
    int target = (int)below(r, s->program->size);
    bool to_null = chance(r, 50);
    if (s->program->profile.tame || (!to_null && !s->may[target]))
        return;
    long n = to_null ? between(r, 0, 4) : 0;
    static const enum call calls[] = {PUT, GET, ACCUMULATE, GET_ACCUMULATE};
    op->call = calls[below(r, 4)];
    op->op = op->call == GET_ACCUMULATE && chance(r, 50) ? OP_NO_OP : OP_REPLACE;
    struct region *g = pick_region(s);
    op->basic = g && g->basic > 0 ? g->basic : 0;
    op->target = to_null ? MPI_PROC_NULL : target;
    op->purpose = RAW_PATTERN;
    op->request = s->passive && chance(r, s->program->profile.requests);
    struct unit unit = {1, {op->basic}};
    op->origin = make_side(s, n, &unit, false, false);
    op->remote = make_side(s, n, &unit, false, false);
    op->remote.at = below(r, s->round->window->size[target] / s->round->window->unit[target] + 1) *
                    s->round->window->unit[target];
    if (op->call == GET_ACCUMULATE)
        op->result = make_side(s, n, &unit, false, false);
    if (place_here(s, &op->origin, op->call != GET) &&
        (!op->result.layout || place_here(s, &op->result, false)))
        add(s, op);
}

void operate(struct scene *s)
{
    struct rng *r = &s->rng;
    const struct profile *p = &s->program->profile;
    struct region *g = pick_region(s);
    if (chance(r, 4) || !g) {
        operate_on_nothing(s);
        return;
    }
    struct op *op = keep(sizeof *op);
    op->call = pick_call(s, g);
    op->target = g->rank;
    op->region = g;
    op->basic = g->basic;
    op->purpose = g->basic < 0 ? RAW_PATTERN : g->commuting ? ANY_ORDER : ANY_VALUE;
    bool accumulates = op->call >= ACCUMULATE && op->call <= FETCH_AND_OP;
    op->op = accumulates ? pick_accumulate(s, g, op->call) : OP_REPLACE;
    op->request = s->passive && op->call <= GET_ACCUMULATE && chance(r, p->requests) && !p->tame;
    op->large = chance(r, 25);
    op->matches = chance(r, 60);
    struct unit unit = pick_unit(s, g);
    bool packed = g->basic < 0 && basics[unit.basic[0]].packed;
    long n = pick_count(s, unit_bytes(&unit), g->bytes / unit_bytes(&unit));
    if (p->counters && op->call >= ACCUMULATE && n > 8)
        n = between(r, 1, 8);
    if (op->call == FETCH_AND_OP || op->call == COMPARE_AND_SWAP)
        n = 1;
    if (op->call == INCREMENT)
        n = n > 4 ? 4 : n;
    if (packed && n > 100)
        n = 100;
    for (int tries = 0; tries < 6; tries++, n = (n + 1) / 2) {
        long used = s->used;
        op->chained = false;
        op->origin = op->result = op->compare = (struct side){0};
        if (!make_sides(s, op, g, &unit, n)) {
            s->used = used;
            continue;
        }
        if (g->role == OWNED && !visit(s, op, false)) {
            if (!s->passive)
                return;
            flush(s, chance(r, 70) ? FLUSH : FLUSH_ALL, op->target);
        }
        if (g->role == OWNED)
            visit(s, op, true);
        add(s, op);
        return;
    }
}

/* ---- text ---- */

static void print_side(const char *name, const struct side *side, char *text, size_t room)
{
    char layout[1500];
    if (!side->layout)
        return;
    layout_print(side->layout, layout, sizeof layout);
    size_t used = strlen(text);
    snprintf(text + used, room - used, " %s %s%ld: %ld %s", name, side->bottom ? "bottom+" : "",
             side->at, side->count, layout);
}

void op_print(const struct op *op, char *text, size_t room)
{
    bool accumulates = op->call >= ACCUMULATE && op->call <= FETCH_AND_OP;
    snprintf(text, room, "op %d: %s%s%s%s%s target %d%s%s", op->id, op->request ? "R" : "",
             call_names[op->call], op->large ? "_c" : "", accumulates ? " " : "",
             accumulates ? op_names[op->op] : "", op->target, op->chained ? " (chained)" : "",
             op->region && op->region->role == COMBINED ? " (combined)" : "");
    print_side("origin", &op->origin, text, room);
    print_side("compare", &op->compare, text, room);
    print_side("result", &op->result, text, room);
    print_side("target", &op->remote, text, room);
}
