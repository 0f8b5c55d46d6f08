/* What each collective of a team brings, against its plain definition: any sizes, layouts and
 * places, in place and not, ranks in disorder, nothing outside of the data touched, buffers
 * overwritten as soon as a rank is back. */
#include "tests/unit/endless.h"
#include "tests/unit/teams.h"

/* ---- chance that all ranks share, and of one's own ---- */

struct play {
    struct team *t;
    unsigned me, n;
    uint64_t round;
    struct chance all, own;
    bool plain; /* blocks are equal and have no counts, as all know: another call of MPI */
};

static const size_t sizes[] = {0, 1, 8, 112, 113, 8192, 8193, 32767, 32768, 32769, 200000, 700000};

/* Bytes that all ranks together may send in a round. */
static size_t bytes_a_round;

/* Of one to one. */
static size_t budget(struct play *p)
{
    size_t usual = bytes_a_round / p->n / p->n;
    return below(&p->all, 8) ? usual : usual * 8;
}

static size_t any_size(struct chance *all, size_t limit)
{
    size_t size =
        below(all, 4) ? sizes[below(all, sizeof sizes / sizeof *sizes)] : below(all, 3000);
    return size > limit ? size % (limit + 1) : size;
}

/* Blocks for all ranks: equal ones, or each its own; `unit`: multiples of so many bytes. */
static void any_sizes(struct play *p, size_t *size)
{
    size_t room = budget(p) * p->n, equal = any_size(&p->all, room / p->n);
    bool vary = below(&p->all, 2);
    p->plain = !vary && below(&p->all, 2);
    for (unsigned r = 0; r < p->n; r++) {
        size[r] = vary ? below(&p->all, 3) ? any_size(&p->all, room / 2) : 0 : equal;
        room -= vary ? size[r] : 0;
    }
}

/* ---- data ---- */

/* What `from` sends to `to`: differs from that of other rounds and ranks and places. */
static char *datum(const struct play *p, unsigned from, unsigned to, size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    size_t start = from * 101 + to * 29 + p->round * 211;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(start + i * 167 + (i >> 8) * 59);
    return (char *)data;
}

/* ---- buffers ---- */

/* Memory with blocks of data in it, and how it should look at the end. */
struct side {
    struct blocks blocks;
    unsigned n;
    int counts[UNIT_RANKS_MAX], displs[UNIT_RANKS_MAX];
    int64_t wide_counts[UNIT_RANKS_MAX], wide_displs[UNIT_RANKS_MAX];
    const struct typemap *maps[UNIT_RANKS_MAX];
    struct typemap *made[UNIT_RANKS_MAX];
    unsigned made_count;
    char *memory, *image;
    size_t size;
    bool shared;
};

enum { UNTOUCHED = 0xa5, GUARD = 64 };

/* 8 bytes of data in 24. */
static const struct typemap *spaced(void)
{
    static struct typemap *map;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (!map) {
        map = typemap_derived();
        typemap_append(map, I32, 4, 1);
        typemap_append(map, I32, 12, 1);
        typemap_end(map, 24);
    }
    pthread_mutex_unlock(&mutex);
    return map;
}

/* As many bytes in a few pieces, with gaps. */
static const struct typemap *scattered(struct side *s, struct chance *c, size_t bytes)
{
    struct typemap *map = typemap_derived();
    ptrdiff_t at = below(c, 20);
    for (size_t done = 0; done < bytes;) {
        size_t piece = 1 + any(c) % (bytes / 3 + 1);
        piece = min_size(piece, bytes - done);
        typemap_append(map, BYTES, at, piece);
        at += (ptrdiff_t)(piece + below(c, 40));
        done += piece;
    }
    typemap_end(map, at + 3);
    return s->made[s->made_count++] = map;
}

static void reserve(struct side *s, bool shared)
{
    ptrdiff_t lowest = 0, highest = 0;
    for (unsigned r = 0; r < s->n; r++) {
        struct buffer b = block_of(&s->blocks, r);
        ptrdiff_t low, high, at = (ptrdiff_t)b.at;
        INSIST(typemap_span(b.map, b.count, &low, &high), "no span");
        lowest = at + low < lowest ? at + low : lowest;
        highest = at + high > highest ? at + high : highest;
    }
    s->shared = shared;
    s->size = (size_t)(highest - lowest) + 2 * GUARD;
    s->memory = shared ? arena_alloc(s->size, LINE) : malloc(s->size);
    s->image = malloc(s->size);
    memset(s->memory, UNTOUCHED, s->size);
    memset(s->image, UNTOUCHED, s->size);
    s->blocks.at = s->memory + GUARD - lowest;
}

