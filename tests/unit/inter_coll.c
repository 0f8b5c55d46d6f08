/* What each collective between two groups brings, against its plain definition: any sizes, layouts
 * and places, ranks in disorder, groups of all sizes, nothing outside of the data touched. Ranks
 * count through both groups. */
#include "tests/unit/endless.h"
#include "tests/unit/operands.h"

/* The module itself, for the order of its partners. */
#define operand operand_in_post
#include "coll_inplace/inter_coll.c"
#undef operand

static unsigned group_size[2];

static unsigned first_of(unsigned group)
{
    return group ? group_size[0] : 0;
}

static unsigned group_of(unsigned rank)
{
    return rank >= group_size[0];
}

/* The other one's first rank, and number. */
static unsigned others(unsigned me)
{
    return first_of(!group_of(me));
}

static unsigned others_count(unsigned me)
{
    return group_size[!group_of(me)];
}

/* ---- with a root ---- */

/* Whether it concerns us, and how we name the root. */
static bool takes_part(struct play *p, unsigned root, uint32_t *name)
{
    *name = p->me == root ? INTER_ROOT : root - first_of(group_of(root));
    if (p->me == root || group_of(root) != group_of(p->me))
        return true;
    inter_coll_pass(p->t);
    return false;
}

static void play_bcast(struct play *p)
{
    unsigned root = below(&p->all, p->n);
    size_t size = any_size(&p->all, budget(p) * 4);
    uint32_t name;
    if (!takes_part(p, root, &name))
        return;
    struct side *s = new_side();
    lay_out(s, p, 1, &size, true);
    (p->me == root ? put_data : expect)(s, 0, datum(p, root, 0, size));
    EXPECT(inter_coll_bcast(p->t, whole(s), name) == COLL_OK);
    finish(p, s, "bcast");
}

static void play_gather(struct play *p)
{
    unsigned root = below(&p->all, p->n), first = others(p->me);
    size_t size[UNIT_RANKS_MAX];
    uint32_t name;
    any_sizes(p, size);
    if (!takes_part(p, root, &name))
        return;
    struct side *mine = new_side(), *all = new_side();
    lay_out(mine, p, 1, &size[p->me], true);
    put_data(mine, 0, datum(p, p->me, 0, size[p->me]));
    lay_out(all, p, others_count(p->me), size + first, false);
    for (unsigned r = 0; p->me == root && r < others_count(p->me); r++)
        expect(all, r, datum(p, first + r, 0, size[first + r]));
    EXPECT(inter_coll_gather(p->t, whole(mine), &all->blocks, name) == COLL_OK);
    finish(p, mine, "gather, sent");
    finish(p, all, "gather");
}

static void play_scatter(struct play *p)
{
    unsigned root = below(&p->all, p->n), first = others(p->me);
    size_t size[UNIT_RANKS_MAX];
    uint32_t name;
    any_sizes(p, size);
    if (!takes_part(p, root, &name))
        return;
    struct side *mine = new_side(), *all = new_side();
    lay_out(mine, p, 1, &size[p->me], true);
    lay_out(all, p, others_count(p->me), size + first, true);
    if (p->me != root)
        expect(mine, 0, datum(p, root, p->me, size[p->me]));
    for (unsigned r = 0; p->me == root && r < others_count(p->me); r++)
        put_data(all, r, datum(p, root, first + r, size[first + r]));
    EXPECT(inter_coll_scatter(p->t, &all->blocks, whole(mine), name) == COLL_OK);
    finish(p, mine, "scatter");
    finish(p, all, "scatter, sent");
}

/* ---- for all ---- */

static _Atomic unsigned arrived[UNIT_RANKS_MAX];

static void play_barrier(struct play *p)
{
    unsigned first = others(p->me), turn = ++arrived[p->me];
    inter_coll_barrier(p->t);
    for (unsigned r = 0; r < others_count(p->me); r++)
        EXPECT(arrived[first + r] >= turn);
}

static void play_allgather(struct play *p)
{
    unsigned first = others(p->me);
    size_t size[UNIT_RANKS_MAX];
    any_sizes(p, size);
    struct side *mine = new_side(), *all = new_side();
    lay_out(mine, p, 1, &size[p->me], true);
    put_data(mine, 0, datum(p, p->me, 0, size[p->me]));
    lay_out(all, p, others_count(p->me), size + first, false);
    for (unsigned r = 0; r < others_count(p->me); r++)
        expect(all, r, datum(p, first + r, 0, size[first + r]));
    EXPECT(inter_coll_allgather(p->t, whole(mine), &all->blocks) == COLL_OK);
    finish(p, mine, "allgather, sent");
    finish(p, all, "allgather");
}

