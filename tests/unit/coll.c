/* What each collective of a team brings, against its plain definition: any sizes, layouts and
 * places, in place and not, ranks in disorder, nothing outside of the data touched, buffers
 * overwritten as soon as a rank is back. */
#include "tests/unit/endless.h"
#include "tests/unit/operands.h"

#include "coll_inplace/thresholds.h"

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

enum kind { REDUCE, ALLREDUCE, SCAN, EXSCAN };

/* Some ranks take the short way where there is one, others the general one. */
static enum coll_error any_allreduce(struct play *p, const struct flavour *f, struct buffer in,
                                     struct buffer out)
{
    size_t bytes = in.count * in.map->size;
    bool plain = reducer_is_plain(&f->red) && !out.map->without_holes;
    if (!plain || !coll_is_few(p->t, bytes) || below(&p->own, 2))
        return coll_allreduce(p->t, &f->red, in, out);
    coll_allreduce_few(p->t, f->red.kernel, in.at, out.at, in.count, bytes);
    return COLL_OK;
}

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
        expect(to, 0, combined(p, &f, 0, count, elements, 0, elements));
    struct buffer in = whole(in_place ? to : from), out = whole(to);
    enum coll_error error = kind == REDUCE      ? coll_reduce(p->t, &f.red, in, out, root)
                            : kind == ALLREDUCE ? any_allreduce(p, &f, in, out)
                                                : coll_scan(p->t, &f.red, in, out, kind == EXSCAN);
    EXPECT(error == COLL_OK, "%s of %zu bytes among %u: error %u", names[kind],
           elements * f.red.element, p->n, error);
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
    char *sum = combined(p, &f, 0, p->n, all, first, share[p->me]);
    spread(out, to->image - to->memory, sum);
    free(sum);
    EXPECT(coll_reduce_scatter(p->t, &f.red, in, out, &shares.blocks) == COLL_OK);
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
        team_of[me]->policy = any(&own) & (COPY_POLICY_NONTEMPORAL | COPY_POLICY_BY_OS);
        (played ? played : every[which])(&p);
    }
}

/* Some ranks' streams. */
static void lengthen_some(unsigned size)
{
    for (unsigned r = 0; r < size; r += 3)
        mailbox_lengthen_stream(team_of[r]->mine);
}

static void play(play_fn *what, unsigned size, unsigned how_often, size_t much, uint32_t first)
{
    played = what;
    bytes_a_round = effort((unsigned)much);
    rounds = how_often;
    make_team(size);
    lengthen_some(size);
    set_numbers(size, first);
    as_ranks(size, play_rounds);
    free_team(size);
}