/* Blocks of `map`, one after another or with gaps and in another order. */
static void lay_out_elements(struct side *s, struct chance *own, unsigned n,
                             const struct typemap *map, const size_t *elements, bool plain)
{
    int at = (int)below(own, 3);
    unsigned first = below(own, n);
    s->n = n;
    s->blocks = (struct blocks){.map = map, .count = elements[0]};
    for (unsigned i = 0; i < n; i++) {
        unsigned r = (first + i) % n;
        s->wide_counts[r] = s->counts[r] = (int)elements[r];
        s->wide_displs[r] = s->displs[r] = at;
        at += s->counts[r] + (int)below(own, 3);
    }
    if (plain)
        return;
    s->blocks.wide = below(own, 2);
    s->blocks.counts = s->blocks.wide ? (const void *)s->wide_counts : s->counts;
    s->blocks.displs = s->blocks.wide ? (const void *)s->wide_displs : s->displs;
}

/* Each block of its own kind. */
static void lay_out_mixed(struct side *s, struct chance *own, unsigned n, const size_t *size)
{
    int64_t at = below(own, 30);
    s->n = n;
    s->blocks = (struct blocks){.wide = true};
    s->blocks.maps = s->maps;
    s->blocks.counts = s->wide_counts;
    s->blocks.displs = s->wide_displs;
    for (unsigned i = 0; i < n; i++) {
        unsigned r = n - 1 - i;
        bool words = size[r] % 8 == 0 && below(own, 2), whole = !words && below(own, 2);
        s->maps[r] = words ? spaced() : whole ? BYTES : scattered(s, own, size[r]);
        s->wide_counts[r] = words ? (int64_t)size[r] / 8 : whole ? (int64_t)size[r] : 1;
        s->wide_displs[r] = at;
        at += s->wide_counts[r] * s->maps[r]->extent + below(own, 30);
    }
}

static void lay_out(struct side *s, struct play *p, unsigned n, const size_t *size, bool any_kind)
{
    size_t words[UNIT_RANKS_MAX];
    bool whole_words = true;
    s->made_count = 0;
    for (unsigned r = 0; r < n; r++) {
        words[r] = size[r] / 8;
        whole_words &= size[r] % 8 == 0;
    }
    bool plain = n == 1 ? below(&p->own, 4) : p->plain;
    if (any_kind && !plain && below(&p->own, 3) == 0)
        lay_out_mixed(s, &p->own, n, size);
    else if (whole_words && below(&p->own, 3) == 0)
        lay_out_elements(s, &p->own, n, spaced(), words, plain);
    else
        lay_out_elements(s, &p->own, n, BYTES, size, plain);
    reserve(s, below(&p->own, 2));
}

/* Lay data out in a buffer, by the definition of a type map. */
static void spread(struct buffer b, ptrdiff_t shift, const char *data)
{
    const struct typemap *map = typemap_to_move(b.map);
    for (size_t i = 0; i < b.count; i++)
        for (size_t k = 0; k < map->run_count; k++)
            for (size_t block = 0; block < map->runs[k].blocks; block++) {
                ptrdiff_t at = (ptrdiff_t)i * map->extent + map->runs[k].at +
                               (ptrdiff_t)block * map->runs[k].stride;
                memcpy(b.at + shift + at, data, map->runs[k].bytes);
                data += map->runs[k].bytes;
            }
}

static void expect(struct side *s, unsigned block, char *data)
{
    spread(block_of(&s->blocks, block), s->image - s->memory, data);
    free(data);
}

static void put_data(struct side *s, unsigned block, char *data)
{
    spread(block_of(&s->blocks, block), 0, data);
    expect(s, block, data);
}

/* Compare, and spoil what nobody may look at any longer. */
static void finish(struct play *p, struct side *s, const char *what)
{
    size_t i = 0;
    if (memcmp(s->memory, s->image, s->size) != 0)
        while (s->memory[i] == s->image[i])
            i++;
    else
        i = s->size;
    EXPECT(i == s->size, "%s: rank %u of %u, round %ju, byte %zu of %zu is %d, not %d", what, p->me,
           p->n, (uintmax_t)p->round, i, s->size, s->memory[i], s->image[i]);
    memset(s->memory, 0x5a, s->size);
    if (s->shared)
        arena_free(s->memory);
    else
        free(s->memory);
    free(s->image);
    for (unsigned k = 0; k < s->made_count; k++)
        typemap_free(s->made[k]);
    free(s);
}

