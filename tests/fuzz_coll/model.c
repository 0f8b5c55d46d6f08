/* The data that a call moves and combines, computed from the seed alone. */
#include "call.h"

enum { CONTENT = 3000 };

long packed_bytes(const struct call *c, long n)
{
    long bytes = 0;
    for (int i = 0; i < c->unit.parts; i++)
        bytes += basics[c->unit.basic[i]].extent;
    return n * bytes;
}

/* ---- messages ---- */

static void raw(struct rng *r, char *to, long n)
{
    for (; n > 0; n -= 8, to += 8) {
        uint64_t bits = rng_next(r);
        memcpy(to, &bits, n < 8 ? (size_t)n : 8);
    }
}

/* The data from rank `from` to rank `to`, packed. */
static void write_message(const struct call *c, int from, int to, long n, char *packed)
{
    bool same = c->form->send[0] == ONE; /* to all */
    struct rng r = rng_for(c->seed, (uint64_t)(CONTENT + from * RANKS_MAX + (same ? 0 : to)));
    const struct basic *b = &basics[c->basic];
    long bytes = packed_bytes(c, n);
    bool numbers = c->form->reduces && !c->user;
    if (!numbers)
        raw(&r, packed, bytes);
    for (long at = 0; numbers && at < bytes; at += b->extent)
        fill(&r, b, b->kind == SIGNED || b->kind == UNSIGNED ? ANY_VALUE : ANY_ORDER, c->op,
             packed + at);
}

/* On intercommunicators a joined vector is divided differently in the sending and in the receiving
 * group. */
static void message(const struct call *c, int from, int to, long n, char *packed)
{
    if (!c->inter || c->form->send[0] != JOINED) {
        write_message(c, from, to, n, packed);
        return;
    }
    long before = 0, all = 0;
    int first = to >= c->own_first && to < c->own_first + c->own ? c->own_first : c->first;
    int end = first + (first == c->own_first ? c->own : c->size);
    for (int r = first; r < end; r++) {
        before += r < to ? units(c, from, r) : 0;
        all += units(c, from, r);
    }
    char *vector = malloc((size_t)packed_bytes(c, all) + 1);
    write_message(c, from, 0, all, vector);
    memcpy(packed, vector + packed_bytes(c, before), (size_t)packed_bytes(c, n));
    free(vector);
}

/* right = left op right. */
static void merge(const struct call *c, char *right, const char *left, long n)
{
    const struct basic *b = &basics[c->basic];
    long size = packed_bytes(c, 1);
    for (long i = 0; i < n; i++, right += size, left += size) {
        if (c->user)
            c->user->combine(right, left, (size_t)size);
        else
            combine(b, c->op, right, left); /* all of these commute */
    }
}

/* The ranks whose messages make up a block that this rank receives. */
static void senders(const struct call *c, int block, int *first, int *end)
{
    *first = c->first;
    *end = c->first + c->size;
    if (c->form->meeting == FROM_ONE)
        *first += block;
    if (c->form->meeting == FROM_ROOT)
        *first = c->root;
    if (c->form->meeting <= FROM_ROOT)
        *end = *first + 1;
    if (c->form->meeting == UP_TO_ME)
        *end = c->rank + 1;
    if (c->form->meeting == BEFORE_ME)
        *end = c->rank;
}

/* ---- blocks ---- */

/* Call `visit` for each element of a block: its offset in the side's image, and packed. */
typedef void visit_fn(const struct basic *b, char *element, char *packed, const char *seen);

static void put(const struct basic *b, char *element, char *packed, const char *seen)
{
    struct part parts[2];
    (void)seen;
    for (int p = basic_parts(b, parts); p-- > 0;)
        memcpy(element + parts[p].at, packed + parts[p].at, (size_t)parts[p].size);
}

/* The contents are undefined after the call. */
static void forget(const struct basic *b, char *element, char *packed, const char *seen)
{
    (void)packed;
    memcpy(element, seen, (size_t)b->extent);
}

static void visit(struct side *side, const struct block *b, char *packed, visit_fn *visitor)
{
    char *image = side->image + (side->at - side->memory) + b->at;
    for (long i = 0; i < b->pieces.count; i++) {
        const struct piece *piece = &b->pieces.list[i];
        const struct basic *basic = &basics[piece->basic];
        char *to = image + piece->at;
        if (visitor == put && basic->kind != PAIR) {
            memcpy(to, packed, (size_t)(piece->count * basic->extent));
            packed += piece->count * basic->extent;
            continue;
        }
        for (long e = 0; e < piece->count; e++, to += basic->extent, packed += basic->extent)
            visitor(basic, to, packed, side->memory + (to - side->image));
    }
}

static char *scratch(int which, long bytes)
{
    static char *memory[2];
    static long room[2];
    if (bytes >= room[which]) {
        free(memory[which]);
        room[which] = 2 * bytes + 4096;
        memory[which] = malloc((size_t)room[which]);
        if (!memory[which])
            give_up("no memory for messages");
    }
    return memory[which];
}

static void write_messages(struct call *c, struct side *side)
{
    for (int i = 0; i < side->blocks; i++) {
        int to = rank_of_block(c, side->shape, i);
        long n = units(c, c->rank, to);
        char *packed = scratch(0, packed_bytes(c, n));
        message(c, c->rank, to, n, packed);
        visit(side, &side->block[i], packed, put);
    }
}

