/* Teams with slow ranks: data that they have not read yet are not overwritten, and other ranks wait
 * for them where they must. */
#include "tests/unit/endless.h"
#include "tests/unit/operands.h"

static __thread unsigned naps;

static void add_slowly(void *out, const void *left, const void *right, size_t n, const char *ahead)
{
    if (naps && naps--)
        sleep_us(3000);
    add_bytes(out, left, right, n, ahead);
}

static void apply_slowly(const struct reducer *r, void *out, const void *a, const void *b, size_t n)
{
    (void)r;
    add_slowly(out, a, b, n, NULL);
}

/* Bit 2 * rank: peers can access the operand of the rank; bit 2 * rank + 1: its result. */
static unsigned reachable;

static bool is_reachable(unsigned me, unsigned which)
{
    return reachable >> (2 * me + which) & 1;
}

static void reduce_slowly(unsigned me)
{
    enum { BYTES_IN_ALL = 23 * PIECE + 5 };
    struct team *t = team_of[me];
    struct reducer add = {.kernel = me ? add_bytes : add_slowly, .element = 1, .map = BYTES};
    char *memory[2];
    for (unsigned which = 0; which < 2; which++)
        memory[which] =
            is_reachable(me, which) ? arena_alloc(BYTES_IN_ALL, LINE) : malloc(BYTES_IN_ALL);
    for (unsigned call = 0; call < 4; call++) {
        char *from = memory[0], *to = memory[1];
        for (size_t i = 0; i < BYTES_IN_ALL; i++)
            from[i] = (char)(datum_byte(i) + me + call);
        memset(to, 77, BYTES_IN_ALL);
        struct buffer in = buffer(from, BYTES, BYTES_IN_ALL), out = buffer(to, BYTES, BYTES_IN_ALL);
        naps = me ? 0 : 2;
        EXPECT((call < 2    ? coll_reduce(t, &add, in, out, call)
                : call == 2 ? coll_allreduce(t, &add, in, out)
                            : coll_scan(t, &add, in, out, false)) == COLL_OK);
        size_t wrong = 0;
        unsigned n = call == 3 ? me + 1 : t->size;
        for (size_t i = 0; i < BYTES_IN_ALL && (call >= 2 || call == me); i++)
            wrong += to[i] != (char)(n * (datum_byte(i) + call) + n * (n - 1) / 2);
        EXPECT(!wrong, "call %u: %zu bytes are wrong; reachable %x", call, wrong, reachable);
    }
    coll_barrier(t);
    for (unsigned which = 0; which < 2; which++)
        if (is_reachable(me, which))
            arena_free(memory[which]);
        else
            free(memory[which]);
}

START_TEST(nothing_is_overwritten_before_a_slow_rank_has_combined_it)
{
    sync_configure(true, NULL);
    for (reachable = 0; reachable < 16; reachable++) {
        make_team(2);
        for (unsigned r = 0; r < 2; r++)
            team_of[r]->policy = 0;
        as_ranks(2, reduce_slowly);
        free_team(2);
    }
}
END_TEST

static const struct typemap *spaced_bytes(void)
{
    static struct typemap *map;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (!map) {
        map = typemap_derived();
        typemap_append(map, BYTES, 1, 1);
        typemap_end(map, 3);
    }
    pthread_mutex_unlock(&mutex);
    return map;
}

/* One rank receives into a buffer that it fills byte by byte. */
static void gather_slowly(unsigned me)
{
    enum { LONG_PART = 40 * PIECE };
    static const size_t parts[2][2] = {{LONG_PART, 8}, {8, LONG_PART}};
    struct team *t = team_of[me];
    for (unsigned sender = 0; sender < 2; sender++) {
        struct side *all = new_side();
        struct chance none = {0};
        struct play p = {.t = t, .me = me, .n = 2, .round = sender + 1};
        char *mine = datum(&p, me, 0, parts[sender][me]);
        lay_out_elements(all, &none, 2, me == sender ? BYTES : spaced_bytes(), parts[sender],
                         false);
        reserve(all, false);
        for (unsigned r = 0; r < 2; r++)
            expect(all, r, datum(&p, r, 0, parts[sender][r]));
        EXPECT(coll_allgather(t, buffer(mine, BYTES, parts[sender][me]), &all->blocks, false) ==
               COLL_OK);
        finish(&p, all, "allgather");
        free(mine);
    }
}