/* A few processors and many, near each other and apart: no sleep ends by itself. */
static void play_in_all_sizes(play_fn *what)
{
    static const unsigned n[] = {2, 3, 5, 8, 9, 17, 26, 64};
    static const unsigned often[] = {150, 100, 60, 40, 40, 16, 10, 4};
    static const unsigned domains[] = {0, 0, 0, 0, 2, 0, 4, 15};
    for (unsigned i = 0; i < sizeof n / sizeof *n; i++) {
        sync_configure(i > 0, NULL);
        endless = true;
        domains_of_teams = domains[i];
        play(what, n[i], effort(often[i]), MUCH, 0);
    }
    domains_of_teams = 0;
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

/* ---- after many broadcasts ---- */

static unsigned followed_by;
static _Atomic uint64_t told; /* the rounds of which all broadcasts are posted */

/* A rank is the root of as many broadcasts as it has posts or cells, which another one does not
 * hear yet; what it posts next must wait. */
static void hear_late(unsigned me)
{
    struct team *t = team_of[me];
    static const size_t some[] = {8, TEAM_CELL};
    for (uint64_t round = 1; round <= 8; round++) {
        unsigned root = round % t->size, late = (root + 1 + (round & 1)) % t->size;
        size_t bytes = some[round / 2 % 2];
        char *data = malloc(bytes);
        struct play p = {.t = t,
                         .me = me,
                         .n = t->size,
                         .round = round,
                         .all = {round * 77 + followed_by},
                         .own = {round * 64 + me}};
        coll_barrier(t);
        while (me == late && told < round)
            sleep_us(100);
        if (me == late)
            sleep_us(2000);
        for (int i = 0; i < (bytes > SLOT_ROOM ? TEAM_CELLS : TEAM_SLOTS); i++) {
            memset(data, me == root ? i : 99, bytes);
            EXPECT(coll_bcast(t, buffer(data, BYTES, bytes), root) == COLL_OK);
            EXPECT(data[0] == i && data[bytes - 1] == i, "broadcast %d, then %u: %d", i,
                   followed_by, data[0]);
        }
        if (me == root)
            told = round;
        every[followed_by](&p);
        free(data);
    }
}

START_TEST(whatever_comes_next_waits_for_a_free_post)
{
    sync_configure(true, NULL);
    bytes_a_round = MUCH;
    for (followed_by = 0; followed_by < EVERY; followed_by++)
        for (unsigned size = 3; size < 11; size += 7) {
            told = 0;
            make_team(size);
            as_ranks(size, hear_late);
            free_team(size);
        }
}
END_TEST

/* ---- results around the caches ---- */

/* Operands and results in the heap, or out of reach. */
static bool much_is_private;

static void give_back(char *at)
{
    if (much_is_private)
        free(at);
    else
        arena_free(at);
}

static void reduce_much(unsigned me)
{
    struct team *t = team_of[me];
    size_t bytes = NONTEMPORAL_RESULT_MIN + 5003;
    struct reducer add = {.kernel = add_bytes, .element = 1, .map = BYTES};
    char *from = much_is_private ? malloc(bytes) : arena_alloc(bytes, LINE);
    char *to = much_is_private ? malloc(bytes + 1) : arena_alloc(bytes + 1, LINE);
    for (size_t i = 0; i < bytes; i++)
        from[i] = (char)(datum_byte(i) + me);
    for (unsigned root = 0; root <= t->size; root++) { /* the last time, for all */
        struct buffer out = buffer(to, BYTES, bytes);
        memset(to, 77, bytes + 1);
        if (root == t->size)
            EXPECT(coll_allreduce(t, &add, buffer(from, BYTES, bytes), out) == COLL_OK);
        else
            EXPECT(coll_reduce(t, &add, buffer(from, BYTES, bytes), out, root) == COLL_OK);
        size_t wrong = 0;
        unsigned n = t->size;
        for (size_t i = 0; i < bytes && (root == me || root == n); i++)
            wrong += to[i] != (char)(n * datum_byte(i) + n * (n - 1) / 2);
        EXPECT(!wrong && to[bytes] == 77, "root %u of %u: %zu bytes are wrong", root, n, wrong);
    }
    coll_barrier(t);
    give_back(from);
    give_back(to);
}

static size_t wrong_bytes(const char *got, size_t bytes, unsigned start)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += got[i] != (char)(start + datum_byte(i));
    return wrong;
}