static struct side *new_side(void)
{
    return calloc(1, sizeof(struct side));
}

static struct buffer whole(struct side *s)
{
    return block_of(&s->blocks, 0);
}

/* ---- moving data ---- */

static void play_barrier(struct play *p)
{
    coll_barrier(p->t);
}

static void play_bcast(struct play *p)
{
    unsigned root = below(&p->all, p->n);
    size_t size = any_size(&p->all, budget(p) * 4);
    struct side *s = new_side();
    lay_out(s, p, 1, &size, true);
    (p->me == root ? put_data : expect)(s, 0, datum(p, root, 0, size));
    EXPECT(coll_bcast(p->t, whole(s), root) == COLL_OK);
    finish(p, s, "bcast");
}

static void play_gather(struct play *p)
{
    unsigned root = below(&p->all, p->n);
    size_t size[UNIT_RANKS_MAX];
    any_sizes(p, size);
    bool is_root = p->me == root, in_place = is_root && below(&p->own, 2);
    struct side *mine = new_side(), *all = new_side();
    lay_out(mine, p, 1, &size[p->me], true);
    put_data(mine, 0, datum(p, p->me, 0, size[p->me]));
    lay_out(all, p, p->n, size, false);
    if (is_root) {
        for (unsigned r = 0; r < p->n; r++)
            (r == root && in_place ? put_data : expect)(all, r, datum(p, r, 0, size[r]));
        EXPECT(coll_gather(p->t, whole(mine), &all->blocks, root, in_place) == COLL_OK);
    } else {
        EXPECT(coll_gather(p->t, whole(mine), NULL, root, false) == COLL_OK);
    }
    finish(p, mine, "gather, sent");
    finish(p, all, "gather");
}

static void play_scatter(struct play *p)
{
    unsigned root = below(&p->all, p->n);
    size_t size[UNIT_RANKS_MAX];
    any_sizes(p, size);
    bool is_root = p->me == root, in_place = is_root && below(&p->own, 2);
    struct side *mine = new_side(), *all = new_side();
    lay_out(mine, p, 1, &size[p->me], true);
    lay_out(all, p, p->n, size, false);
    if (!in_place)
        expect(mine, 0, datum(p, root, p->me, size[p->me]));
    for (unsigned r = 0; is_root && r < p->n; r++)
        put_data(all, r, datum(p, root, r, size[r]));
    EXPECT(coll_scatter(p->t, is_root ? &all->blocks : NULL, whole(mine), root, in_place,
                        p->plain) == COLL_OK);
    finish(p, mine, "scatter");
    finish(p, all, "scatter, sent");
}

static void play_allgather(struct play *p)
{
    size_t size[UNIT_RANKS_MAX];
    any_sizes(p, size);
    bool in_place = below(&p->all, 2);
    struct side *mine = new_side(), *all = new_side();
    lay_out(mine, p, 1, &size[p->me], true);
    put_data(mine, 0, datum(p, p->me, 0, size[p->me]));
    lay_out(all, p, p->n, size, false);
    for (unsigned r = 0; r < p->n; r++)
        (r == p->me && in_place ? put_data : expect)(all, r, datum(p, r, 0, size[r]));
    struct buffer from = in_place ? block_of(&all->blocks, p->me) : whole(mine);
    EXPECT(coll_allgather(p->t, from, &all->blocks, in_place) == COLL_OK);
    finish(p, mine, "allgather, sent");
    finish(p, all, "allgather");
}

/* What `from` has for `to`; in place both have as much for each other. */
static size_t size_between(struct play *p, unsigned from, unsigned to, bool equal, bool symmetric)
{
    unsigned a = symmetric && from > to ? to : from, b = symmetric && from > to ? from : to;
    struct chance pair = {p->all.state + (equal ? 0 : a * 977 + b)};
    size_t room = bytes_a_round / p->n / p->n;
    if (equal)
        return any_size(&pair, room);
    return below(&pair, 3) ? below(&pair, 2) * below(&pair, 300) : any_size(&pair, room * 2);
}

