#include "model.h"

/* ---- images ---- */

static void *bytes(long n)
{
    void *made = malloc((size_t)n + 1);
    if (!made)
        give_up("no memory for the images");
    return made;
}

static void pattern(uint64_t seed, uint64_t number, char *to, long n)
{
    struct rng r = rng_for(seed, number);
    for (; n >= 8; n -= 8, to += 8) {
        uint64_t x = rng_next(&r);
        memcpy(to, &x, 8);
    }
    for (; n > 0; n--)
        *to++ = (char)rng_next(&r);
}

void images_open(const struct program *p, struct image images[])
{
    for (int rank = 0; rank < p->size; rank++) {
        struct image *i = &images[rank];
        long memory = p->bytes[rank];
        *i = (struct image){bytes(memory), bytes(p->buffer), calloc((size_t)memory + 1, 1),
                            calloc((size_t)p->buffer + 1, 1), bytes(memory)};
        pattern(p->seed, (uint64_t)(100000 + rank), i->memory, memory);
        pattern(p->seed, (uint64_t)(200000 + rank), i->buffer, p->buffer);
    }
}

void images_close(const struct program *p, struct image images[])
{
    for (int rank = 0; rank < p->size; rank++) {
        free(images[rank].memory);
        free(images[rank].buffer);
        free(images[rank].memory_unknown);
        free(images[rank].buffer_unknown);
        free(images[rank].before);
    }
}

/* ---- elements ---- */

bool cursor_next(struct cursor *c, long *at, int *basic)
{
    while (c->piece < c->pieces->count && c->element == c->pieces->list[c->piece].count) {
        c->piece++;
        c->element = 0;
    }
    if (c->piece == c->pieces->count)
        return false;
    const struct piece *piece = &c->pieces->list[c->piece];
    *basic = piece->basic;
    *at = piece->at + c->element++ * basics[piece->basic].extent;
    return true;
}

/* An element somewhere in an image. */
struct element {
    char *data, *unknown;
};

static struct element local_element(struct image *image, const struct side *side, long at)
{
    return (struct element){image->buffer + side->at + at, image->buffer_unknown + side->at + at};
}

static struct element target_element(const struct round *round, struct image images[],
                                     const struct op *op, long at)
{
    struct image *image = &images[op->target];
    long offset = round->window->offset[op->target] + op->remote.at + at;
    return (struct element){image->memory + offset, image->memory_unknown + offset};
}

static void move(const struct basic *b, struct element to, struct element from)
{
    struct part parts[2];
    for (int p = basic_parts(b, parts); p-- > 0;) {
        memmove(to.data + parts[p].at, from.data + parts[p].at, (size_t)parts[p].size);
        memmove(to.unknown + parts[p].at, from.unknown + parts[p].at, (size_t)parts[p].size);
    }
}

static void mark(const struct basic *b, struct element e, char unknown)
{
    struct part parts[2];
    for (int p = basic_parts(b, parts); p-- > 0;)
        memset(e.unknown + parts[p].at, unknown, (size_t)parts[p].size);
}

/* The padding of its numbers is undefined after arithmetic. */
static void blur(const struct basic *b, struct element e)
{
    int unused = b->value.size - b->value.used;
    for (int half = 0; unused && half < (b->kind == COMPLEX ? 2 : 1); half++)
        memset(e.unknown + half * b->value.size + b->value.used, 1, (size_t)unused);
}

static bool is_known(const struct basic *b, struct element e)
{
    struct part parts[2];
    bool known = true;
    for (int p = basic_values(b, parts); p-- > 0;)
        known &= !memchr(e.unknown + parts[p].at, 1, (size_t)parts[p].size);
    return known;
}

static void put_value(struct rng *r, const struct basic *b, enum purpose purpose, int op,
                      struct element e)
{
    fill(r, b, purpose, op, e.data);
    mark(b, e, 0);
}

/* ---- stores of a rank into its own memory ---- */

static void settle_unknown(uint64_t seed, char *data, char *unknown, long n)
{
    struct rng r = rng_for(seed, 77);
    char *end = unknown + n;
    for (char *u = unknown; (u = memchr(u, 1, (size_t)(end - u))) != NULL; *u = 0)
        data[u - unknown] = (char)rng_next(&r);
}

static uint64_t phase_seed(const struct program *p, const struct round *round, int phase)
{
    return mix(p->seed + (uint64_t)(5000 + 100 * round->number + phase));
}