/* Block r of what `from` has to give begins with 16 * from + r. */
static void copy_much(unsigned me)
{
    enum { ROOT = 1, BLOCK = NONTEMPORAL_COPY_MIN + 1003 };
    struct team *t = team_of[me];
    size_t all = (size_t)t->size * BLOCK;
    char *from = malloc(all), *to = malloc(all + 1);
    struct blocks out = {.at = from, .map = BYTES, .count = BLOCK};
    struct blocks in = {.at = to, .map = BYTES, .count = BLOCK};
    struct buffer mine = block_of(&out, me), first = block_of(&in, 0);
    for (unsigned r = 0; r < t->size; r++)
        for (size_t i = 0; i < BLOCK; i++)
            block_of(&out, r).at[i] = (char)(16 * me + r + datum_byte(i));
    for (unsigned call = 0; call < 4; call++) {
        memset(to, 77, all + 1);
        if (call == 0)
            EXPECT(coll_allgather(t, mine, &in, false) == COLL_OK);
        else if (call == 1)
            EXPECT(coll_alltoall(t, &out, &in, false) == COLL_OK);
        else if (call == 2)
            EXPECT(coll_gather(t, mine, me == ROOT ? &in : NULL, ROOT, false) == COLL_OK);
        else
            EXPECT(coll_scatter(t, me == ROOT ? &out : NULL, first, ROOT, false, true) == COLL_OK);
        for (unsigned r = 0; r < t->size; r++) {
            unsigned start = call == 1 ? 16 * r + me : call == 3 ? 16 * ROOT + me : 17 * r;
            if ((call == 2 && me != ROOT) || (call == 3 && r))
                continue;
            size_t wrong = wrong_bytes(block_of(&in, r).at, BLOCK, start);
            EXPECT(!wrong, "call %u, %u of %u: %zu bytes are wrong", call, r, t->size, wrong);
        }
        EXPECT(to[all] == 77 && (call != 3 || to[BLOCK] == 77), "call %u", call);
    }
    coll_barrier(t);
    free(from);
    free(to);
}