START_TEST(a_long_part_waits_for_a_slow_reader)
{
    sync_configure(true, NULL);
    make_team(2);
    team_of[0]->policy = team_of[1]->policy = 0;
    as_ranks(2, gather_slowly);
    free_team(2);
}
END_TEST

/* A user-defined operation, whose operands are copied into blocks of memory: many calls in a row.
 */
static void combine_slowly(unsigned me)
{
    enum { EACH = 3 * TEAM_CELL };
    struct team *t = team_of[me];
    struct reducer add = {.apply = apply_slowly, .element = 1, .map = BYTES};
    unsigned first = is_inter() ? first_of(!group_of(me)) : 0, n = group_size[0] + group_size[1];
    char *from = malloc(EACH), *to = malloc(EACH);
    for (unsigned call = 0; call < 40; call++) {
        char sum = 0;
        for (unsigned r = first; r < first + t->size; r++)
            sum += (char)(call + r);
        struct buffer in = buffer(from, BYTES, EACH), out = buffer(to, BYTES, EACH);
        bool for_all = is_inter() || call % 8 < 4;
        memset(from, (int)(call + me), EACH);
        naps = call % 2 && me == call / 2 % n;
        add.divides = call % 4 < 2;
        EXPECT((for_all ? coll_allreduce(t, &add, in, out) : coll_reduce(t, &add, in, out, 0)) ==
               COLL_OK);
        size_t wrong = 0;
        for (size_t i = 0; i < EACH && (for_all || me == 0); i++)
            wrong += to[i] != sum;
        EXPECT(!wrong, "call %u: %zu bytes are wrong", call, wrong);
    }
    free(from);
    free(to);
}

static void combine_shares_slowly(unsigned me)
{
    enum { EACH = 3 * TEAM_CELL };
    struct team *t = team_of[me];
    struct reducer add = {.apply = apply_slowly, .element = 1, .map = BYTES};
    struct blocks shares = {.map = BYTES, .count = EACH};
    char *from = malloc(t->size * EACH), *to = malloc(EACH);
    for (unsigned call = 0; call < 40; call++) {
        char sum = 0;
        for (unsigned r = 0; r < t->size; r++)
            sum += (char)(call + r + me);
        for (unsigned r = 0; r < t->size; r++)
            memset(from + r * EACH, (int)(call + me + r), EACH);
        naps = call % 2 && me == call / 2 % t->size;
        EXPECT(coll_reduce_scatter(t, &add, buffer(from, BYTES, t->size * EACH),
                                   buffer(to, BYTES, EACH), &shares) == COLL_OK);
        size_t wrong = 0;
        for (size_t i = 0; i < EACH; i++)
            wrong += to[i] != sum;
        EXPECT(!wrong, "call %u: %zu bytes are wrong", call, wrong);
    }
    free(from);
    free(to);
}

START_TEST(a_block_of_memory_is_kept_until_a_slow_rank_has_combined_it)
{
    sync_configure(true, NULL);
    make_team(3);
    as_ranks(3, combine_slowly);
    as_ranks(3, combine_shares_slowly);
    free_team(3);
    make_groups(2, 2, false);
    as_ranks(4, combine_slowly);
    free_team(4);
}
END_TEST

UNIT_MAIN(nothing_is_overwritten_before_a_slow_rank_has_combined_it,
          a_long_part_waits_for_a_slow_reader,
          a_block_of_memory_is_kept_until_a_slow_rank_has_combined_it)
