/* Compares typemaps with the definition of a type map: a list of elements, each with an offset. */
#include "core/typemap_copy.c" /* cursor_at() */
#include "tests/unit/unit.h"

/* ---- the definition ---- */

struct element {
    uint32_t kind; /* index in `kinds` */
    ptrdiff_t at;
};

struct list {
    ptrdiff_t extent;
    size_t count;
    struct element *element;
};

/* Predefined datatypes with the sizes that the hosts use, and the parts of an element that hold
 * data. */
static const struct kind {
    uintptr_t base;
    enum prim prim;
    uint8_t size, extent; /* extent: of an element including holes */
    struct {
        uint8_t at, bytes;
    } part[2];
} kinds[] = {
    {1, PRIM_BYTE, 1, 1, {{0, 1}}},
    {2, PRIM_I16, 2, 2, {{0, 2}}},
    {3, PRIM_I32, 4, 4, {{0, 4}}},
    {4, PRIM_F64, 8, 8, {{0, 8}}},
    {5, PRIM_I64, 8, 8, {{0, 8}}},
    {6, PRIM_F128, 16, 16, {{0, 16}}},
    {7, PRIM_OTHER, 1, 1, {{0, 1}}},
    {8, PRIM_OTHER, 4, 4, {{0, 4}}},
    {9, PRIM_FLOAT_INT, 8, 8, {{0, 8}}},
    {10, PRIM_DOUBLE_INT, 12, 16, {{0, 8}, {8, 4}}},
    {11, PRIM_SHORT_INT, 6, 8, {{0, 2}, {4, 4}}},
    {12, PRIM_LONG_INT, 12, 16, {{0, 8}, {8, 4}}},
    {13, PRIM_FLONG_INT, 20, 32, {{0, 16}, {16, 4}}},
    {14, PRIM_I64, 8, 8, {{0, 8}}}, /* another name for datatype 5 */
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds, MOST_ELEMENTS = 400 };

static bool holes(const struct kind *k)
{
    return k->size != k->extent;
}

/* Can a datatype with elements of both kinds be reduced? */
static bool same_prim(const struct kind *a, const struct kind *b)
{
    return a->prim == b->prim && (a->prim != PRIM_OTHER || a->base == b->base);
}

static bool mixed(const struct list *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (!same_prim(&kinds[list->element[0].kind], &kinds[list->element[i].kind]))
            return true;
    return false;
}

static void append(struct list *list, const struct list *child, ptrdiff_t at, size_t count)
{
    size_t more = child->count * count;
    list->element = realloc(list->element, (list->count + more + 1) * sizeof *list->element);
    for (size_t i = 0; i < count; i++, at += child->extent)
        for (size_t e = 0; e < child->count; e++) {
            struct element element = child->element[e];
            element.at += at;
            list->element[list->count++] = element;
        }
}

/* The offsets of all bytes of `count` copies in order; `combined`: including the holes of their
 * elements, as reductions access them. Returns the number of offsets. */
static size_t expand(const struct list *list, size_t count, bool combined, ptrdiff_t **offsets)
{
    size_t bytes = 0, room = 0;
    for (size_t e = 0; e < list->count; e++)
        room += kinds[list->element[e].kind].extent * count;
    *offsets = malloc(room * sizeof **offsets + 1);
    combined = combined && !mixed(list);
    for (size_t i = 0; i < count; i++)
        for (size_t e = 0; e < list->count; e++) {
            const struct kind *k = &kinds[list->element[e].kind];
            ptrdiff_t at = list->element[e].at + (ptrdiff_t)i * list->extent;
            for (int b = 0; combined && b < k->extent; b++)
                (*offsets)[bytes++] = at + b;
            for (int p = 0; !combined && p < 2; p++)
                for (int b = 0; b < k->part[p].bytes; b++)
                    (*offsets)[bytes++] = at + k->part[p].at + b;
        }
    return bytes;
}

