#include "layout.h"

/* ---- the definition of each constructor ---- */

/* Whether this process owns index i of a dimension of a distributed array. */
static bool owns(const struct layout *l, int d, int i, int coordinate)
{
    int size = l->sizes[d], p = l->grid[d], k = l->arguments[d];
    if (l->kinds[d] == MPI_DISTRIBUTE_NONE)
        return true;
    if (k == MPI_DISTRIBUTE_DFLT_DARG)
        k = l->kinds[d] == MPI_DISTRIBUTE_BLOCK ? (size + p - 1) / p : 1;
    return i / k % p == coordinate;
}

static bool in_array(const struct layout *l, const int index[DIMS_MAX])
{
    int rank = l->process;
    for (int d = l->dims - 1; d >= 0; d--) {
        int i = index[d];
        if (l->constructor == SUBARRAY) {
            if (i < l->starts[d] || i >= l->starts[d] + l->subsizes[d])
                return false;
        } else {
            if (!owns(l, d, i, rank % l->grid[d]))
                return false;
            rank /= l->grid[d];
        }
    }
    return true;
}

/* The offsets of all elements of the whole array in order, and those that belong to the type. */
static void array_blocks(const struct layout *l, block_fn *block, void *context)
{
    int index[DIMS_MAX] = {0};
    long total = 1;
    for (int d = 0; d < l->dims; d++)
        total *= l->sizes[d];
    for (long displ = 0; displ < total; displ++) {
        if (in_array(l, index))
            block(context, l->child, displ * layout_extent(l->child), 1);
        bool rows = l->order == MPI_ORDER_C; /* the last index runs fastest */
        for (int i = 0; i < l->dims; i++) {
            int d = rows ? l->dims - 1 - i : i;
            if (++index[d] < l->sizes[d])
                break;
            index[d] = 0;
        }
    }
}

void layout_blocks(const struct layout *l, block_fn *block, void *context)
{
    long extent = l->child ? layout_extent(l->child) : 0;
    switch (l->constructor) {
    case PREDEFINED:
        break;
    case CONTIGUOUS:
        block(context, l->child, 0, l->count);
        break;
    case VECTOR:
        for (long i = 0; i < l->count; i++)
            block(context, l->child, i * l->stride * extent, l->block);
        break;
    case HVECTOR:
        for (long i = 0; i < l->count; i++)
            block(context, l->child, i * l->stride, l->block);
        break;
    case INDEXED:
        for (long i = 0; i < l->count; i++)
            block(context, l->child, l->displs[i] * extent, l->lengths[i]);
        break;
    case HINDEXED:
        for (long i = 0; i < l->count; i++)
            block(context, l->child, l->displs[i], l->lengths[i]);
        break;
    case INDEXED_BLOCK:
        for (long i = 0; i < l->count; i++)
            block(context, l->child, l->displs[i] * extent, l->block);
        break;
    case HINDEXED_BLOCK:
        for (long i = 0; i < l->count; i++)
            block(context, l->child, l->displs[i], l->block);
        break;
    case STRUCT:
        for (long i = 0; i < l->count; i++)
            block(context, l->children[i], l->displs[i], l->lengths[i]);
        break;
    case SUBARRAY:
    case DARRAY:
        array_blocks(l, block, context);
        break;
    case DUP:
    case RESIZED:
        block(context, l->child, 0, 1);
        break;
    }
}

/* ---- bounds ---- */

struct bounds {
    bool any, any_data; /* an element was placed */
    bool marked, mixed; /* with explicit bounds, without, or both */
    long low, high, true_low, true_high;
    int align;
};

static void widen(struct bounds *b, const struct layout *child, long at)
{
    if (!b->any || at + child->low < b->low)
        b->low = at + child->low;
    if (!b->any || at + child->high > b->high)
        b->high = at + child->high;
    b->mixed |= b->any && b->marked != child->marked;
    b->any = true;
    b->marked |= child->marked;
    if (child->true_low == child->true_high)
        return;
    if (!b->any_data || at + child->true_low < b->true_low)
        b->true_low = at + child->true_low;
    if (!b->any_data || at + child->true_high > b->true_high)
        b->true_high = at + child->true_high;
    b->any_data = true;
    if (child->align > b->align)
        b->align = child->align;
}

static void widen_block(void *context, const struct layout *child, long at, long copies)
{
    if (copies > 0)
        widen(context, child, at);
    if (copies > 1)
        widen(context, child, at + (copies - 1) * layout_extent(child));
}

