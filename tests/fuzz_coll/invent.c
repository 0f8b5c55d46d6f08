/* Draws a random call: first what all ranks agree on, then this rank's two sides. */
#include "call.h"

/* The random streams of a call. */
enum { SHARED, OWN = 1000, AMOUNT = 2000 };

/* ---- what all agree on ---- */

/* Bytes of a message. Most are small; many are around sizes at which an implementation may change
 * its algorithm. */
static long message_size(struct rng *r, long element, long most)
{
    static const long edges[] = {112, 120,  128,  136,   240,   248,
                                 256, 4096, 8192, 16384, 32768, 65536};
    long kind = below(r, 1000), size;
    if (kind < 40)
        return 0;
    if (kind < 420)
        size = between(r, 1, 8) * element;
    else if (kind < 700)
        size = between(r, 1, 4096);
    else if (kind < 945)
        size = edges[below(r, chance(r, 60) ? 7 : 12)] + between(r, -1, 1) * element;
    else
        size = kind < 996 ? between(r, 4096, 300000) : 2097152 + between(r, -1, 1) * element;
    return size < most ? size : between(r, 0, most);
}

/* On intercommunicators the parts that one group's ranks receive have the same total as those of
 * the other. */
static long joined_units(const struct call *c, int to)
{
    bool local = to >= c->own_first && to < c->own_first + c->own;
    int first = local ? c->own_first : c->first, mine = local ? c->own : c->size;
    int others = local ? c->size : c->own;
    if (c->form->spread == NEITHER)
        return c->units * others;
    long left = c->units * (mine > others ? mine : others);
    for (int r = first; r < to; r++)
        left -= joined_units(c, r);
    struct rng r = rng_for(c->seed, (uint64_t)(AMOUNT + to));
    return to == first + mine - 1 ? left : chance(&r, 25) ? 0 : between(&r, 0, c->units);
}

long units(const struct call *c, int from, int to)
{
    static const int apart = RANKS_MAX + 1; /* no rank */
    int low = from < to ? from : to, high = from + to - low;
    if (c->inter && c->form->send[0] == JOINED)
        return joined_units(c, to);
    if (c->form->spread == NEITHER)
        return c->units;
    if (c->form->spread == SENDER)
        high = apart, low = from;
    if (c->form->spread == RECEIVER)
        high = apart, low = to;
    if (c->form->spread == BOTH && !c->in_place)
        low = from, high = to;
    struct rng r = rng_for(c->seed, (uint64_t)(AMOUNT + low * (apart + 1) + high));
    long kind = below(&r, 4);
    return kind == 0 ? 0 : kind == 1 ? between(&r, 0, c->units / c->step) * c->step : c->units;
}

static bool usable(const struct basic *b, int op)
{
    return b->present && !b->packed && op_defined(b, op);
}

static int basic_named(const char *name)
{
    for (int i = 0; i < basic_count; i++)
        if (!strcmp(basics[i].name, name))
            return i;
    give_up("there is no %s", name);
}

static int pick_present(struct rng *r)
{
    int i = (int)below(r, chance(r, 30) ? 4 : basic_count); /* the common datatypes come first */
    while (!basics[i].present)
        i = (i + 1) % basic_count;
    return i;
}

/* Open MPI 4.1 alone misplaces elements of types whose displacements are not ascending, or that
 * overlap. */
static bool is_odd(const struct layout *l)
{
    bool odd = l->stride < 0 || l->true_low < 0 || layout_extent(l) < l->true_high - l->true_low;
    bool placed = l->constructor >= INDEXED && l->constructor <= STRUCT;
    for (long i = 1; placed && i < l->count; i++)
        odd |= l->displs[i] < l->displs[i - 1];
    for (long i = 0; l->children && i < l->count; i++)
        odd |= is_odd(l->children[i]);
    return odd || (l->child && is_odd(l->child));
}

