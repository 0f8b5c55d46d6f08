/* Cooperative copies: all data have arrived when the receiver returns, nothing is written later,
 * and each side copies for the other one what the OS does not. */
#include "tests/unit/refused.h"
#include "tests/unit/sides.h"

#include "coll_inplace/coop_copy.h"

enum { RANKS = 4, ROOM = 900000 };

static unsigned rounds;

/* Hardly any byte of it is 0. */
static uint64_t word(uint64_t seed, size_t i)
{
    return (seed * 1000003 + i) * 0x9e3779b97f4a7c15;
}

static void fill(char *data, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i += 8)
        memcpy(data + i, &(uint64_t){word(seed, i)}, 8);
}

static bool holds(const char *data, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i += 8)
        if (memcmp(data + i, &(uint64_t){word(seed, i)}, 8) != 0)
            return false;
    return true;
}

/* Checks the received data and clears them: a later write would leave bytes other than 0. */
static void check_and_clear(char *data, size_t bytes, uint64_t seed, unsigned me, const char *what)
{
    EXPECT(holds(data, bytes, seed), "%s: rank %u, seed %ju", what, me, (uintmax_t)seed);
    memset(data, 0, bytes);
}

static void one_round(unsigned me, uint64_t round, char *mine, char *all)
{
    struct team *t = team_of[me];
    if (refuses_percent)
        t->can_access_peers = true; /* although the OS has refused before */
    struct chance c = {round * 7919}, own = {round * RANKS + me + 1};
    unsigned root = below(&c, RANKS), what = below(&c, 3);
    size_t bytes = (COOP_COPY_MIN_SHARED + below(&c, ROOM - COOP_COPY_MIN_SHARED)) & ~(size_t)7;
    struct blocks blocks = {.at = all, .map = BYTES, .count = bytes};
    struct buffer block = buffer(mine, BYTES, bytes);
    if (below(&own, 3) == 0)
        sleep_us(below(&own, 200));
    if (what == 0) {
        if (me == root)
            fill(mine, bytes, round);
        EXPECT(coll_bcast(t, block, root) == COLL_OK);
        check_and_clear(mine, bytes, round, me, "bcast");
    } else if (what == 1) {
        fill(mine, bytes, round * RANKS + me);
        EXPECT(coll_gather(t, block, &blocks, root, false) == COLL_OK);
        for (unsigned r = 0; me == root && r < RANKS; r++)
            check_and_clear(all + r * bytes, bytes, round * RANKS + r, me, "gather");
    } else {
        for (unsigned r = 0; me == root && r < RANKS; r++)
            fill(all + r * bytes, bytes, round * RANKS + r);
        EXPECT(coll_scatter(t, &blocks, block, root, false, true) == COLL_OK);
        check_and_clear(mine, bytes, round * RANKS + me, me, "scatter");
    }
    if (below(&c, 2)) /* some ranks are in the next round already */
        return;
    coll_barrier(t);
    if (what == 1 ? me == root : what == 0 || me != root)
        for (size_t i = 0; i < bytes; i++)
            if ((what == 1 ? all : mine)[i]) {
                EXPECT(false, "data were written later: rank %u, round %ju", me, (uintmax_t)round);
                break;
            }
}

static void copy_long_block(unsigned me)
{
    struct chance own = {me + 5};
    char *mine[] = {arena_alloc(ROOM, LINE), malloc(ROOM)};
    char *all[] = {arena_alloc((size_t)RANKS * ROOM, LINE), malloc((size_t)RANKS * ROOM)};
    for (uint64_t round = 1; round <= rounds; round++)
        one_round(me, round, mine[below(&own, 2)], all[below(&own, 2)]);
    coll_barrier(team_of[me]);
    arena_free(mine[0]);
    arena_free(all[0]);
    free(mine[1]);
    free(all[1]);
}

START_TEST(all_data_arrive_and_nothing_is_written_later)
{
    rounds = effort(100);
    for (unsigned oversubscribed = 0; oversubscribed < 2; oversubscribed++) {
        sync_configure(oversubscribed, NULL);
        make_team(RANKS);
        as_ranks(RANKS, copy_long_block);
        free_team(RANKS);
    }
}
END_TEST

/* Each side may have to ask the other one, while both claim chunks. */
START_TEST(data_that_the_os_does_not_copy_arrive_all_the_same)
{
    rounds = effort(40);
    atomic_store(&copies_refused, 0);
    for (refuses_percent = 20; refuses_percent <= 100; refuses_percent += 80) {
        sync_configure(refuses_percent < 100, NULL);
        make_team(RANKS);
        as_ranks(RANKS, copy_long_block);
        free_team(RANKS);
    }
    refuses_percent = 0;
    ck_assert_uint_gt(atomic_load(&copies_refused), 0);
}
END_TEST

UNIT_MAIN(all_data_arrive_and_nothing_is_written_later,
          data_that_the_os_does_not_copy_arrive_all_the_same)