/* Hosts round extents by rules of their own, in particular those of structs, and Open MPI 4.1 is
 * wrong for blocks with descending displacements. */
static bool is_regular(const struct layout *l)
{
    bool regular = l->constructor != STRUCT && l->low >= 0 && l->low % l->align == 0 &&
                   l->high % l->align == 0;
    if (l->constructor == HVECTOR)
        regular &= l->stride % l->align == 0;
    if (l->constructor == HINDEXED || l->constructor == HINDEXED_BLOCK)
        for (long i = 0; i < l->count; i++)
            regular &= l->displs[i] % l->align == 0;
    return regular;
}

/* Compute the bounds. False: the standard leaves them to the implementation, or hosts are known to
 * differ, so they must be set explicitly. */
static bool find_bounds(struct layout *l)
{
    struct bounds b = {.align = 1};
    layout_blocks(l, widen_block, &b);
    l->true_low = b.true_low;
    l->true_high = b.true_high;
    l->align = b.align;
    l->low = b.low;
    l->high = b.high;
    l->marked = b.marked;
    if (l->constructor == SUBARRAY || l->constructor == DARRAY) {
        l->marked = true;
        l->low = 0;
        l->high = layout_extent(l->child);
        for (int d = 0; d < l->dims; d++)
            l->high *= l->sizes[d];
    } else if (l->constructor == RESIZED) {
        l->marked = true;
        l->low = l->displs[0];
        l->high = l->displs[0] + l->displs[1];
    }
    bool backwards = (l->constructor == VECTOR || l->constructor == HVECTOR) && l->stride < 0;
    return b.any && !b.mixed && l->constructor != STRUCT && !backwards &&
           (l->marked || is_regular(l));
}

/* ---- inventing one ---- */

static struct layout *make(enum constructor constructor, const struct layout *child, long count)
{
    struct layout *l = keep(sizeof *l);
    l->constructor = constructor;
    l->child = child;
    l->count = count;
    l->lengths = keep((size_t)(count + 2) * sizeof *l->lengths);
    l->displs = keep((size_t)(count + 2) * sizeof *l->displs);
    return l;
}

const struct layout *layout_basic(int basic)
{
    struct layout *l = make(PREDEFINED, NULL, 0);
    l->basic = basic;
    l->high = basics[basic].extent;
    struct part parts[2];
    int count = basic_parts(&basics[basic], parts);
    l->true_high = parts[count - 1].at + parts[count - 1].size;
    l->align = basics[basic].align;
    return l;
}

static const struct layout *resized(struct rng *r, const struct layout *child, long grain)
{
    struct layout *l = make(RESIZED, child, 0);
    long width = child->true_high - child->true_low, fit = round_up_to(width, grain);
    l->displs[0] = chance(r, 50) ? child->true_low : between(r, -3, 3) * grain;
    l->displs[1] = fit + (chance(r, 50) ? below(r, 4) * grain : 0);
    if (chance(r, 8)) /* so that copies interleave, or overlap if permitted */
        l->displs[1] = below(r, 3) * grain;
    l->large = chance(r, 30);
    find_bounds(l);
    return l;
}

/* Bounds that depend on the host are set explicitly; sometimes others too. */
static const struct layout *finish(struct rng *r, struct layout *l, long grain)
{
    l->large = chance(r, 30);
    if (!find_bounds(l) || chance(r, 10))
        return resized(r, l, grain);
    return l;
}

/* Bytes of `copies` of a child; offset of the first, relative to the displacement. */
static long span(const struct layout *child, long copies)
{
    return copies ? child->true_high - child->true_low + (copies - 1) * layout_extent(child) : 0;
}

static long gap(struct rng *r, long grain)
{
    return chance(r, 50) ? 0 : between(r, 1, 5) * grain;
}

static void shuffle(struct rng *r, struct layout *l)
{
    for (long i = l->count - 1; i > 0; i--) {
        long j = below(r, i + 1), displ = l->displs[i], length = l->lengths[i];
        l->displs[i] = l->displs[j];
        l->displs[j] = displ;
        l->lengths[i] = l->lengths[j];
        l->lengths[j] = length;
    }
}