static size_t size_between(struct play *p, unsigned from, unsigned to)
{
    struct chance pair = {p->all.state + from * 977 + to};
    size_t room = bytes_a_round / p->n / p->n;
    return below(&pair, 3) ? below(&pair, 2) * below(&pair, 300) : any_size(&pair, room * 2);
}

static void play_alltoall(struct play *p)
{
    unsigned first = others(p->me), n = others_count(p->me);
    size_t sent[UNIT_RANKS_MAX] = {0}, got[UNIT_RANKS_MAX] = {0};
    struct side *out = new_side(), *in = new_side();
    p->plain = false;
    for (unsigned r = 0; r < n; r++) {
        sent[r] = size_between(p, p->me, first + r);
        got[r] = size_between(p, first + r, p->me);
    }
    lay_out(out, p, n, sent, true);
    lay_out(in, p, n, got, true);
    for (unsigned r = 0; r < n; r++) {
        put_data(out, r, datum(p, p->me, first + r, sent[r]));
        expect(in, r, datum(p, first + r, p->me, got[r]));
    }
    EXPECT(inter_coll_alltoall(p->t, &out->blocks, &in->blocks) == COLL_OK);
    finish(p, out, "alltoall, sent");
    finish(p, in, "alltoall");
}

/* ---- reductions ---- */

static size_t any_length(struct play *p, const struct flavour *f)
{
    return any_size(&p->all, budget(p) * 2) / f->red.element;
}

static void play_reduce(struct play *p)
{
    struct flavour f = any_flavour(p);
    unsigned root = below(&p->all, p->n);
    size_t n = any_length(p, &f);
    uint32_t name;
    if (!takes_part(p, root, &name))
        return;
    struct side *from = elements_side(p, &f, n), *to = elements_side(p, &f, n);
    if (p->me == root)
        expect(to, 0, combined(p, &f, others(p->me), others_count(p->me), n, 0, n));
    else
        put_data(from, 0, operand(p, &f, p->me, n));
    EXPECT(inter_coll_reduce(p->t, &f.red, whole(from), whole(to), name) == COLL_OK);
    finish(p, from, "operand");
    finish(p, to, "reduce");
}

static void play_allreduce(struct play *p)
{
    struct flavour f = any_flavour(p);
    size_t n = any_length(p, &f);
    struct side *from = elements_side(p, &f, n), *to = elements_side(p, &f, n);
    put_data(from, 0, operand(p, &f, p->me, n));
    expect(to, 0, combined(p, &f, others(p->me), others_count(p->me), n, 0, n));
    EXPECT(inter_coll_allreduce(p->t, &f.red, whole(from), whole(to)) == COLL_OK);
    finish(p, from, "operand");
    finish(p, to, "allreduce");
}

/* Each group cuts the same number of elements in its own way. */
static void play_reduce_scatter(struct play *p)
{
    struct flavour f = any_flavour(p);
    size_t n = any_length(p, &f), share[2][UNIT_RANKS_MAX], first = 0;
    for (unsigned g = 0; g < 2; g++) {
        size_t left = n;
        for (unsigned r = 0; r < group_size[g]; r++) {
            size_t some = below(&p->all, 3) ? any(&p->all) % (left + 1) : 0;
            left -= share[g][r] = r + 1 < group_size[g] ? some : left;
        }
    }
    unsigned g = group_of(p->me), rank = p->me - first_of(g);
    for (unsigned r = 0; r < rank; r++)
        first += share[g][r];
    struct side shares = {0};
    lay_out_elements(&shares, &p->own, group_size[g], f.red.map, share[g], false);
    struct side *from = elements_side(p, &f, n), *to = elements_side(p, &f, share[g][rank]);
    put_data(from, 0, operand(p, &f, p->me, n));
    expect(to, 0, combined(p, &f, others(p->me), others_count(p->me), n, first, share[g][rank]));
    EXPECT(inter_coll_reduce_scatter(p->t, &f.red, whole(from), whole(to), &shares.blocks) ==
           COLL_OK);
    finish(p, from, "operand");
    finish(p, to, "reduce_scatter");
}

/* ---- playing ---- */