/* Consecutive copies do not overlap, however many. */
static bool can_repeat(const struct layout *l)
{
    long extent = layout_extent(l);
    if (extent <= 0)
        return false;
    struct pieces p = layout_pieces(l, (l->true_high - l->true_low) / extent + 2);
    return pieces_disjoint(&p);
}

static void pick_user_op(struct call *c, struct rng *r, const struct profile *p)
{
    c->user = &user_ops[below(r, user_op_count)];
    c->op = OP_COUNT;
    c->basic = basic_named("MPI_UNSIGNED");
    while (!c->user->parts && basics[c->basic = pick_present(r)].kind == PAIR)
        ; /* their padding need not be kept */
    c->unit = (struct unit){1, {c->basic}};
    c->layout = layout_basic(c->basic);
    if (c->user->parts <= 1)
        return;
    bool derived = chance(r, p->derived) && !p->tame;
    struct unit unit = c->unit;
    long grain = basics[c->basic].extent;
    do
        c->layout = layout_random(r, c->user->parts, &unit, derived ? p->depth : 0, grain);
    while (!can_repeat(c->layout) || (p->tame && is_odd(c->layout)));
    c->unit.parts = c->user->parts;
    for (int i = 0; i < c->unit.parts; i++)
        c->unit.basic[i] = c->basic;
}

static void pick_op(struct call *c, struct rng *r, const struct profile *p)
{
    if (chance(r, p->user_ops)) {
        pick_user_op(c, r, p);
        return;
    }
    do {
        c->op = (int)below(r, OP_REPLACE);
        c->basic = pick_present(r);
    } while (!usable(&basics[c->basic], c->op));
    c->unit = (struct unit){1, {c->basic}};
    c->layout = layout_basic(c->basic);
}

static void pick_unit(struct call *c, struct rng *r, const struct profile *p)
{
    c->unit.parts = chance(r, 80) || p->tame ? 1 : (int)between(r, 2, UNIT_MAX);
    for (int i = 0; i < c->unit.parts; i++)
        c->unit.basic[i] = pick_present(r);
    c->basic = c->unit.basic[0];
}

static void agree(struct call *c, const struct profile *p)
{
    struct rng r = rng_for(c->seed, SHARED);
    const struct form *form = c->form;
    int ranks = c->inter ? c->own + c->size : c->size;
    c->root = form->rooted ? (int)below(&r, ranks) : 0;
    if (form->reduces)
        pick_op(c, &r, p);
    else
        pick_unit(c, &r, p);
    bool many = form->send[0] > ONE || form->receive[0] > ONE;
    long element = packed_bytes(c, 1), most = p->most / (many ? ranks : 1);
    c->most_derived = p->tame ? host_most_derived(c) : 400000;
    if (c->unit.parts > 1 && !c->user)
        most = c->most_derived < most ? c->most_derived : most;
    long size = message_size(&r, element, most);
    if (many && chance(&r, 50)) /* the total size */
        size /= ranks;
    c->step = form->spread == NEITHER ? 1 : between(&r, 1, 4);
    c->units = round_up_to(size / element, c->step);
    c->asks_in_place = form->in_place != NO_RANK && chance(&r, p->in_place) && !c->inter;
    c->in_place = c->asks_in_place && (form->in_place == ALL_RANKS || c->rank == c->root);
}

/* ---- one side ---- */

static long divisor(struct rng *r, long n)
{
    long d = between(r, 1, 4);
    while (n % d)
        d--;
    return chance(r, 50) ? d : n / d;
}