/* ---- random datatypes, each as a list and as a typemap ---- */

struct both {
    struct list list;
    struct typemap *map;
};

static void drop(struct both *type)
{
    free(type->list.element);
    typemap_free(type->map);
}

static struct both predefined(struct chance *c)
{
    uint32_t kind = below(c, KIND_COUNT);
    const struct kind *k = &kinds[kind];
    struct both type = {.list = {.extent = k->extent, .count = 1}};
    type.list.element = malloc(sizeof *type.list.element);
    type.list.element[0] = (struct element){kind, 0};
    type.map = typemap_predefined(k->base, k->prim, k->size, k->extent);
    ck_assert(type.map);
    return type;
}

static struct both any_type(struct chance *c, unsigned depth);

static void add(struct both *type, const struct both *child, ptrdiff_t at, size_t count)
{
    if (type->list.count + child->list.count * count > MOST_ELEMENTS)
        return;
    append(&type->list, &child->list, at, count);
    ck_assert(typemap_append(type->map, child->map, at, count));
}

static ptrdiff_t some_displacement(struct chance *c)
{
    return (ptrdiff_t)below(c, 200) - 100;
}

/* Irregular blocks, of equal lengths or not, some of them adjacent. */
static void add_blocks(struct both *type, const struct both *child, struct chance *c)
{
    enum { MOST = 40 };
    int64_t lengths[MOST], displacements[MOST], at = (int64_t)below(c, 50) - 25;
    size_t count = below(c, MOST + 1), elements = 0, unit = below(c, 2) ? 1 : 8;
    size_t length = below(c, 3), gap = below(c, 2) ? 2 : 12;
    bool equal = below(c, 2), regular = below(c, 4) == 0;
    for (size_t i = 0; i < count; i++) {
        lengths[i] = (int64_t)(equal ? length : below(c, 3));
        displacements[i] = at;
        at += lengths[i] * child->list.extent / (ptrdiff_t)unit;
        at += (int64_t)(regular ? 3 : below(c, (uint32_t)gap));
        elements += (size_t)lengths[i] * child->list.count;
    }
    if (type->list.count + elements > MOST_ELEMENTS)
        return;
    struct placement p = {(ptrdiff_t)below(c, 9), count,  lengths,
                          displacements,          !equal, (ptrdiff_t)below(c, 2) * 5,
                          (ptrdiff_t)unit};
    for (size_t i = 0; i < count; i++)
        append(&type->list, &child->list,
               p.at + (ptrdiff_t)i * p.stride + displacements[i] * p.unit, (size_t)lengths[i]);
    ck_assert(typemap_append_blocks(type->map, child->map, &p));
}

/* Like MPI_Type_contiguous, _vector, _indexed, _create_struct and _create_resized. */
static struct both derived(struct chance *c, unsigned depth)
{
    struct both type = {.map = typemap_derived()}, child = any_type(c, depth - 1);
    ptrdiff_t at = below(c, 2) ? 0 : some_displacement(c);
    size_t blocks = below(c, 5), block = below(c, 4);
    ptrdiff_t stride =
        below(c, 3) ? (ptrdiff_t)below(c, 7) * child.list.extent : some_displacement(c);
    if (below(c, 8) == 0)
        stride = -stride;
    switch (below(c, 6)) {
    case 4:
        add_blocks(&type, &child, c);
        break;
    case 5:
        add(&type, &child, at, 5 + below(c, 30));
        break;
    case 0:
        add(&type, &child, at, blocks);
        break;
    case 1:
        for (size_t i = 0; i < blocks; i++, at += stride)
            add(&type, &child, at, block);
        break;
    case 2:
        for (size_t i = 0; i < blocks; i++)
            add(&type, &child, some_displacement(c), below(c, 4));
        break;
    default:
        for (size_t i = 0; i < blocks; i++) {
            struct both member = any_type(c, depth - 1);
            add(&type, &member, at, below(c, 3));
            at += below(c, 2) ? member.list.extent : some_displacement(c);
            drop(&member);
        }
    }
    type.list.extent = (ptrdiff_t)(blocks * block) * child.list.extent;
    if (below(c, 3) == 0)
        type.list.extent = some_displacement(c);
    ck_assert(typemap_end(type.map, type.list.extent));
    drop(&child);
    return type;
}