START_TEST(results_that_caches_do_not_hold_go_around_them)
{
    copy_cached = 1;
    for (unsigned size = 2; size <= 3; size++) {
        sync_configure(true, NULL);
        make_team(size);
        as_ranks(size, reduce_much);
        for (unsigned r = 0; r < size; r++)
            team_of[r]->policy = 0;
        much_is_private = true;
        as_ranks(size, reduce_much);
        much_is_private = false;
        as_ranks(size, copy_much);
        free_team(size);
    }
    copy_cached = 0;
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

/* ---- nothing to move ---- */

/* A rank that has heard nothing from a slow one does not write over what that has still to read. */
static void run_ahead_over_nothing(unsigned me)
{
    static const int none[2] = {0};
    struct team *t = team_of[me];
    struct blocks empty = {.at = (char *)&none, .map = BYTES, .counts = none, .displs = none};
    struct buffer nothing = buffer(&none, BYTES, 0);
    if (me)
        sleep_us(20000);
    for (uint64_t i = 0; i < 3 * TEAM_SLOTS; i++) {
        uint64_t value = me ? 0 : i;
        EXPECT(coll_bcast(t, buffer(&value, I64, 1), 0) == COLL_OK && value == i, "%u, bcast %u",
               me, (unsigned)i);
        EXPECT(coll_alltoall(t, &empty, &empty, false) == COLL_OK);
        EXPECT(coll_allgather(t, nothing, &empty, false) == COLL_OK);
        EXPECT(coll_gather(t, nothing, &empty, i % 2, false) == COLL_OK);
        EXPECT(coll_scatter(t, &empty, nothing, i % 2, false, i % 2) == COLL_OK);
        EXPECT(coll_bcast(t, nothing, 1) == COLL_OK);
    }
}

START_TEST(empty_operations_wait_for_nobody_and_promise_nothing)
{
    sync_configure(true, NULL);
    make_team(2);
    as_ranks(2, run_ahead_over_nothing);
    free_team(2);
}
END_TEST

/* ---- no memory to combine in ---- */

static unsigned starving;

static struct affine affine_of(unsigned rank, size_t i)
{
    return (struct affine){2 * rank + 1, rank + (unsigned)i};
}

static void expect_combined(enum coll_error error, bool lost, const struct affine *got, size_t n,
                            unsigned count, const char *what)
{
    EXPECT(error == (lost ? COLL_NO_MEMORY : COLL_OK), "%s: %d", what, error);
    for (size_t i = 0; i < n; i++) {
        struct affine sum = lost ? (struct affine){77, 77} : affine_of(0, i);
        for (unsigned r = 1; r < count && !lost; r++) {
            struct affine next = affine_of(r, i);
            compose(&sum, &sum, &next, 1, NULL);
        }
        EXPECT(got[i].a == sum.a && got[i].b == sum.b, "%s: element %zu of %zu", what, i, n);
    }
}

/* In a tree who combines for others takes their result along. */
static void combine_starved(unsigned me)
{
    enum { ROOT = 1, MOST = TEAM_CELL / 8 };
    static const size_t elements[] = {1, 100, MOST};
    struct team *t = team_of[me];
    struct reducer red = {
        .apply = apply_compose, .element = 8, .map = I64, .starved = me == starving};
    bool tree = t->size > TREE_FLAT, inner = starving % TREE_RADIX == 0 && starving + 1 < t->size;
    struct affine *mine = malloc(TEAM_CELL), *got = malloc(TEAM_CELL);
    for (size_t i = 0; i < MOST; i++)
        mine[i] = affine_of(me, i);
    for (unsigned e = 0; e < 3; e++)
        for (unsigned call = 0; call < 4; call++) {
            size_t n = elements[e];
            struct buffer from = buffer((char *)mine, I64, n), to = buffer((char *)got, I64, n);
            struct blocks shares = {.map = I64, .count = n / t->size};
            for (size_t i = 0; i < n; i++)
                got[i] = (struct affine){77, 77};
            if (call == 0 && me == ROOT)
                expect_combined(coll_reduce(t, &red, from, to, ROOT),
                                tree ? inner : starving == ROOT, got, n, t->size, "reduce");
            else if (call == 0)
                EXPECT(coll_reduce(t, &red, from, to, ROOT) == COLL_OK);
            else if (call == 1)
                expect_combined(coll_allreduce(t, &red, from, to), tree ? inner : me == starving,
                                got, n, t->size, "allreduce");
            else if (call == 2)
                expect_combined(coll_scan(t, &red, from, to, false), me && me == starving, got, n,
                                me + 1, "scan");
            else if (n >= t->size && me == 0) {
                from.count = n = n / t->size * t->size;
                to.count = n / t->size;
                expect_combined(coll_reduce_scatter(t, &red, from, to, &shares), me == starving,
                                got, to.count, t->size, "reduce_scatter");
            } else if (n >= t->size) {
                from.count = n / t->size * t->size;
                to.count = n / t->size;
                EXPECT(coll_reduce_scatter(t, &red, from, to, &shares) ==
                       (me == starving ? COLL_NO_MEMORY : COLL_OK));
            }
        }
    coll_barrier(t);
    free(mine);
    free(got);
}

START_TEST(who_has_no_memory_to_combine_says_so_and_keeps_nobody_waiting)
{
    static const unsigned n[] = {2, 5, 9, 17}, who[] = {0, 1, 3, 8, 16};
    sync_configure(true, NULL);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 0; k < 5 && who[k] < n[i]; k++) {
            starving = who[k];
            make_team(n[i]);
            as_ranks(n[i], combine_starved);
            free_team(n[i]);
        }
}
END_TEST

UNIT_MAIN(bcast_brings_the_roots_data, gather_brings_all_to_the_root, scatter_brings_each_its_block,
          allgather_brings_all_to_all, alltoall_brings_each_to_each, reduce_combines_in_rank_order,
          allreduce_combines_in_rank_order, scan_combines_what_is_before,
          reduce_scatter_combines_shares, any_follow_any_others,
          empty_operations_wait_for_nobody_and_promise_nothing, thousands_in_a_row,
          numbers_may_wrap, whatever_comes_next_waits_for_a_free_post,
          results_that_caches_do_not_hold_go_around_them, what_does_not_fit_is_cut_and_said,
          who_has_no_memory_to_combine_says_so_and_keeps_nobody_waiting)