static void play_alltoall(struct play *p)
{
    size_t sent[UNIT_RANKS_MAX], got[UNIT_RANKS_MAX];
    bool in_place = below(&p->all, 2), equal = below(&p->all, 2);
    struct side *out = new_side(), *in = new_side();
    p->plain = equal && below(&p->all, 2);
    for (unsigned r = 0; r < p->n; r++) {
        sent[r] = size_between(p, p->me, r, equal, in_place);
        got[r] = size_between(p, r, p->me, equal, in_place);
    }
    lay_out(out, p, p->n, sent, true);
    lay_out(in, p, p->n, got, true);
    for (unsigned r = 0; r < p->n; r++) {
        put_data(in_place ? in : out, r, datum(p, p->me, r, sent[r]));
        expect(in, r, datum(p, r, p->me, got[r]));
    }
    EXPECT(coll_alltoall(p->t, in_place ? &in->blocks : &out->blocks, &in->blocks, in_place) ==
           COLL_OK);
    finish(p, out, "alltoall, sent");
    finish(p, in, "alltoall");
}

/* ---- reductions ---- */

/* x -> a x + b, composed: it matters who is left. */
struct affine {
    uint32_t a, b;
};

static void compose(void *out, const void *left, const void *right, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct affine f, g, h;
        memcpy(&f, (const char *)left + i * sizeof f, sizeof f);
        memcpy(&g, (const char *)right + i * sizeof g, sizeof g);
        h = (struct affine){f.a * g.a, f.a * g.b + f.b};
        memcpy((char *)out + i * sizeof h, &h, sizeof h);
    }
}

static void add_bytes(void *out, const void *left, const void *right, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)out)[i] =
            (unsigned char)(((const unsigned char *)left)[i] + ((const unsigned char *)right)[i]);
}

/* Of pairs without their holes. */
static void least_pair(void *out, const void *left, const void *right, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x, y;
        int k, l;
        memcpy(&x, (const char *)left + i * 12, 8);
        memcpy(&y, (const char *)right + i * 12, 8);
        memcpy(&k, (const char *)left + i * 12 + 8, 4);
        memcpy(&l, (const char *)right + i * 12 + 8, 4);
        bool second = y < x || (!(x < y) && l < k);
        memmove((char *)out + i * 12, (const char *)(second ? right : left) + i * 12, 12);
    }
}

static void apply_compose(const struct reducer *r, void *out, const void *a, const void *b,
                          size_t n)
{
    EXPECT(r->element == sizeof(struct affine));
    compose(out, a, b, n);
}

struct flavour {
    struct reducer red;
    combine_fn *define; /* on the data alone */
    size_t packed;      /* bytes of data in an element */
};

static struct flavour any_flavour(struct play *p)
{
    switch (below(&p->all, 5)) {
    case 0: /* elements that are combined as they lie */
        return (struct flavour){{.kernel = add_bytes, .element = 1, .map = BYTES}, add_bytes, 1};
    case 1: /* with holes */
        return (struct flavour){{.kernel = kernels_best()->combine[OP_MINLOC][PRIM_DOUBLE_INT],
                                 .element = 16,
                                 .map = type_of(PRIM_DOUBLE_INT, 12, 16)},
                                least_pair,
                                12};
    case 2: /* a user's, of any layout: another on each rank */
        return (struct flavour){
            {.apply = apply_compose, .element = 8, .map = below(&p->own, 2) ? spaced() : I64},
            compose,
            8};
    default:
        return (struct flavour){{.kernel = compose, .element = 8, .map = I64}, compose, 8};
    }
}

static size_t any_elements(struct play *p, const struct flavour *f)
{
    size_t limit = f->red.kernel ? budget(p) * 2 : TEAM_CELL;
    return any_size(&p->all, limit) / f->red.element;
}

static char *operand(const struct play *p, const struct flavour *f, unsigned rank, size_t elements)
{
    char *data = datum(p, rank, 7, elements * f->packed);
    for (size_t i = 0; f->packed == 12 && i < elements; i++) {
        double x = (double)((i * 7 + rank * 5 + p->round) % 11);
        int k = (int)((rank * 31 + i) % 64);
        memcpy(data + i * 12, &x, 8);
        memcpy(data + i * 12 + 8, &k, 4);
    }
    return data;
}