static void make_teams(unsigned a, unsigned b, uint32_t number, bool can_access_peers)
{
    struct team_offer offers[UNIT_RANKS_MAX];
    unsigned n = a + b;
    open_heap();
    group_size[0] = a;
    group_size[1] = b;
    for (unsigned r = 0; r < n; r++) {
        unsigned g = group_of(r);
        arrived[r] = 0;
        team_of[r] =
            team_prepare_between(group_size[g], r - first_of(g), group_size[!g], 0, &offers[r]);
        offers[r].can_access_peers &= can_access_peers;
    }
    for (unsigned r = 0; r < n; r++) {
        struct team *t = team_of[r];
        ck_assert_int_eq(team_settle(t, offers + others(r), others_count(r)), REASON_COUNT);
        t->op = t->published = t->all_done = number;
        atomic_store(&t->mine->done.value, number);
        atomic_store(&t->mine->produced.value, number);
        atomic_store(&t->mine->consumed.value, number);
        for (uint32_t back = 0; back < TEAM_SLOTS; back++)
            atomic_store(&slot_of(t->mine, number - back)->op.value, number - back);
    }
}

typedef void play_fn(struct play *);
static play_fn *const every[] = {play_bcast,     play_gather,         play_scatter,
                                 play_allgather, play_alltoall,       play_reduce,
                                 play_allreduce, play_reduce_scatter, play_barrier};
enum { EVERY = sizeof every / sizeof *every, MUCH = 500000 };

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

static void play(play_fn *what, unsigned a, unsigned b, unsigned how_often, uint32_t number)
{
    played = what;
    bytes_a_round = effort(MUCH);
    rounds = how_often;
    make_teams(a, b, number, number % 2 == 0);
    as_ranks(a + b, play_rounds);
    free_team(a + b);
}

/* With memory that the others reach, and without. */
static void play_in_all_sizes(play_fn *what)
{
    static const unsigned groups[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1},
                                         {1, 4}, {3, 4}, {5, 2}, {9, 4}, {16, 16}};
    static const unsigned often[] = {80, 30, 30, 30, 20, 20, 15, 15, 6, 3};
    endless = true;
    for (unsigned i = 0; i < sizeof often / sizeof *often; i++)
        for (uint32_t number = 0; number < 2; number++) {
            sync_configure(i > 0, NULL);
            play(what, groups[i][0], groups[i][1], effort(often[i]), number);
        }
    endless = false;
}

#define TEST_OF(name, what)      \
    START_TEST(name)             \
    {                            \
        play_in_all_sizes(what); \
    }                            \
    END_TEST
TEST_OF(barrier_waits_for_the_other_group, play_barrier)
TEST_OF(bcast_brings_the_roots_data, play_bcast)
TEST_OF(gather_brings_all_to_the_root, play_gather)
TEST_OF(scatter_brings_each_its_block, play_scatter)
TEST_OF(allgather_brings_the_others_to_all, play_allgather)
TEST_OF(alltoall_brings_each_to_each, play_alltoall)
TEST_OF(reduce_combines_the_others_in_rank_order, play_reduce)
TEST_OF(allreduce_combines_the_others_in_rank_order, play_allreduce)
TEST_OF(reduce_scatter_combines_shares, play_reduce_scatter)
TEST_OF(any_follow_any_others, NULL)

START_TEST(numbers_may_wrap)
{
    sync_configure(true, NULL);
    for (unsigned which = 0; which < EVERY; which++)
        play(every[which], 2, 3, 40, UINT32_MAX - 20);
    play(NULL, 3, 2, 100, UINT32_MAX - 50);
}
END_TEST

/* ---- who has nothing to do ---- */

enum { FAR = 1000 };
static struct sync_word passed;

static void pass_or_bcast(unsigned me)
{
    if (me != 1)
        sync_wait_until(&passed, 1);
    for (int i = 0; i < FAR; i++) {
        int data = me == 0 ? i : -1;
        if (me == 1)
            inter_coll_pass(team_of[me]);
        else
            EXPECT(inter_coll_bcast(team_of[me], buffer(&data, BYTES, sizeof data),
                                    me ? 0 : INTER_ROOT) == COLL_OK &&
                   data == i);
    }
    if (me == 1)
        sync_publish_ordered(&passed, 1);
}

START_TEST(who_passes_goes_far_ahead)
{
    sync_configure(true, NULL);
    make_teams(2, 2, 0, true);
    as_ranks(4, pass_or_bcast);
    free_team(4);
}
END_TEST

/* ---- partners ---- */