void model_input(struct call *c)
{
    struct side *side = &c->receive;
    write_messages(c, &c->send);
    if (!c->in_place || side->shape == NOTHING)
        return;
    if (c->form->meeting != FROM_ONE || c->form->send[0] != ONE) {
        write_messages(c, side);
        return;
    }
    long n = units(c, c->rank, 0); /* gathered in place: one block is already there */
    char *packed = scratch(0, packed_bytes(c, n));
    message(c, c->rank, 0, n, packed);
    visit(side, &side->block[c->rank], packed, put);
}

/* The address of a received block. In place, the part of a joined vector goes to its beginning. */
static struct block result_block(const struct call *c, int i)
{
    struct block b = c->receive.block[i];
    if (c->receive.shape == JOINED) {
        b.at = 0;
        b.count = units(c, 0, c->rank);
        b.pieces = layout_pieces(b.layout, b.count);
    }
    return b;
}

static int result_blocks(const struct call *c)
{
    return c->receive.shape == JOINED ? 1 : c->receive.blocks;
}

void model_result(struct call *c)
{
    /* In place, the other parts of a joined vector are undefined. */
    for (int i = 0; c->receive.shape == JOINED && i < c->receive.blocks; i++)
        visit(&c->receive, &c->receive.block[i], scratch(0, packed_bytes(c, units(c, 0, i))),
              forget);
    for (int i = 0; i < result_blocks(c); i++) {
        struct block b = result_block(c, i);
        int first, end;
        senders(c, i, &first, &end);
        if (first == end)
            continue;
        long n = units(c, first, c->rank), bytes = packed_bytes(c, n);
        char *result = scratch(0, bytes), *left = scratch(1, bytes);
        message(c, end - 1, c->rank, n, result);
        for (int from = end - 2; from >= first; from--) {
            message(c, from, c->rank, n, left);
            merge(c, result, left, n);
        }
        visit(&c->receive, &b, result, put);
    }
}

/* ---- comparing ---- */

static bool is_zero(const char *at, int n)
{
    bool zero = !(at[n - 1] & 0x7f);
    for (int i = 0; i < n - 1; i++)
        zero &= !at[i];
    return zero;
}

/* The padding of a long double is undefined: the image adopts the received bytes. */
static void adopt_unused(const struct basic *b, char *image, char *packed, const char *seen)
{
    int unused = b->value.size - b->value.used;
    (void)packed;
    for (int half = 0; unused && half < (b->kind == COMPLEX ? 2 : 1); half++)
        memcpy(image + half * b->value.size + b->value.used,
               seen + half * b->value.size + b->value.used, (size_t)unused);
}

/* After arithmetic, so are the padding of pairs and the sign of zero. */
static void adopt(const struct basic *b, char *image, char *packed, const char *seen)
{
    char wanted[64];
    struct part parts[2];
    (void)packed;
    memcpy(wanted, image, (size_t)b->extent);
    memcpy(image, seen, (size_t)b->extent);
    for (int p = basic_values(b, parts); p-- > 0;) {
        bool real = b->kind == REAL || b->kind == COMPLEX;
        if (real && is_zero(wanted + parts[p].at, parts[p].size) &&
            is_zero(seen + parts[p].at, parts[p].size))
            continue;
        memcpy(image + parts[p].at, wanted + parts[p].at, (size_t)parts[p].size);
    }
}

/* Describes an offset from the address: "element 3 of block 1". */
static void locate(const struct side *side, long offset, char *text, size_t room)
{
    for (int i = 0; i < side->blocks; i++) {
        const struct block *b = &side->block[i];
        long element = 0;
        for (long k = 0; k < b->pieces.count; k++) {
            const struct piece *p = &b->pieces.list[k];
            long inside = offset - b->at - p->at, extent = basics[p->basic].extent;
            if (inside >= 0 && inside < p->count * extent) {
                snprintf(text, room, "element %ld of block %d", element + inside / extent, i);
                return;
            }
            element += p->count;
        }
    }
    snprintf(text, room, offset < side->low || offset >= side->high ? "a guard" : "a gap");
}

static void complain(const struct call *c, const struct side *side, const char *name)
{
    char text[4000], where[100];
    long bad = 0, first = -1, last = -1;
    for (long i = 0; i < side->bytes; i++)
        if (side->memory[i] != side->image[i]) {
            first = bad++ ? first : i;
            last = i;
        }
    long start = side->at - side->memory;
    locate(side, first - start, where, sizeof where);
    call_print(c, text, sizeof text);
    fail("call %d: %s: %s buffer: %ld bytes differ, from %ld to %ld, the first in %s: "
         "%02x, should be %02x",
         c->id, text, name, bad, first - start, last - start, where,
         (unsigned char)side->memory[first], (unsigned char)side->image[first]);
}

void judge(struct call *c, struct side *side, const char *name)
{
    if (!side->memory || !memcmp(side->memory, side->image, (size_t)side->bytes))
        return;
    bool counted = c->form->reduces && !c->user;
    for (int i = 0; i < side->blocks; i++)
        visit(side, &side->block[i], scratch(0, side->bytes), adopt_unused);
    for (int i = 0; counted && side == &c->receive && i < result_blocks(c); i++) {
        struct block b = result_block(c, i);
        int first, end;
        senders(c, i, &first, &end);
        if (end > first)
            visit(side, &b, scratch(0, packed_bytes(c, units(c, first, c->rank))), adopt);
    }
    if (memcmp(side->memory, side->image, (size_t)side->bytes))
        complain(c, side, name);
}