/* A type of some units, of which `n` is a multiple. */
static const struct layout *pick_layout(const struct call *c, const struct profile *p,
                                        struct rng *r, long n, int tries)
{
    const struct unit *unit = &c->unit;
    if (c->layout)
        return c->layout;
    bool derived = chance(r, p->derived) && packed_bytes(c, c->units) <= c->most_derived;
    if (unit->parts == 1 && (!derived || tries > 3))
        return layout_basic(unit->basic[0]);
    long align = 1;
    for (int i = 0; i < unit->parts; i++)
        align = basics[unit->basic[i]].align > align ? basics[unit->basic[i]].align : align;
    long grain = p->aligned ? align : 1;
    if (unit->parts == 1 && chance(r, 30))
        grain = basics[unit->basic[0]].extent;
    if (!derived || tries > 3)
        return layout_random(r, 1, unit, 0, grain);
    return layout_random(r, n ? divisor(r, n) : between(r, 0, 4), unit, p->depth, grain);
}

/* Units in a type. */
static long units_of(const struct call *c, const struct layout *l)
{
    struct pieces p = layout_pieces(l, 1);
    long elements = 0;
    for (long i = 0; i < p.count; i++)
        elements += p.list[i].count;
    return elements / c->unit.parts;
}

static void set_block(const struct call *c, struct block *b, const struct layout *l, long n)
{
    long each = units_of(c, l);
    b->layout = l;
    b->count = each ? n / each : 0;
    b->pieces = layout_pieces(l, b->count);
}

/* Place blocks after each other with random gaps, at multiples of their types' extents or of
 * `grain` bytes. */