/* Ranks 0 .. count - 1, from the left; elements from `first` on. */
static char *combined(const struct play *p, const struct flavour *f, unsigned count,
                      size_t elements, size_t first, size_t some)
{
    char *sum = operand(p, f, 0, elements);
    memmove(sum, sum + first * f->packed, some * f->packed);
    for (unsigned r = 1; r < count; r++) {
        char *next = operand(p, f, r, elements);
        f->define(sum, sum, next + first * f->packed, some);
        free(next);
    }
    return sum;
}

/* A buffer of elements: contiguous ones where the element has it so. */
static struct side *elements_side(struct play *p, const struct flavour *f, size_t elements)
{
    struct side *s = new_side();
    lay_out_elements(s, &(struct chance){p->own.state}, 1, f->red.map, &elements, true);
    reserve(s, below(&p->own, 2));
    return s;
}

enum kind { REDUCE, ALLREDUCE, SCAN, EXSCAN };

static void play_reduction(struct play *p, enum kind kind)
{
    static const char *const names[] = {"reduce", "allreduce", "scan", "exscan"};
    struct flavour f = any_flavour(p);
    unsigned root = below(&p->all, p->n);
    size_t elements = any_elements(p, &f);
    bool receives = kind == REDUCE ? p->me == root : kind != EXSCAN || p->me > 0;
    bool in_place = below(kind == REDUCE ? &p->own : &p->all, 2) && (receives || kind == EXSCAN);
    unsigned count = kind == SCAN ? p->me + 1 : kind == EXSCAN ? p->me : p->n;
    struct side *from = elements_side(p, &f, elements), *to = elements_side(p, &f, elements);
    put_data(in_place ? to : from, 0, operand(p, &f, p->me, elements));
    if (receives)
        expect(to, 0, combined(p, &f, count, elements, 0, elements));
    struct buffer in = whole(in_place ? to : from), out = whole(to);
    if (kind == REDUCE)
        coll_reduce(p->t, &f.red, in, out, root);
    else if (kind == ALLREDUCE)
        coll_allreduce(p->t, &f.red, in, out);
    else
        coll_scan(p->t, &f.red, in, out, kind == EXSCAN);
    finish(p, from, "operand");
    finish(p, to, names[kind]);
}

static void play_reduce(struct play *p)
{
    play_reduction(p, REDUCE);
}

static void play_allreduce(struct play *p)
{
    play_reduction(p, ALLREDUCE);
}

static void play_scan(struct play *p)
{
    play_reduction(p, below(&p->all, 2) ? SCAN : EXSCAN);
}

static void play_reduce_scatter(struct play *p)
{
    struct flavour f = any_flavour(p);
    size_t elements = any_elements(p, &f), share[UNIT_RANKS_MAX], first = 0, all = 0;
    bool equal = below(&p->all, 2), in_place = below(&p->all, 2);
    for (unsigned r = 0; r < p->n; r++) {
        size_t left = elements - all, some = below(&p->all, 3) ? any(&p->all) % (left + 1) : 0;
        share[r] = equal ? elements / p->n : r + 1 == p->n && below(&p->all, 2) ? left : some;
        first += r < p->me ? share[r] : 0;
        all += share[r];
    }
    struct side shares = {0};
    lay_out_elements(&shares, &p->own, p->n, f.red.map, share, equal && below(&p->own, 4));
    struct side *from = elements_side(p, &f, all),
                *to = elements_side(p, &f, in_place ? all : share[p->me]);
    put_data(in_place ? to : from, 0, operand(p, &f, p->me, all));
    struct buffer in = whole(in_place ? to : from), out = whole(to);
    out.count = share[p->me];
    char *sum = combined(p, &f, p->n, all, first, share[p->me]);
    spread(out, to->image - to->memory, sum);
    free(sum);
    coll_reduce_scatter(p->t, &f.red, in, out, &shares.blocks);
    finish(p, from, "operand");
    finish(p, to, "reduce_scatter");
}

/* ---- playing ---- */

typedef void play_fn(struct play *);
static play_fn *const every[] = {play_bcast,          play_gather, play_scatter,   play_allgather,
                                 play_alltoall,       play_reduce, play_allreduce, play_scan,
                                 play_reduce_scatter, play_barrier};
enum { EVERY = sizeof every / sizeof *every, MUCH = 1600000, LITTLE = MUCH / 10 };

static play_fn *played; /* NULL: any */
static unsigned rounds;