void model_prepare(const struct program *p, const struct round *round, int phase, int rank,
                   struct image *image)
{
    uint64_t seed = phase_seed(p, round, phase);
    if (phase == 0) {
        settle_unknown(seed, image->memory, image->memory_unknown, p->bytes[rank]);
        settle_unknown(seed + 1, image->buffer, image->buffer_unknown, p->buffer);
    }
    for (int i = 0; round->phase->refill[rank] && i < round->regions; i++) {
        const struct region *g = &round->region[i];
        struct rng r = rng_for(seed, (uint64_t)(2 + i));
        long at = round->window->offset[rank] + g->at;
        for (long c = 0; g->rank == rank && c < g->cells; c++, at += basics[g->basic].extent)
            put_value(&r, &basics[g->basic], g->commuting ? ANY_ORDER : ANY_VALUE,
                      g->commuting ? g->op : OP_REPLACE,
                      (struct element){image->memory + at, image->memory_unknown + at});
    }
}

static void fill_side(struct rng *r, const struct op *op, const struct side *side,
                      struct image *image)
{
    struct cursor c = {.pieces = &side->pieces};
    long at;
    int basic, by = op->region && op->region->commuting ? op->region->op : op->op;
    while (side->layout && cursor_next(&c, &at, &basic))
        put_value(r, &basics[basic], op->purpose, by, local_element(image, side, at));
}

void model_fill(const struct program *p, const struct round *round, const struct op *op, int origin,
                struct image images[])
{
    struct rng r = rng_for(p->seed, (uint64_t)(1000000 + op->id));
    struct image *image = &images[origin];
    long at = 0;
    int basic;
    if (!op->chained)
        fill_side(&r, op, &op->origin, image);
    fill_side(&r, op, &op->result, image);
    fill_side(&r, op, &op->compare, image);
    struct cursor c = {.pieces = &op->compare.pieces};
    if (op->compare.layout && op->matches && cursor_next(&c, &at, &basic))
        move(&basics[basic], local_element(image, &op->compare, at),
             target_element(round, images, op, op->remote.pieces.list[0].at));
}

void model_scribble(const struct program *p, const struct round *round, const struct action *action,
                    struct image *image)
{
    struct rng r = rng_for(p->seed, (uint64_t)(2000000 + action->op->id));
    (void)round;
    fill_side(&r, action->op, &action->op->origin, image);
}

/* ---- operations ---- */

static void accumulate_element(const struct op *op, const struct basic *b, struct element target,
                               struct element origin, struct element result)
{
    bool combined = op->region->role == COMBINED;
    if (result.data) {
        move(b, result, target);
        if (combined)
            mark(b, result, 1);
        blur(b, result);
    }
    if (op->op == OP_NO_OP)
        return;
    if (op->op == OP_REPLACE) {
        move(b, target, origin);
    } else {
        bool known = is_known(b, target) && is_known(b, origin);
        combine(b, op->op, target.data, origin.data);
        mark(b, target, !known);
    }
    blur(b, target);
}

static void swap_element(const struct basic *b, struct element target, struct element origin,
                         struct element compare, struct element result)
{
    bool equal = !memcmp(target.data, compare.data, (size_t)b->extent);
    move(b, result, target);
    if (equal)
        move(b, target, origin);
}

/* An increment under the lock: read, add, write back. The value read depends on the order of the
 * ranks. */
static void increment_element(const struct basic *b, struct element target, struct element origin,
                              struct element result)
{
    combine(b, OP_SUM, target.data, origin.data);
    mark(b, result, 1);
}

void model_operate(const struct round *round, const struct op *op, int origin,
                   struct image images[])
{
    struct image *image = &images[origin];
    struct cursor from = {.pieces = &op->origin.pieces}, back = {.pieces = &op->result.pieces},
                  compare = {.pieces = &op->compare.pieces}, to = {.pieces = &op->remote.pieces};
    long at, o = 0, r = 0, c = 0;
    int basic, same;
    while (op->target != MPI_PROC_NULL && cursor_next(&to, &at, &basic)) {
        const struct basic *b = &basics[basic];
        bool has_origin = op->origin.layout && cursor_next(&from, &o, &same);
        bool has_result = op->result.layout && cursor_next(&back, &r, &same);
        if (op->compare.layout)
            cursor_next(&compare, &c, &same);
        struct element target = target_element(round, images, op, at), none = {0};
        struct element mine = has_origin ? local_element(image, &op->origin, o) : none;
        struct element result = has_result ? local_element(image, &op->result, r) : none;
        if (op->call == PUT)
            move(b, target, mine);
        else if (op->call == GET)
            move(b, mine, target);
        else if (op->call == INCREMENT)
            increment_element(b, target, mine, result);
        else if (op->call == COMPARE_AND_SWAP)
            swap_element(b, target, mine, local_element(image, &op->compare, c), result);
        else
            accumulate_element(op, b, target, mine, result);
    }
}