static void scatter_blocks(struct side *side, struct rng *r, long grain)
{
    int order[RANKS_MAX];
    for (int i = 0; i < side->blocks; i++) {
        int j = (int)below(r, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    long end = chance(r, 15) ? -between(r, 1, 99) : 0;
    bool gaps = chance(r, 50);
    for (int i = 0; i < side->blocks; i++) {
        struct block *b = &side->block[order[i]];
        long step = grain ? grain : layout_extent(b->layout);
        if (!b->pieces.count || step <= 0) {
            b->displ = between(r, -5, 99); /* no data */
        } else {
            b->displ = round_up_to(end - b->pieces.low, step) / step;
            b->displ += gaps && chance(r, 50) ? between(r, 1, 3) : 0;
            end = b->displ * step + b->pieces.high;
        }
        b->at = b->displ * step;
        if (grain)
            b->displ = b->at;
    }
}

static void line_up_blocks(struct side *side)
{
    long displ = 0;
    for (int i = 0; i < side->blocks; i++) {
        struct block *b = &side->block[i];
        b->displ = displ;
        b->at = displ * layout_extent(b->layout);
        displ += b->count;
    }
}

/* All elements of the side, as one list. */
static struct pieces joined(const struct side *side)
{
    struct pieces all = {0};
    for (int i = 0; i < side->blocks; i++)
        all.room += side->block[i].pieces.count;
    all.list = keep((size_t)(all.room + 1) * sizeof *all.list);
    for (int i = 0; i < side->blocks; i++) {
        const struct block *b = &side->block[i];
        if (!b->pieces.count)
            continue;
        long low = b->at + b->pieces.low, high = b->at + b->pieces.high;
        all.low = all.count && all.low < low ? all.low : low;
        all.high = all.count && all.high > high ? all.high : high;
        for (long k = 0; k < b->pieces.count; k++) {
            all.list[all.count] = b->pieces.list[k];
            all.list[all.count++].at += b->at;
        }
    }
    return all;
}

static bool try_side(struct call *c, const struct profile *p, struct rng *r, struct side *side,
                     bool sends, int tries)
{
    const struct layout *common = NULL;
    bool plain = true, odd = false;
    for (int i = 0; i < side->blocks; i++) {
        struct block *b = &side->block[i];
        int peer = side->shape == ONE ? c->root : rank_of_block(c, side->shape, i);
        long n = sends ? units(c, c->rank, peer) : units(c, peer, c->rank);
        if (side->shape == TYPED || !common)
            common = pick_layout(
                c, p, r, c->form->spread == NEITHER || side->shape == ONE ? n : c->step, tries);
        set_block(c, b, common, n);
        plain &= common->constructor == PREDEFINED;
        odd |= !c->layout && is_odd(common);
        side->align = common->align > side->align ? common->align : side->align;
    }
    if (side->shape == COUNTED || side->shape == TYPED)
        scatter_blocks(side, r, side->shape == COUNTED ? 0 : p->aligned ? 16 : 1);
    else
        line_up_blocks(side);
    struct pieces all = joined(side);
    side->low = all.low;
    side->high = all.high;
    return plain || (pieces_disjoint(&all) && !(p->tame && odd));
}

static void make_side(struct call *c, const struct profile *p, struct rng *r, struct side *side,
                      enum shape shape, bool sends)
{
    *side = (struct side){.shape = shape, .align = 1};
    side->blocks = shape == NOTHING ? 0 : shape == ONE ? 1 : shape == JOINED ? c->own : c->size;
    for (int tries = 0; side->blocks && !try_side(c, p, r, side, sends, tries); tries++)
        if (tries == 100)
            give_up("no room for the blocks");
    if (!c->form->reduces && !p->aligned)
        side->align = 1;
}

void call_invent(struct call *c, const struct profile *p)
{
    c->form = &forms[c->collective];
    agree(c, p);
    if (p->tame && (host_is_wrong(c) || host_corrupts(c))) {
        *c = (struct call){
            .seed = c->seed, .id = c->id, .size = c->size, .rank = c->rank, .own = c->own};
        c->form = &forms[BARRIER];
    }
    struct rng r = rng_for(c->seed, (uint64_t)(OWN + c->rank));
    int elsewhere = c->form->rooted && c->rank != c->root;
    enum shape send = c->form->send[elsewhere], receive = c->form->receive[elsewhere];
    if (c->inter && c->form->rooted && root_argument(c) == MPI_ROOT)
        *(c->form->meeting == FROM_ROOT ? &receive : &send) = NOTHING;
    if (c->inter && c->form->rooted && root_argument(c) == MPI_PROC_NULL)
        send = receive = NOTHING;
    bool scatters = c->form->rooted && c->form->meeting == FROM_ROOT;
    if (c->in_place && c->form->reduces)
        receive = send;
    if (c->in_place && !scatters)
        send = NOTHING;
    if (c->in_place && scatters)
        receive = NOTHING;
    make_side(c, p, &r, &c->send, send, true);
    make_side(c, p, &r, &c->receive, receive, c->in_place && c->form->reduces);
    c->large = MPI_VERSION >= 4 && chance(&r, p->large);
}

/* ---- text ---- */

static void print_side(const struct side *side, const char *name, char *text, size_t room)
{
    size_t used = strlen(text);
    if (side->shape == NOTHING)
        return;
    snprintf(text + used, room - used, "; %s %s%s", name, side->from_mpi ? "Alloc_mem" : "malloc",
             side->at ? "" : " NULL");
    for (int i = 0; i < side->blocks; i++) {
        const struct block *b = &side->block[i];
        char type[1000] = "";
        if (i == 0 || side->shape == TYPED)
            layout_print(b->layout, type, sizeof type);
        used = strlen(text);
        snprintf(text + used, room - used, " %ld@%ld %s", b->count, b->displ, type);
    }
}

void call_print(const struct call *c, char *text, size_t room)
{
    int used = snprintf(text, room, "MPI_%s%s rank %d of %d%s", c->form->name, c->large ? "_c" : "",
                        c->rank, c->own, c->inter ? " between groups" : "");
    if (c->form->rooted)
        used += snprintf(text + used, room - (size_t)used, " root %d", c->root);
    if (c->form->reduces)
        used += snprintf(text + used, room - (size_t)used, " %s",
                         c->user ? c->user->name : op_names[c->op]);
    snprintf(text + used, room - (size_t)used, " %ld units%s", c->units,
             c->in_place ? " in place" : "");
    print_side(&c->send, "send", text, room);
    print_side(&c->receive, "receive", text, room);
}