static struct both any_type(struct chance *c, unsigned depth)
{
    return depth == 0 || below(c, 4) == 0 ? predefined(c) : derived(c, depth);
}

/* ---- checks ---- */

static uint64_t seed;

#define SAME(got, expected)                                                                    \
    do {                                                                                       \
        long long got_ = (long long)(got), expected_ = (long long)(expected);                  \
        INSIST(got_ == expected_, "seed %llu: %s is %lld, not %lld", (unsigned long long)seed, \
               #got, got_, expected_);                                                         \
    } while (0)

static void check_span(const struct typemap *map, size_t count, const ptrdiff_t *offsets,
                       size_t bytes)
{
    ptrdiff_t low = 0, high = 0, got_low, got_high;
    for (size_t i = 0; i < bytes; i++) {
        low = i == 0 || offsets[i] < low ? offsets[i] : low;
        high = i == 0 || offsets[i] + 1 > high ? offsets[i] + 1 : high;
    }
    SAME(typemap_span(map, count, &got_low, &got_high), true);
    SAME(got_low, low);
    SAME(got_high, high);
}

/* No run is empty, and each begins where the data of the earlier ones end. */
static void check_runs(const struct typemap *map)
{
    size_t before = 0;
    for (size_t r = 0; r < map->run_count; r++) {
        size_t bytes = run_size(&map->runs[r]);
        SAME(bytes > 0, true);
        if (map->runs[r].pattern) {
            SAME(map->runs[r].bytes, map->runs[r].pattern->size);
            SAME(map->nesting > map->runs[r].pattern->nesting, true);
            check_runs(map->runs[r].pattern);
        }
        SAME(map->runs[r].before, before);
        before += bytes;
    }
    SAME(before, map->size);
}

static void check_facts(const struct both *type, size_t count)
{
    const struct typemap *map = type->map, *moved = typemap_to_move(map);
    const struct list *list = &type->list;
    ptrdiff_t *offsets;
    size_t bytes = expand(list, count, true, &offsets);
    const struct kind *k = list->count ? &kinds[list->element[0].kind] : NULL;
    SAME(map->size * count, bytes);
    SAME(map->extent, list->extent);
    check_runs(map);
    check_runs(moved);
    check_span(map, count, offsets, bytes);
    bool in_order = true, ascending = true;
    for (size_t i = 0; i < bytes; i++)
        in_order &= offsets[i] == (ptrdiff_t)i;
    for (size_t i = 1; i < bytes / (count ? count : 1); i++)
        ascending &= offsets[i - 1] < offsets[i];
    SAME(!map->contiguous || in_order, true);
    SAME(!map->ascending || ascending, true);
    SAME(!map->simple || (map->contiguous && !map->without_holes), true);
    free(offsets);
    bytes = expand(list, count, false, &offsets);
    SAME(moved->size * count, bytes);
    check_span(moved, count, offsets, bytes);
    free(offsets);
    if (!k)
        return;
    bool is_mixed = mixed(list);
    SAME(map->prim, is_mixed ? PRIM_MIXED : k->prim);
    SAME(map->element, is_mixed ? 1 : k->extent);
    SAME(map->without_holes != NULL, !is_mixed && holes(k));
    SAME(map->prim != PRIM_OTHER || map->base == k->base, true);
}

/* The expected offsets on both sides of a walk, and its progress. */
struct steps {
    const ptrdiff_t *a, *b;
    size_t done;
    size_t element; /* no piece may split one */
};

static char *const a_base = (char *)(uintptr_t)0x10000000, *const b_base =
                                                               (char *)(uintptr_t)0x20000000;

static void check_piece(void *context, char *a, ptrdiff_t a_stride, char *b, ptrdiff_t b_stride,
                        size_t bytes, size_t blocks)
{
    struct steps *s = context;
    SAME(bytes * blocks > 0, true);
    SAME(bytes % s->element, 0);
    for (size_t block = 0; block < blocks; block++, a += a_stride, b += b_stride)
        for (size_t i = 0; i < bytes; i++, s->done++) {
            SAME(a + i - a_base, s->a[s->done]);
            SAME(b + i - b_base, s->b[s->done]);
        }
}

/* Check that a walk through the first `total` bytes visits these offsets in this order. */
static void check_walk(const struct typemap *a, const ptrdiff_t *a_offsets, const struct typemap *b,
                       const ptrdiff_t *b_offsets, size_t total, size_t element)
{
    struct steps steps = {.a = a_offsets, .b = b_offsets, .element = element};
    typemap_walk(a_base, a, b_base, b, total, check_piece, &steps);
    SAME(steps.done, total);
}

/* A walk as in a reduction: elements with their holes on one side, contiguous elements on the
 * other. */
static void check_combining_walk(const struct both *type, size_t count, struct chance *c)
{
    ptrdiff_t *offsets;
    size_t bytes = expand(&type->list, count, true, &offsets);
    size_t element = type->map->element;
    if (bytes && type->map->prim != PRIM_MIXED) {
        struct run run;
        struct typemap plain = typemap_of_bytes(&run, bytes);
        ptrdiff_t *straight = malloc(bytes * sizeof *straight);
        for (size_t i = 0; i < bytes; i++)
            straight[i] = (ptrdiff_t)i;
        size_t part = (1 + any(c) % (bytes / element)) * element;
        check_walk(type->map, offsets, &plain, straight, bytes, element);
        check_walk(type->map, offsets, &plain, straight, part, element);
        free(straight);
    }
    free(offsets);
}

static bool overlaps(const ptrdiff_t *offsets, size_t bytes)
{
    enum { RANGE = 1 << 17 };
    static uint8_t seen[2 * RANGE];
    bool twice = false;
    for (size_t i = 0; i < bytes; i++)
        twice |= offsets[i] < -RANGE || offsets[i] >= RANGE || seen[RANGE + offsets[i]]++;
    for (size_t i = 0; i < bytes; i++)
        if (offsets[i] >= -RANGE && offsets[i] < RANGE)
            seen[RANGE + offsets[i]] = 0;
    return twice;
}

static void check_copy(const struct both *to, const ptrdiff_t *to_offsets, const struct both *from,
                       const ptrdiff_t *from_offsets, size_t total, struct chance *c)
{
    ptrdiff_t low = 0, high = 0, from_low = 0, from_high = 0;
    for (size_t i = 0; i < total; i++) {
        low = to_offsets[i] < low ? to_offsets[i] : low;
        high = to_offsets[i] >= high ? to_offsets[i] + 1 : high;
        from_low = from_offsets[i] < from_low ? from_offsets[i] : from_low;
        from_high = from_offsets[i] >= from_high ? from_offsets[i] + 1 : from_high;
    }
    size_t room = (size_t)(high - low), from_room = (size_t)(from_high - from_low);
    /* exactly the bytes that may be accessed, for AddressSanitizer */
    unsigned char *got = malloc(room + 1), *want = malloc(room + 1),
                  *source = malloc(from_room + 1);
    for (size_t i = 0; i < from_room; i++)
        source[i] = (unsigned char)any(c);
    for (size_t i = 0; i < room; i++)
        got[i] = want[i] = (unsigned char)any(c);
    for (size_t i = 0; i < total; i++)
        want[to_offsets[i] - low] = source[from_offsets[i] - from_low];
    typemap_copy((char *)got - low, typemap_to_move(to->map), (char *)source - from_low,
                 typemap_to_move(from->map), total);
    SAME(memcmp(got, want, room), 0);
    free(got);
    free(want);
    free(source);
}

/* A byte of `bytes` bytes of data: any one, or one next to the end of a run. */
static size_t some_position(const struct typemap *map, size_t bytes, struct chance *c)
{
    if (below(c, 3) == 0)
        return any(c) % bytes;
    size_t at = any(c) % (bytes / map->size) * map->size;
    for (size_t runs = any(c) % map->run_count; runs--;)
        at += run_size(&map->runs[runs]);
    return (at + bytes + below(c, 3) - 1) % bytes;
}

/* A cursor at a data byte is inside the run and block of that byte. */
static void check_cursor(const struct typemap *map, size_t first, ptrdiff_t offset)
{
    struct cursor cursor;
    cursor_at(&cursor, a_base, map, first);
    const struct level *top = cursor.top;
    SAME(top - cursor.level <= map->nesting, true);
    SAME(top->run < top->map->run_count, true);
    const struct run *run = run_of(top);
    SAME(run->pattern == NULL, true);
    SAME(top->block < run->blocks, true);
    SAME(cursor.skip < block_bytes(run, top->block), true);
    SAME(block_of_level(top) + cursor.skip - a_base, offset);
}

/* Copy `parts` parts of the data out of a buffer and into another one. No byte may occur twice. */
static void check_parts(const struct both *type, size_t count, const ptrdiff_t *offsets,
                        size_t bytes, unsigned parts, struct chance *c)
{
    const struct typemap *map = typemap_to_move(type->map);
    ptrdiff_t low = 0, high = 0;
    for (size_t i = 0; i < bytes; i++) {
        low = offsets[i] < low ? offsets[i] : low;
        high = offsets[i] >= high ? offsets[i] + 1 : high;
    }
    size_t room = (size_t)(high - low);
    char *source = malloc(room + 1), *got = malloc(room + 1), *want = malloc(room + 1);
    for (size_t i = 0; i < room; i++) {
        source[i] = (char)any(c);
        got[i] = want[i] = (char)any(c);
    }
    while (bytes && parts--) {
        size_t first = some_position(map, bytes, c), most = min_size(bytes - first, 100);
        size_t length = 1 + any(c) % most;
        check_cursor(map, first, offsets[first]);
        char *part = malloc(length), expected[100];
        for (size_t i = 0; i < length; i++)
            expected[i] = want[offsets[first + i] - low] = source[offsets[first + i] - low];
        buffer_read(part, (struct buffer){source - low, type->map, count}, first, length);
        SAME(memcmp(part, expected, length), 0);
        buffer_write((struct buffer){got - low, type->map, count}, first, part, length);
        SAME(memcmp(got, want, room), 0);
        free(part);
    }
    free(source);
    free(got);
    free(want);
}

static void check_seed(void)
{
    struct chance c = {seed * 7919};
    struct both a = any_type(&c, 3), b = any_type(&c, 3);
    size_t a_count = below(&c, 5), b_count = below(&c, 5);
    check_facts(&a, a_count);
    check_facts(&b, b_count);
    check_combining_walk(&a, a_count, &c);
    ptrdiff_t *a_offsets, *b_offsets;
    size_t a_bytes = expand(&a.list, a_count, false, &a_offsets);
    size_t b_bytes = expand(&b.list, b_count, false, &b_offsets);
    size_t total = min_size(a_bytes, b_bytes);
    const struct typemap *a_map = typemap_to_move(a.map), *b_map = typemap_to_move(b.map);
    check_walk(a_map, a_offsets, b_map, b_offsets, total, 1);
    if (!overlaps(b_offsets, b_bytes))
        check_parts(&b, b_count, b_offsets, b_bytes, 3, &c);
    if (total)
        total = 1 + any(&c) % total;
    check_walk(a_map, a_offsets, b_map, b_offsets, total, 1);
    if (!overlaps(a_offsets, total))
        check_copy(&a, a_offsets, &b, b_offsets, total, &c);
    if (!overlaps(a_offsets, a_bytes))
        check_copy(&a, a_offsets, &a, a_offsets, a_bytes, &c);
    free(a_offsets);
    free(b_offsets);
    drop(&a);
    drop(&b);
}

/* UNIT_SEED=n tests only that seed. */
START_TEST(agrees_with_a_list_of_elements)
{
    const char *one = getenv("UNIT_SEED");
    uint64_t last = one ? strtoull(one, NULL, 10) : effort(40000);
    for (seed = one ? last : 1; seed <= last; seed++)
        check_seed();
}
END_TEST

/* Like MPI_Type_create_struct of single elements, contiguous elements and vectors, at irregular
 * displacements and in decreasing order of addresses; some blocks are empty. */
static struct both irregular(size_t blocks, struct chance *c)
{
    enum { I32 = 2 };
    struct both element = {.list = {.extent = 4}, .map = typemap_predefined(3, PRIM_I32, 4, 4)};
    struct both vector = {.list = {.extent = 20}, .map = typemap_derived()};
    struct both type = {.list = {.extent = -(ptrdiff_t)blocks * 40}, .map = typemap_derived()};
    struct list one = {.extent = 4, .count = 1, .element = &(struct element){.kind = I32}};
    append(&element.list, &one, 0, 1);
    append(&vector.list, &one, 0, 1);
    append(&vector.list, &one, 8, 2);
    append(&vector.list, &one, 20, 2);
    ck_assert(typemap_append(vector.map, element.map, 0, 1));
    ck_assert(typemap_append(vector.map, element.map, 8, 2));
    ck_assert(typemap_append(vector.map, element.map, 20, 2));
    ck_assert(typemap_end(vector.map, vector.list.extent));
    for (size_t i = 0; i < blocks; i++) {
        const struct both *child = below(c, 3) ? &element : &vector;
        size_t count = child == &element ? below(c, 5) : 1;
        ptrdiff_t at = -(ptrdiff_t)i * 40 + (ptrdiff_t)below(c, 2) * 4;
        append(&type.list, &child->list, at, count);
        ck_assert(typemap_append(type.map, child->map, at, count));
    }
    ck_assert(typemap_end(type.map, type.list.extent));
    drop(&element);
    drop(&vector);
    return type;
}

/* Long data are copied in parts, and each part begins with a search among the runs. */
START_TEST(parts_of_many_runs)
{
    struct chance c = {1};
    seed = 0;
    for (size_t blocks = 1; blocks < 1100; blocks += blocks < 40 ? 1 : 500) {
        struct both type = irregular(blocks, &c);
        ptrdiff_t *offsets;
        size_t bytes = expand(&type.list, 3, false, &offsets);
        ck_assert(!overlaps(offsets, bytes));
        check_facts(&type, 3);
        check_parts(&type, 3, offsets, bytes, effort(blocks < 40 ? 200 : 2000), &c);
        free(offsets);
        drop(&type);
    }
}
END_TEST

/* ---- compact representation ---- */

static struct typemap *doubles(size_t blocks, size_t block, ptrdiff_t stride)
{
    struct typemap *element = typemap_predefined(4, PRIM_F64, 8, 8), *map = typemap_derived();
    for (size_t i = 0; i < blocks; i++)
        ck_assert(typemap_append(map, element, (ptrdiff_t)i * stride, block));
    ck_assert(typemap_end(map, (ptrdiff_t)(blocks - 1) * stride + (ptrdiff_t)block * 8));
    typemap_free(element);
    return map;
}

START_TEST(a_vector_is_one_run)
{
    struct typemap *map = doubles(50, 3, 80);
    ck_assert_uint_eq(map->run_count, 1);
    ck_assert_uint_eq(map->runs[0].blocks, 50);
    ck_assert_int_eq(map->runs[0].stride, 80);
    ck_assert(!map->contiguous);
    typemap_free(map);
    map = doubles(50, 3, -80);
    ck_assert_uint_eq(map->run_count, 1);
    typemap_free(map);
}
END_TEST

START_TEST(a_subarray_has_one_run_per_plane)
{
    struct typemap *plane = doubles(5, 3, 80), *map = typemap_derived();
    ck_assert(typemap_append(map, plane, 0, 1));
    ck_assert(typemap_append(map, plane, 8000, 1));
    ck_assert(typemap_append(map, plane, 16000, 1));
    ck_assert(typemap_end(map, 80000));
    ck_assert_uint_eq(map->run_count, 3);
    typemap_free(plane);
    typemap_free(map);
}
END_TEST

START_TEST(contiguous_blocks_are_simple)
{
    struct typemap *map = doubles(50, 3, 24);
    ck_assert(map->contiguous && map->simple);
    ck_assert_uint_eq(map->size, 50 * 24);
    ck_assert_uint_eq(map->prim, PRIM_F64);
    typemap_free(map);
}
END_TEST

/* The last member of each structure and the first member of the next one are one block. */
START_TEST(an_array_of_structures_has_few_runs)
{
    struct typemap *number = typemap_predefined(4, PRIM_F64, 8, 8), *structure = typemap_derived();
    struct typemap *index = typemap_predefined(3, PRIM_I32, 4, 4), *map = typemap_derived();
    ck_assert(typemap_append(structure, index, 0, 1));
    ck_assert(typemap_append(structure, number, 8, 1));
    ck_assert(typemap_end(structure, 16));
    ck_assert(typemap_append(map, structure, 0, 1000));
    ck_assert(typemap_end(map, 16000));
    ck_assert_uint_eq(map->run_count, 3);
    ck_assert_uint_eq(map->runs[1].blocks, 999);
    typemap_free(structure);
    typemap_free(map);
    typemap_free(index);
    typemap_free(number);
}
END_TEST

/* The datatype without holes of pairs that are appended one by one. */
START_TEST(pairs_without_holes_are_one_run)
{
    struct typemap *pair = typemap_predefined(10, PRIM_DOUBLE_INT, 12, 16);
    struct typemap *map = typemap_derived();
    ck_assert(typemap_append(map, pair, 0, 1000));
    ck_assert(typemap_end(map, 16000));
    ck_assert_uint_eq(map->without_holes->run_count, 1);
    ck_assert_uint_eq(map->without_holes->runs[0].blocks, 1000);
    typemap_free(pair);
    typemap_free(map);
}
END_TEST

/* The runs of a typemap and of its patterns. */
static size_t all_runs(const struct typemap *map)
{
    size_t runs = map->run_count;
    for (size_t r = 0; r < map->run_count; r++)
        runs += map->runs[r].pattern ? all_runs(map->runs[r].pattern) : 0;
    return runs;
}

/* Vectors of subarrays of structures with holes, nested four times. */
START_TEST(copies_are_not_stored)
{
    struct typemap *number = typemap_predefined(4, PRIM_F64, 8, 8), *map = typemap_derived();
    struct typemap *byte = typemap_predefined(1, PRIM_BYTE, 1, 1);
    ck_assert(typemap_append(map, number, 0, 1) && typemap_append(map, byte, 12, 1));
    ck_assert(typemap_append(map, byte, 16, 1) && typemap_end(map, 24));
    for (unsigned level = 1; level <= 4; level++) {
        struct typemap *outer = typemap_derived();
        int64_t length = 15;
        struct placement p = {
            .count = 100, .lengths = &length, .stride = map->extent * (length + 1)};
        ck_assert(typemap_append_blocks(outer, map, &p));
        ck_assert(typemap_end(outer, p.stride * 100 + 8));
        ck_assert_uint_eq(outer->size, map->size * 1500);
        ck_assert_uint_le(all_runs(outer), 3 + 2 * level);
        typemap_free(map);
        map = outer;
    }
    typemap_free(map);
    typemap_free(byte);
    typemap_free(number);
}
END_TEST

/* 20,000 blocks: one run, and 8 or 16 bytes per block. */
START_TEST(irregular_blocks_are_a_list)
{
    enum { BLOCKS = 20000 };
    struct typemap *number = typemap_predefined(4, PRIM_F64, 8, 8);
    int64_t *lengths = malloc(BLOCKS * sizeof *lengths), *at = malloc(BLOCKS * sizeof *at);
    for (int64_t i = 0; i < BLOCKS; i++) {
        lengths[i] = 1 + i % 2;
        at[i] = 4 * i + (i * i % 7 == 0);
    }
    for (size_t varying = 0; varying < 2; varying++) {
        struct typemap *map = typemap_derived();
        struct placement p = {0, BLOCKS, lengths, at, varying, 0, 8};
        ck_assert(typemap_append_blocks(map, number, &p) && typemap_end(map, 0));
        ck_assert_uint_eq(map->run_count, 1);
        ck_assert_uint_eq(map->runs[0].blocks, BLOCKS);
        ck_assert(map->runs[0].list && !map->runs[0].list->before == !varying);
        typemap_free(map);
    }
    free(lengths);
    free(at);
    typemap_free(number);
}
END_TEST

/* Groups of four blocks, each of which begins where the previous block ends. */
START_TEST(blocks_that_touch_are_merged)
{
    enum { BLOCKS = 400 };
    struct typemap *number = typemap_predefined(4, PRIM_F64, 8, 8), *map = typemap_derived();
    int64_t length = 1, at[BLOCKS];
    for (int64_t i = 0; i < BLOCKS; i++)
        at[i] = i + i / 4 * 2 + i / 4 % 2;
    struct placement p = {0, BLOCKS, &length, at, 0, 0, 8};
    ck_assert(typemap_append_blocks(map, number, &p) && typemap_end(map, 0));
    ck_assert_uint_eq(map->run_count, 1);
    ck_assert_uint_eq(map->runs[0].blocks, BLOCKS / 4);
    ck_assert_uint_eq(map->size, BLOCKS * 8);
    typemap_free(map);
    typemap_free(number);
}
END_TEST

START_TEST(a_span_that_leaves_the_address_space_is_refused)
{
    ptrdiff_t low, high;
    struct typemap *map = doubles(2, 1, 64);
    map->extent = PTRDIFF_MAX / 4;
    ck_assert(typemap_span(map, 4, &low, &high));
    ck_assert_int_eq(high, PTRDIFF_MAX / 4 * 3 + 72);
    ck_assert(!typemap_span(map, 6, &low, &high));
    ck_assert(!typemap_span(map, SIZE_MAX, &low, &high));
    map->extent = PTRDIFF_MIN / 4;
    ck_assert(typemap_span(map, 5, &low, &high));
    ck_assert_int_eq(low, PTRDIFF_MIN);
    ck_assert(!typemap_span(map, 6, &low, &high));
    map->extent = PTRDIFF_MAX / 4;
    ck_assert(!typemap_span(map, (size_t)PTRDIFF_MAX, &low, &high));
    ck_assert(typemap_span(map, 0, &low, &high));
    ck_assert_int_eq(low, 0);
    ck_assert_int_eq(high, 0);
    typemap_free(map);
}
END_TEST

UNIT_MAIN(agrees_with_a_list_of_elements, parts_of_many_runs, a_vector_is_one_run,
          a_subarray_has_one_run_per_plane, contiguous_blocks_are_simple,
          an_array_of_structures_has_few_runs, pairs_without_holes_are_one_run,
          copies_are_not_stored, irregular_blocks_are_a_list,
          a_span_that_leaves_the_address_space_is_refused, blocks_that_touch_are_merged)