/* All of the other group once, in steps that grow: then no two wait for the same one in a step. */
START_TEST(partners_meet_in_the_same_step)
{
    for (unsigned group = 1; group < 12; group++)
        for (unsigned others_are = 1; others_are < 12; others_are++)
            for (unsigned r = 0; r < group; r++) {
                unsigned steps = group > others_are ? group : others_are, met = 0;
                int last = -1;
                struct team t = {.rank = r, .group = group, .size = others_are};
                for (unsigned i = 0; i < others_are; i++) {
                    int step = (int)((r + partner(&t, i)) % steps);
                    INSIST(step > last, "%u of %u with %u: step %d after %d", r, group, others_are,
                           step, last);
                    met |= 1u << partner(&t, i);
                    last = step;
                }
                ck_assert_uint_eq(met, (1u << others_are) - 1);
            }
}
END_TEST

/* ---- who is late, who is slow ---- */

static unsigned followed_by;
static _Atomic uint64_t told; /* the rounds of which all broadcasts are posted */

/* A rank is the root of as many broadcasts as it has posts or cells, which one of the other group
 * does not hear yet; what it posts next must wait. */
static void hear_late(unsigned me)
{
    struct team *t = team_of[me];
    static const size_t some[] = {8, TEAM_CELL};
    for (uint64_t round = 1; round <= 16; round++) {
        unsigned root = round % 4, late = (root < 2 ? 2 : 0) + round / 4 % 2;
        size_t bytes = some[round / 8 % 2];
        char *data = malloc(bytes);
        struct play p = {.t = t,
                         .me = me,
                         .n = 4,
                         .round = round,
                         .all = {round * 77 + followed_by},
                         .own = {round * 64 + me}};
        inter_coll_barrier(t);
        team_done(t, t->op);
        while (me == late && told < round)
            sleep_us(100);
        if (me == late)
            sleep_us(2000);
        for (int i = 0; i < (bytes > SLOT_ROOM ? TEAM_CELLS : TEAM_SLOTS); i++) {
            struct play as_root = {.t = t, .me = me};
            uint32_t name;
            if (!takes_part(&as_root, root, &name))
                continue;
            memset(data, me == root ? i : 99, bytes);
            EXPECT(inter_coll_bcast(t, buffer(data, BYTES, bytes), name) == COLL_OK);
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
        for (unsigned reaches_too = 0; reaches_too < 2; reaches_too++) {
            told = 0;
            make_teams(2, 2, 0, reaches_too);
            as_ranks(4, hear_late);
            free_team(4);
        }
}
END_TEST

static __thread bool naps;

static void add_slowly(const struct reducer *r, void *out, const void *a, const void *b, size_t n)
{
    (void)r;
    if (naps)
        sleep_us(3000);
    naps = false;
    add_bytes(out, a, b, n, NULL);
}

/* Long operands that are copied into blocks of memory: one call after the other. */
static void combine_slowly(unsigned me)
{
    enum { EACH = 3 * TEAM_CELL };
    struct team *t = team_of[me];
    struct reducer add = {.apply = add_slowly, .element = 1, .map = BYTES};
    char *from = malloc(EACH), *to = malloc(EACH);
    for (unsigned call = 0; call < 40; call++) {
        memset(from, (int)(call + me), EACH);
        naps = call % 2 && me == call / 2 % 4;
        EXPECT(inter_coll_allreduce(t, &add, buffer(from, BYTES, EACH), buffer(to, BYTES, EACH)) ==
               COLL_OK);
        size_t wrong = 0;
        for (size_t i = 0; i < EACH; i++)
            wrong += to[i] != (char)(2 * call + (me < 2 ? 5 : 1));
        EXPECT(!wrong, "call %u: %zu bytes are wrong", call, wrong);
    }
    free(from);
    free(to);
}

START_TEST(a_block_of_memory_is_kept_until_a_slow_rank_has_combined_it)
{
    sync_configure(true, NULL);
    make_teams(2, 2, 0, false);
    as_ranks(4, combine_slowly);
    free_team(4);
}
END_TEST

/* ---- no memory to combine in ---- */

static unsigned starving;

/* Long operands for all are left by all, or combined by all. */
static void combine_starved(unsigned me)
{
    static const size_t length[] = {8, TEAM_CELL, 5 * STREAM_CELL};
    struct team *t = team_of[me];
    struct reducer add = {
        .apply = add_slowly, .element = 1, .map = BYTES, .starved = me == starving};
    char *from = calloc(1, length[2]), *to = calloc(1, length[2]);
    for (unsigned i = 0; i < 3; i++) {
        struct buffer in = buffer(from, BYTES, length[i]), out = buffer(to, BYTES, length[i]);
        EXPECT(inter_coll_allreduce(t, &add, in, out) == (length[i] > TEAM_CELL ? COLL_LEFT
                                                          : me == starving      ? COLL_NO_MEMORY
                                                                                : COLL_OK));
        if (me == 1)
            inter_coll_pass(t);
        else
            EXPECT(inter_coll_reduce(t, &add, in, out, me ? 0 : INTER_ROOT) ==
                   (me == 0 && starving == 0 ? COLL_NO_MEMORY : COLL_OK));
    }
    inter_coll_barrier(t);
    free(from);
    free(to);
}

START_TEST(who_has_no_memory_to_combine_says_so_and_keeps_nobody_waiting)
{
    sync_configure(true, NULL);
    for (starving = 0; starving < 4; starving++)
        for (unsigned reaches_too = 0; reaches_too < 2; reaches_too++) {
            make_teams(2, 2, 0, reaches_too);
            as_ranks(4, combine_starved);
            free_team(4);
        }
}
END_TEST

static _Atomic unsigned ahead;

/* Small blocks for many are copied into a block of memory, and that is kept. */
static void scatter_ahead(unsigned me)
{
    enum { SEEN = SLOT_LAG, LIMIT = SEEN + TEAM_CELLS };
    char *data = malloc(2 * EAGER_MAX), *mine = malloc(EAGER_MAX);
    struct blocks all = {.at = data, .map = BYTES, .count = EAGER_MAX};
    for (int i = 1; i <= LIMIT + 40; i++) {
        if (me == 1 && i == SEEN + 1) {
            while (ahead < LIMIT)
                sleep_us(100);
            sleep_us(2000);
            EXPECT(ahead == LIMIT, "%u", ahead);
        }
        for (int r = 0; r < 2; r++)
            memset(data + r * EAGER_MAX, i * 7 + r + 1, EAGER_MAX);
        EXPECT(inter_coll_scatter(team_of[me], &all, buffer(mine, BYTES, EAGER_MAX),
                                  me ? 0 : INTER_ROOT) == COLL_OK);
        if (me == 0)
            ahead = (unsigned)i;
        else
            EXPECT(mine[0] == (char)(i * 7 + (int)me) && mine[EAGER_MAX - 1] == mine[0],
                   "operation %d", i);
    }
    free(data);
    free(mine);
}

START_TEST(a_root_of_many_small_blocks_runs_ahead)
{
    sync_configure(true, NULL);
    make_teams(1, 2, 0, true);
    ahead = 0;
    as_ranks(3, scatter_ahead);
    free_team(3);
}
END_TEST

/* ---- more data than room ---- */

static void take_too_little(unsigned me)
{
    static const size_t much[] = {8, 100, 5000, 20000, 100000};
    for (unsigned i = 0; i < 5; i++) {
        char *data = malloc(much[i]);
        memset(data, me ? 1 : 7, much[i]);
        struct buffer b = buffer(data, BYTES, me == 1 ? much[i] - 1 : much[i]);
        EXPECT(inter_coll_bcast(team_of[me], b, me ? 0 : INTER_ROOT) ==
               (me == 1 ? COLL_TRUNCATE : COLL_OK));
        EXPECT(data[much[i] - 2] == 7 && data[much[i] - 1] == (me == 1 ? 1 : 7));
        free(data);
    }
}

START_TEST(what_does_not_fit_is_cut_and_said)
{
    sync_configure(true, NULL);
    for (int can_access_peers = 0; can_access_peers < 2; can_access_peers++) {
        make_teams(1, 2, 0, can_access_peers);
        as_ranks(3, take_too_little);
        free_team(3);
    }
}
END_TEST

UNIT_MAIN(barrier_waits_for_the_other_group, bcast_brings_the_roots_data,
          gather_brings_all_to_the_root, scatter_brings_each_its_block,
          allgather_brings_the_others_to_all, alltoall_brings_each_to_each,
          reduce_combines_the_others_in_rank_order, allreduce_combines_the_others_in_rank_order,
          reduce_scatter_combines_shares, any_follow_any_others, numbers_may_wrap,
          who_passes_goes_far_ahead, partners_meet_in_the_same_step,
          whatever_comes_next_waits_for_a_free_post,
          a_block_of_memory_is_kept_until_a_slow_rank_has_combined_it,
          who_has_no_memory_to_combine_says_so_and_keeps_nobody_waiting,
          a_root_of_many_small_blocks_runs_ahead, what_does_not_fit_is_cut_and_said)