static void play_rounds(unsigned me)
{
    struct chance own = {me + 1};
    for (uint64_t round = 1; round <= rounds; round++) {
        struct play p = {.t = team_of[me],
                         .me = me,
                         .n = unit_ranks.size,
                         .round = round,
                         .all = {round * 1000003 + unit_ranks.size},
                         .own = {any(&own)}};
        unsigned which = below(&p.all, EVERY);
        dawdle(&own);
        (played ? played : every[which])(&p);
    }
}

static void play(play_fn *what, unsigned size, unsigned how_often, size_t much, uint32_t first)
{
    played = what;
    bytes_a_round = effort((unsigned)much);
    rounds = how_often;
    make_team(size);
    set_numbers(size, first);
    as_ranks(size, play_rounds);
    free_team(size);
}

/* A few processors and many: no sleep ends by itself. */
static void play_in_all_sizes(play_fn *what)
{
    static const unsigned n[] = {2, 3, 5, 8, 9, 17, 64};
    static const unsigned often[] = {150, 100, 60, 40, 40, 16, 4};
    for (unsigned i = 0; i < sizeof n / sizeof *n; i++) {
        sync_configure(i > 0, NULL);
        endless = true;
        play(what, n[i], effort(often[i]), MUCH, 0);
    }
    endless = false;
}

#define TEST_OF(name, what)      \
    START_TEST(name)             \
    {                            \
        play_in_all_sizes(what); \
    }                            \
    END_TEST
TEST_OF(bcast_brings_the_roots_data, play_bcast)
TEST_OF(gather_brings_all_to_the_root, play_gather)
TEST_OF(scatter_brings_each_its_block, play_scatter)
TEST_OF(allgather_brings_all_to_all, play_allgather)
TEST_OF(alltoall_brings_each_to_each, play_alltoall)
TEST_OF(reduce_combines_in_rank_order, play_reduce)
TEST_OF(allreduce_combines_in_rank_order, play_allreduce)
TEST_OF(scan_combines_what_is_before, play_scan)
TEST_OF(reduce_scatter_combines_shares, play_reduce_scatter)
TEST_OF(any_follow_any_others, NULL)

START_TEST(thousands_in_a_row)
{
    for (unsigned size = 2; size <= 4; size++) {
        sync_configure(size > 2, NULL);
        play(NULL, size, effort(2000), LITTLE, 0);
    }
}
END_TEST

START_TEST(numbers_may_wrap)
{
    for (unsigned size = 2; size <= 10; size += 4)
        for (unsigned which = 0; which < EVERY; which++) {
            sync_configure(true, NULL);
            play(every[which], size, 40, LITTLE, UINT32_MAX - 20);
        }
}
END_TEST

/* ---- more data than room ---- */

static void take_too_little(unsigned me)
{
    static const size_t much[] = {8, 100, 5000, 20000, 100000};
    struct team *t = team_of[me];
    for (unsigned i = 0; i < 5; i++) {
        char *sent = malloc(much[i]), *got = malloc(much[i]);
        memset(sent, 7, much[i]);
        memset(got, 1, much[i]);
        struct buffer b = buffer(me ? got : sent, BYTES, me == 1 ? much[i] - 1 : much[i]);
        EXPECT(coll_bcast(t, b, 0) == (me == 1 ? COLL_TRUNCATE : COLL_OK));
        EXPECT(me != 1 || got[much[i] - 1] == 1);
        EXPECT(me == 0 || (got[0] == 7 && got[much[i] - 2] == 7));
        EXPECT(coll_gather(t, buffer(sent, BYTES, me == 1 ? much[i] : 1),
                           &(struct blocks){.at = got, .map = BYTES, .count = 1}, 2,
                           false) == (me == 2 ? COLL_TRUNCATE : COLL_OK));
        EXPECT(me != 2 || got[3] == 7);
        free(sent);
        free(got);
    }
}

START_TEST(what_does_not_fit_is_cut_and_said)
{
    sync_configure(true, NULL);
    make_team(3);
    as_ranks(3, take_too_little);
    free_team(3);
}
END_TEST

UNIT_MAIN(bcast_brings_the_roots_data, gather_brings_all_to_the_root, scatter_brings_each_its_block,
          allgather_brings_all_to_all, alltoall_brings_each_to_each, reduce_combines_in_rank_order,
          allreduce_combines_in_rank_order, scan_combines_what_is_before,
          reduce_scatter_combines_shares, any_follow_any_others, thousands_in_a_row,
          numbers_may_wrap, what_does_not_fit_is_cut_and_said)