/* Place the blocks after each other with gaps, at multiples of `step` bytes. */
static void place_blocks(struct rng *r, struct layout *l, long step, long grain)
{
    long at = chance(r, 20) ? -below(r, 8) * grain : gap(r, grain);
    for (long i = 0; i < l->count; i++) {
        const struct layout *child = l->children ? l->children[i] : l->child;
        l->displs[i] = round_up_to(at - child->true_low, step);
        at = l->displs[i] + child->true_low + span(child, l->lengths[i]) + gap(r, grain);
    }
}

static long divisor(struct rng *r, long n)
{
    for (int tries = 0; tries < 6; tries++) {
        long d = below(r, 3) ? between(r, 2, 8) : between(r, 1, n);
        if (n % d == 0)
            return d;
    }
    return chance(r, 50) ? 1 : n;
}

static const struct layout *vector(struct rng *r, enum constructor c, long n,
                                   const struct layout *child, long grain)
{
    long block = divisor(r, n);
    struct layout *l = make(c, child, n / block);
    l->block = block;
    long step = c == VECTOR ? layout_extent(child) : grain;
    long least = round_up_to(span(child, l->block), step > 0 ? step : grain);
    l->stride = least / (c == VECTOR && step > 0 ? step : 1);
    long unit = c == VECTOR ? 1 : grain;
    l->stride += chance(r, 60) ? below(r, 4) * unit : 0;
    if (chance(r, 15))
        l->stride = -l->stride;
    return finish(r, l, grain);
}

/* Divide n into the lengths of at most 6 blocks, some of them empty. */
static long cut(struct rng *r, long n, long lengths[8])
{
    long blocks = 0;
    while (n && blocks < 5) {
        if (chance(r, 10))
            lengths[blocks++] = 0;
        long part = between(r, 1, n);
        lengths[blocks++] = part;
        n -= part;
    }
    if (n)
        lengths[blocks++] = n;
    return blocks;
}

static const struct layout *indexed(struct rng *r, enum constructor c, long n,
                                    const struct layout *child, long grain)
{
    long lengths[8], blocks, extent = layout_extent(child);
    bool equal = c == INDEXED_BLOCK || c == HINDEXED_BLOCK;
    if (equal) {
        long block = divisor(r, n);
        blocks = n / block <= 64 ? n / block : 1;
    } else {
        blocks = cut(r, n, lengths);
    }
    if (extent <= 0)
        c = equal ? HINDEXED_BLOCK : HINDEXED;
    struct layout *l = make(c, child, blocks);
    l->block = n / blocks;
    for (long i = 0; i < blocks; i++)
        l->lengths[i] = equal ? l->block : lengths[i];
    bool in_children = c == INDEXED || c == INDEXED_BLOCK;
    place_blocks(r, l, in_children ? extent : grain, grain);
    for (long i = 0; in_children && i < blocks; i++)
        l->displs[i] /= extent;
    if (chance(r, 30))
        shuffle(r, l);
    return finish(r, l, grain);
}

static const struct layout *array(struct rng *r, long n, const struct layout *child, long grain)
{
    struct layout *l = make(SUBARRAY, child, 0);
    l->dims = (int)between(r, 1, DIMS_MAX);
    l->order = chance(r, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    long rest = n;
    for (int d = 0; d < l->dims; d++) {
        long size = d == l->dims - 1 ? rest : divisor(r, rest);
        rest /= size;
        l->subsizes[d] = (int)size;
        l->starts[d] = (int)(chance(r, 50) ? 0 : below(r, 3));
        l->sizes[d] = (int)(l->starts[d] + size + (chance(r, 50) ? 0 : below(r, 3)));
    }
    return finish(r, l, grain);
}

static void count_blocks(void *context, const struct layout *child, long at, long copies)
{
    (void)child;
    (void)at;
    *(long *)context += copies;
}

/* One process's part of a distributed array. NULL: none was found with exactly n elements. */
static const struct layout *distributed(struct rng *r, long n, const struct layout *child,
                                        long grain)
{
    for (int tries = 0; tries < 8 && n <= 64; tries++) {
        struct layout *l = make(DARRAY, child, 0);
        l->dims = (int)between(r, 1, 2);
        l->order = chance(r, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        l->processes = 1;
        for (int d = 0; d < l->dims; d++) {
            const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
            l->kinds[d] = kinds[below(r, 3)];
            l->grid[d] = l->kinds[d] == MPI_DISTRIBUTE_NONE ? 1 : (int)between(r, 1, 3);
            l->sizes[d] = (int)between(r, 1, l->dims == 1 ? 2 * n : 8);
            int least = (l->sizes[d] + l->grid[d] - 1) / l->grid[d];
            l->arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
            if (chance(r, 50) && l->kinds[d] != MPI_DISTRIBUTE_NONE)
                l->arguments[d] =
                    l->kinds[d] == MPI_DISTRIBUTE_BLOCK ? least : (int)between(r, 1, 3);
            l->processes *= l->grid[d];
        }
        l->process = (int)below(r, l->processes);
        long blocks = 0;
        array_blocks(l, count_blocks, &blocks);
        if (blocks == n)
            return finish(r, l, grain);
    }
    return NULL;
}

/* A unit as a struct: its parts in the order of the signature, but anywhere in memory. */
static const struct layout *leaf(struct rng *r, const struct unit *unit, long grain)
{
    if (unit->parts == 1)
        return layout_basic(unit->basic[0]);
    struct layout *l = make(STRUCT, NULL, unit->parts);
    l->children = keep((size_t)unit->parts * sizeof *l->children);
    long displs[UNIT_MAX], at = 0;
    int order[UNIT_MAX];
    for (int i = 0; i < unit->parts; i++) {
        int j = (int)below(r, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < unit->parts; i++) {
        const struct basic *b = &basics[unit->basic[order[i]]];
        displs[order[i]] = round_up_to(at, grain > 1 || chance(r, 50) ? b->align : 1);
        at = displs[order[i]] + b->extent + gap(r, 1);
    }
    for (int i = 0; i < unit->parts; i++) {
        l->children[i] = layout_basic(unit->basic[i]);
        l->lengths[i] = 1;
        l->displs[i] = displs[i];
    }
    return finish(r, l, grain);
}

static const struct layout *structure(struct rng *r, long n, const struct unit *unit, int depth,
                                      long grain)
{
    long lengths[8], blocks = cut(r, n, lengths);
    struct layout *l = make(STRUCT, NULL, blocks);
    l->children = keep((size_t)blocks * sizeof *l->children);
    for (long i = 0; i < blocks; i++) {
        l->lengths[i] = lengths[i] ? divisor(r, lengths[i]) : 0;
        l->children[i] =
            layout_random(r, lengths[i] ? lengths[i] / l->lengths[i] : 1, unit, depth - 1, grain);
    }
    place_blocks(r, l, grain, grain);
    return finish(r, l, grain);
}

static const struct layout *nothing(struct rng *r, const struct unit *unit, long grain)
{
    const enum constructor kinds[] = {CONTIGUOUS, VECTOR, HINDEXED, INDEXED_BLOCK};
    struct layout *l = make(kinds[below(r, 4)], leaf(r, unit, grain), 0);
    l->block = below(r, 3);
    l->stride = 1;
    return finish(r, l, grain);
}

/* For all other types, hosts misplace the elements of arrays. */
static bool is_usual(const struct layout *child)
{
    return child->low == 0 && child->high > 0;
}

const struct layout *layout_random(struct rng *r, long n, const struct unit *unit, int depth,
                                   long grain)
{
    if (n == 0)
        return nothing(r, unit, grain);
    if (n == 1 && (depth <= 0 || chance(r, 40)))
        return leaf(r, unit, grain);
    enum constructor c = (enum constructor)between(r, CONTIGUOUS, RESIZED);
    if (c == STRUCT && depth > 0)
        return structure(r, n, unit, depth, grain);
    if (c == DUP || c == RESIZED) {
        const struct layout *child = layout_random(r, n, unit, depth > 0 ? depth - 1 : 0, grain);
        if (c == RESIZED)
            return resized(r, child, grain);
        struct layout *l = make(DUP, child, 0);
        find_bounds(l);
        return l;
    }
    long copies = depth > 0 ? divisor(r, n) : n;
    const struct layout *child = layout_random(r, n / copies, unit, depth - 1, grain);
    const struct layout *made = NULL;
    if (c == VECTOR || c == HVECTOR)
        made = vector(r, c, copies, child, grain);
    else if (c >= INDEXED && c <= HINDEXED_BLOCK)
        made = indexed(r, c, copies, child, grain);
    else if (c == SUBARRAY && copies <= 512 && is_usual(child))
        made = array(r, copies, child, grain);
    else if (c == DARRAY && is_usual(child))
        made = distributed(r, copies, child, grain);
    return made ? made : finish(r, make(CONTIGUOUS, child, copies), grain);
}
