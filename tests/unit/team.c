/* Creating and freeing teams, how far a rank may run ahead, and which rank wakes which. */
#include "tests/unit/endless.h"
#include "tests/unit/teams.h"

#include "coll_inplace/stream.h"
#include "coll_inplace/transport.h"

#include "tests/unit/taken.h"

/* A mailbox counts as one allocation. */
static void free_counted(struct mailbox *mailbox, uint32_t op)
{
    taken -= mailbox != NULL;
    mailbox_free(mailbox, op);
}

static _Atomic uint64_t speed_of_time =
    10; /* a rank waits 1 ms instead of 10 for its readers; 0: for ever */
#define mailbox_create() counted(mailbox_create())
#define mailbox_free     free_counted
#define sync_now_ns()    (speed_of_time * sync_now_ns())
#include "coll_inplace/team.c"
#undef mailbox_create
#undef mailbox_free
#undef sync_now_ns

/* ---- ranks that are ahead ---- */

static unsigned seen_at_first; /* operations of the slow rank before it pauses */
static size_t bytes;
static _Atomic unsigned ahead; /* operations that rank 0 has done */
static bool gathers;

static void fill(char *data, unsigned operation)
{
    memset(data, (int)(operation * 7 + 1), bytes);
}

static void be_fast(struct team *t, unsigned operations)
{
    char data[TEAM_CELL];
    for (unsigned i = 1; i <= operations; i++) {
        fill(data, i);
        if (gathers)
            coll_gather(t, buffer(data, BYTES, bytes), NULL, 1, false);
        else
            coll_bcast(t, buffer(data, BYTES, bytes), 0);
        if (t->rank == 0)
            atomic_store(&ahead, i);
    }
}

static void be_slow(struct team *t, unsigned first, unsigned last)
{
    char got[3 * TEAM_CELL], wanted[TEAM_CELL];
    for (unsigned i = first; i <= last; i++) {
        struct blocks all = {.at = got, .map = BYTES, .count = bytes};
        if (gathers)
            coll_gather(t, buffer(NULL, BYTES, 0), &all, 1, true);
        else
            coll_bcast(t, buffer(got, BYTES, bytes), 0);
        fill(wanted, i);
        EXPECT(memcmp(got, wanted, bytes) == 0, "operation %u", i);
    }
}

/* After how many operations a slot or cell, or a part of one, is used again. */
static unsigned used_again_after(void)
{
    return bytes <= SLOT_ROOM  ? TEAM_SLOTS
           : bytes <= CELL_FEW ? CELL_PARTS * TEAM_CELLS
                               : TEAM_CELLS;
}

/* Rank 0 sends, rank 1 pauses, rank 2 follows rank 0. */
static void run_ahead(unsigned me)
{
    unsigned lag = bytes > SLOT_ROOM ? CELL_LAG : SLOT_LAG;
    /* So many if rank 0 has needed another ring before rank 1 had begun. */
    unsigned least = TEAM_RINGS * used_again_after();
    unsigned limit = seen_at_first / lag * lag + least;
    unsigned all = limit + 2 * TEAM_SLOTS;
    if (me == 1) {
        be_slow(team_of[1], 1, seen_at_first);
        while (ahead < least)
            sleep_us(100);
        sleep_us(2000);
        EXPECT(ahead >= least && ahead <= limit, "%u", ahead);
        EXPECT(ahead >= seen_at_first + 12);
        be_slow(team_of[1], seen_at_first + 1, all);
    } else if (me == 0 || gathers) {
        be_fast(team_of[me], all);
    } else {
        be_slow(team_of[me], 1, all);
    }
}

static void ahead_by(bool gather, size_t each)
{
    gathers = gather;
    bytes = each;
    sync_configure(true, NULL);
    for (seen_at_first = 0; seen_at_first < 9; seen_at_first += 2) {
        make_team(3);
        ahead = 0;
        as_ranks(3, run_ahead);
        free_team(3);
    }
}

START_TEST(a_root_runs_ahead_until_it_would_overwrite)
{
    ahead_by(false, 8);
    ahead_by(false, CELL_FEW);
    ahead_by(false, CELL_FEW + 1);
    ahead_by(false, TEAM_CELL);
}
END_TEST

START_TEST(a_leaf_runs_ahead_until_it_would_overwrite)
{
    ahead_by(true, 8);
    ahead_by(true, CELL_FEW);
    ahead_by(true, TEAM_CELL);
}
END_TEST

/* Rank 0 waits for its reader when it needs a second ring. Then time stops. */
static void fill_all_rings(unsigned me)
{
    enum { ALL = TEAM_RINGS * TEAM_SLOTS, FIRST = 2 * TEAM_SLOTS - 1 };
    char data = 0;
    if (me == 1) {
        for (unsigned tries = 0; tries < 20000 && ahead < ALL; tries++)
            sleep_us(1000);
        EXPECT(ahead >= ALL, "%u", ahead);
        speed_of_time = 10;
    }
    for (unsigned i = 1; i <= ALL; i++) {
        coll_bcast(team_of[me], buffer(&data, BYTES, 1), 0);
        if (me == 0) {
            if (i == FIRST)
                speed_of_time = 0;
            ahead = i;
        }
    }
}

START_TEST(a_rank_far_ahead_waits_once)
{
    sync_configure(true, NULL);
    make_team(2);
    ahead = 0;
    as_ranks(2, fill_all_rings);
    free_team(2);
}
END_TEST

/* Data of all sizes in turn, with ranks that pause. */
static void mix_sizes(unsigned me)
{
    static const size_t sizes[] = {8, 200, 4000, CELL_FEW, 5000, TEAM_CELL, 3 * PIECE / 2};
    struct team *t = team_of[me];
    struct chance same = {seen_at_first}, own = {me + 10 * seen_at_first};
    char *data = malloc(3 * PIECE), *all = malloc(3 * 3 * PIECE);
    uint32_t root = 0;
    unsigned kinds = 1;
    for (unsigned i = 0; i < 1500; i++) {
        if (below(&same, 60) == 0) {
            root = below(&same, 3);
            kinds = below(&same, 4) ? 4 : 7; /* mostly without data that need whole cells */
        }
        size_t some = sizes[below(&same, kinds)];
        if (below(&own, 200) == 0)
            sleep_us(1000);
        memset(data, t->rank == root ? (int)i : 0, some);
        if (below(&same, 3)) {
            coll_bcast(t, buffer(data, BYTES, some), root);
            EXPECT(data[0] == (char)i && !memcmp(data, data + 1, some - 1), "operation %u", i);
        } else {
            struct blocks blocks = {.at = all, .map = BYTES, .count = some};
            memset(data, (int)(i + t->rank), some);
            coll_gather(t, buffer(data, BYTES, some), &blocks, root, false);
            for (unsigned r = 0; r < 3 && t->rank == root; r++)
                EXPECT(all[r * some] == (char)(i + r) &&
                           !memcmp(all + r * some, all + r * some + 1, some - 1),
                       "operation %u, rank %u", i, r);
        }
    }
    free(data);
    free(all);
}

/* Ranks are late in turns, so that the others use several rings, and use each again. A rank reads
 * from another one only now and then, and meanwhile that one may have used the ring again in which
 * the rank has read last. */
static unsigned ranks, turns;

static void use_rings(unsigned me)
{
    static const size_t sizes[] = {8, 8, 8, 8, 100, 200, 2000, 5000};
    struct team *t = team_of[me];
    struct chance same = {seen_at_first};
    char data[5000], *all = malloc(ranks * 5000);
    unsigned operation = 0;
    for (unsigned turn = 0; turn < turns; turn++) {
        uint32_t root = below(&same, ranks), late = below(&same, ranks + 3);
        bool gather = below(&same, 3) == 0, small = below(&same, 2);
        unsigned end = operation + below(&same, 900);
        if (late == me)
            sleep_us(10000);
        for (; operation < end; operation++) {
            size_t some = sizes[below(&same, small ? 4 : 8)];
            struct blocks blocks = {.at = all, .map = BYTES, .count = some};
            memset(data, t->rank == root || gather ? (int)(operation + t->rank) : 0, some);
            if (gather)
                coll_gather(t, buffer(data, BYTES, some), &blocks, root, false);
            else
                coll_bcast(t, buffer(data, BYTES, some), root);
            for (unsigned r = 0; r < ranks && gather && t->rank == root; r++)
                EXPECT(all[r * some] == (char)(operation + r) &&
                           all[r * some + some - 1] == all[r * some],
                       "operation %u, rank %u", operation, r);
            if (!gather)
                EXPECT(data[0] == (char)(operation + root) && data[some - 1] == data[0],
                       "operation %u", operation);
        }
    }
    EXPECT(t->mine->rings > 1, "%u", t->mine->rings);
    free(all);
}

START_TEST(rings_are_used_in_turns)
{
    sync_configure(true, NULL);
    for (seen_at_first = 1; seen_at_first <= 6; seen_at_first++) {
        bool tree = seen_at_first == 6;
        ranks = tree ? TREE_FLAT + 4 : 3;
        turns = tree ? 30 : 40;
        make_team(ranks);
        if (seen_at_first % 2)
            set_numbers(ranks, (uint32_t)-5000);
        as_ranks(ranks, use_rings);
        free_team(ranks);
    }
}
END_TEST

/* Rank 0 uses its first ring, another one, and the first one again. Rank 2 has read nothing in
 * between, so for it rank 0 is still in the first ring. */
static void skip_a_ring(unsigned me)
{
    enum { GATHERS = 400, ALL = 3 * TEAM_SLOTS };
    struct team *t = team_of[me];
    uint32_t word, all[3];
    struct blocks blocks = {.at = (char *)all, .map = I32, .count = 1};
    for (unsigned i = 0; i < ALL; i++) {
        bool gather = i > 10 && i < GATHERS;
        if ((me == 1 && i == 20) || (me == 2 && i == GATHERS))
            sleep_us(20000);
        for (unsigned r = 1; r < 3 && me == 0 && i == GATHERS; r++)
            sync_wait_until(&t->mailbox[r]->done, GATHERS - 2 * SLOT_LAG);
        word = me && !gather ? 0 : i;
        if (gather)
            coll_gather(t, buffer(&word, I32, 1), &blocks, 1, false);
        else
            coll_bcast(t, buffer(&word, I32, 1), 0);
        EXPECT(word == i, "operation %u: %u", i, word);
    }
    EXPECT(me || t->mine->rings == 2, "%u", t->mine->rings);
}

START_TEST(a_rank_that_skips_a_ring_finds_the_next)
{
    sync_configure(true, NULL);
    make_team(3);
    as_ranks(3, skip_a_ring);
    free_team(3);
}
END_TEST

/* As a long broadcast does, which waits for its first operation before it waits for a piece. */
static void move_piece(struct team *t, char *data)
{
    uint32_t op = team_begin_piece(t);
    if (t->rank == 0) {
        team_publish_piece(t, op, buffer(data, BYTES, PIECE), 0, PIECE);
    } else {
        team_wait(t, 0, op);
        memcpy(data, piece_of(t->ring[0], op), PIECE);
    }
    team_end(t);
}

/* Rank 0 sends some long data, then short data until it waits. Rank 1 reads all of them late. */
static void send_short_behind_long(unsigned me)
{
    static const size_t longs[] = {PIECE, CELL_FEW + 1, TEAM_CELL};
    struct team *t = team_of[me];
    char *data = malloc(3 * PIECE);
    for (unsigned round = 0; round < 60; round++) {
        unsigned many = 1 + round % 6;
        if (me == 1)
            sleep_us(500);
        for (unsigned i = 0; i < many + 40; i++) {
            size_t some = i < many ? longs[round / 6 % 3] : CELL_FEW;
            memset(data, me ? 0 : (int)(round + i), some);
            if (some == PIECE)
                move_piece(t, data);
            else
                coll_bcast(t, buffer(data, BYTES, some), 0);
            EXPECT(data[0] == (char)(round + i) && !memcmp(data, data + 1, some - 1),
                   "round %u, operation %u", round, i);
        }
        coll_barrier(t);
    }
    free(data);
}

START_TEST(short_data_do_not_overwrite_long_data)
{
    sync_configure(true, NULL);
    make_team(3);
    as_ranks(3, send_short_behind_long);
    free_team(3);
}
END_TEST

START_TEST(data_of_all_sizes_share_the_cells)
{
    sync_configure(true, NULL);
    for (seen_at_first = 1; seen_at_first <= 12; seen_at_first++) {
        make_team(3);
        as_ranks(3, mix_sizes);
        free_team(3);
    }
}
END_TEST

/* Many small blocks are copied into a block of memory, which is kept. */
static void scatter_ahead(unsigned me)
{
    /* LEAST if the root has needed another ring before rank 1 had begun. */
    enum { SEEN = SLOT_LAG, LEAST = TEAM_RINGS * TEAM_CELLS, LIMIT = SEEN + LEAST };
    char *data = malloc(3 * EAGER_MAX), *mine = malloc(EAGER_MAX);
    struct blocks all = {.at = data, .map = BYTES, .count = EAGER_MAX};
    for (int i = 1; i <= LIMIT + 40; i++) {
        if (me == 1 && i == SEEN + 1) {
            while (ahead < LEAST)
                sleep_us(100);
            sleep_us(2000);
            EXPECT(ahead >= LEAST && ahead <= LIMIT, "%u", ahead);
        }
        for (int r = 0; r < 3; r++)
            memset(data + r * EAGER_MAX, i * 7 + r, EAGER_MAX);
        coll_scatter(team_of[me], &all, buffer(mine, BYTES, EAGER_MAX), 0, false, true);
        EXPECT(mine[0] == (char)(i * 7 + (int)me) && mine[EAGER_MAX - 1] == mine[0], "operation %d",
               i);
        if (me == 0)
            ahead = (unsigned)i;
    }
    free(data);
    free(mine);
}

START_TEST(a_root_of_many_small_blocks_runs_as_far_ahead)
{
    sync_configure(true, NULL);
    make_team(3);
    ahead = 0;
    as_ranks(3, scatter_ahead);
    free_team(3);
}
END_TEST

static _Atomic bool root_left;

/* A root whose data are read by reference waits for its readers. */
static void bcast_by_reference(unsigned me)
{
    size_t much = 4 * TEAM_CELL;
    char *data = me ? malloc(much) : arena_alloc(much, LINE);
    memset(data, me ? 0 : 5, much);
    if (me == 2) {
        sleep_us(3000);
        EXPECT(!root_left);
    }
    coll_bcast(team_of[me], buffer(data, BYTES, much), 0);
    EXPECT(data[much - 1] == 5);
    if (me) {
        free(data);
    } else {
        root_left = true;
        memset(data, 6, much);
        arena_free(data);
    }
}

START_TEST(a_root_waits_for_readers_by_reference)
{
    sync_configure(true, NULL);
    make_team(3);
    for (int i = 0; i < 5; i++) {
        root_left = false;
        as_ranks(3, bcast_by_reference);
    }
    free_team(3);
}
END_TEST

/* ---- numbers ---- */

static void change_roles(unsigned me)
{
    struct team *t = team_of[me];
    struct chance c = {me};
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t word = me == 1 ? i : 0;
        dawdle(&c);
        coll_bcast(t, buffer(&word, I32, 1), 1);
        EXPECT(word == i, "%u, not %u", word, i);
    }
}

static void let_rank_0_be_root(unsigned me)
{
    uint32_t word = me;
    for (int i = 0; i < SLOT_LAG; i++)
        coll_bcast(team_of[me], buffer(&word, I32, 1), 0);
}

/* As if rank 0 had been the root of this many broadcasts. */
static void pass(unsigned size, uint32_t operations)
{
    for (unsigned r = 0; r < size; r++) {
        team_of[r]->op += operations;
        team_done(team_of[r], team_of[r]->op);
    }
    as_ranks(size, let_rank_0_be_root);
}

/* Numbers wrap in minutes. A slot that was last written long ago must not look new, and a rank that
 * has sent nothing for long must not take the others to be far ahead. */
START_TEST(a_slot_of_long_ago_does_not_look_new)
{
    sync_configure(true, NULL);
    for (unsigned eighths = 1; eighths < 12; eighths++) {
        make_team(3);
        pass(3, TEAM_SLOTS);
        for (unsigned i = 0; i < eighths; i++)
            pass(3, UINT32_C(1) << 29);
        as_ranks(3, change_roles);
        free_team(3);
    }
}
END_TEST

/* ---- streams ---- */

static size_t stream_bytes[2];
static bool in_place;
static char *area[2];

static void exchange(unsigned me)
{
    struct team *t = team_of[me];
    struct chance c = {me};
    uint32_t start = team_stream_start(t), start_there = team_stream_start(team_of[!me]);
    char *got = in_place ? area[me] : calloc(1, stream_bytes[!me] + 1);
    all_here();
    dawdle(&c);
    struct stream out = stream_out(t, buffer(area[me], BYTES, stream_bytes[me]), start);
    struct stream in =
        stream_in(t, !me, buffer(got, BYTES, stream_bytes[!me]), stream_bytes[!me], start_there);
    EXPECT(stream_run(&out, &in, in_place) == COLL_OK);
    for (size_t i = 0; i < stream_bytes[!me]; i += 61)
        EXPECT(got[i] == (char)(i / 61 + !me), "byte %zu of %zu", i, stream_bytes[!me]);
    if (!in_place)
        free(got);
}

static void run_both_ways(uint32_t cells, unsigned step)
{
    unsigned most = cells + 5;
    make_team(2);
    set_numbers(2, UINT32_MAX - 50);
    for (unsigned round = 0; round < 4 * most; round += step) {
        size_t pieces = round % most, other = round / 2 % most;
        in_place = round & 1;
        stream_bytes[0] = pieces * STREAM_CELL + round % 3 - (pieces && round % 5 == 0);
        stream_bytes[1] = in_place ? stream_bytes[0] : other * STREAM_CELL + round % 7;
        for (unsigned r = 0; r < 2; r++) {
            area[r] = calloc(1, stream_bytes[r] + 1);
            for (size_t i = 0; i < stream_bytes[r]; i += 61)
                area[r][i] = (char)(i / 61 + r);
        }
        as_ranks(2, exchange);
        free(area[0]);
        free(area[1]);
    }
    for (unsigned r = 0; r < 2; r++)
        ck_assert_uint_eq(team_of[r]->mine->stream_cells, cells);
    free_team(2);
}

START_TEST(streams_of_any_length_run_in_both_directions)
{
    sync_configure(true, NULL);
    run_both_ways(STREAM_CELLS_LONG, 1);
}
END_TEST

/* In place, a piece is received only after one was sent. The test plays rank 1: it produces pieces
 * and does not consume any. */
static void exchange_in_place(unsigned me)
{
    enum { PIECES = STREAM_CELLS + 1, BYTES_IN_ALL = PIECES * STREAM_CELL };
    struct mailbox *theirs = team_of[!me]->mine, *ours = team_of[me]->mine;
    if (me == 0) {
        char *data = malloc(BYTES_IN_ALL);
        for (int i = 0; i < PIECES; i++)
            memset(data + i * STREAM_CELL, i, STREAM_CELL);
        struct buffer b = buffer(data, BYTES, BYTES_IN_ALL);
        struct stream out = stream_out(team_of[0], b, 0),
                      in = stream_in(team_of[0], 1, b, BYTES_IN_ALL, 0);
        EXPECT(stream_run(&out, &in, true) == COLL_OK);
        for (int i = 0; i < PIECES; i++)
            EXPECT(data[i * STREAM_CELL] == 100 + i, "piece %d: %d", i, data[i * STREAM_CELL]);
        free(data);
        return;
    }
    for (uint32_t i = 0; i < PIECES; i++) {
        sync_wait_until(&ours->consumed, i < STREAM_CELLS ? 0 : STREAM_CELLS);
        memset(stream_cell(ours, i), 100 + (int)i, STREAM_CELL);
        sync_publish_ordered(&ours->produced, i + 1);
    }
    sleep_us(20000);
    EXPECT(sync_load(&ours->consumed) == STREAM_CELLS);
    for (uint32_t i = 0; i < PIECES; i++) {
        sync_wait_until(&theirs->produced, i + 1);
        EXPECT(stream_cell(theirs, i)[7] == (char)i, "piece %u: %d", i, stream_cell(theirs, i)[7]);
        sync_publish_ordered(&theirs->consumed, i + 1);
    }
    sync_wait_until(&ours->consumed, PIECES);
}

START_TEST(in_place_a_piece_is_received_where_one_was_sent)
{
    sync_configure(true, NULL);
    make_team(2);
    as_ranks(2, exchange_in_place);
    free_team(2);
}
END_TEST

/* An error of the program: one rank sends more than the other one. */
static void exchange_unequal(unsigned me)
{
    static const size_t length[] = {STREAM_CELL, 3 * STREAM_CELL};
    struct team *t = team_of[me];
    char *data = calloc(1, length[me]);
    struct buffer b = buffer(data, BYTES, length[me]);
    struct stream out = stream_out(t, b, 0), in = stream_in(t, !me, b, length[!me], 0);
    EXPECT(stream_run(&out, &in, true) == (me ? COLL_OK : COLL_TRUNCATE));
    free(data);
}

START_TEST(in_place_excess_data_are_truncated_and_reported)
{
    sync_configure(true, NULL);
    make_team(2);
    as_ranks(2, exchange_unequal);
    free_team(2);
}
END_TEST

/* ---- sleeping and waking ---- */

static void be_late(unsigned me)
{
    struct team *t = team_of[me];
    uint32_t word = 3;
    for (unsigned i = 0; i < 20; i++) {
        if (me == 0) {
            await_sleeper(&slot_of(t->own_ring, t->op + 1)->op);
            coll_bcast(t, buffer(&word, I32, 1), 0);
        } else {
            coll_bcast(t, buffer(&word, I32, 1), 0);
            EXPECT(word == 3);
        }
    }
}

static void wait_for_room(unsigned me)
{
    struct team *t = team_of[me];
    uint32_t word = 3;
    for (unsigned i = 0; i < 3 * TEAM_SLOTS; i++) {
        if (me == 1 && i == 0)
            await_sleeper(&t->mine->done);
        coll_bcast(t, buffer(&word, I32, 1), 0);
    }
}

START_TEST(a_late_rank_wakes_a_sleeping_one)
{
    sync_configure(true, NULL);
    speed_of_time = 0;
    for (int i = 0; i < 5; i++) {
        make_team(2);
        endless = true;
        as_ranks(2, be_late);
        free_team(2);
        make_team(2);
        as_ranks(2, wait_for_room);
        endless = false;
        free_team(2);
    }
    speed_of_time = 50;
}
END_TEST

/* The root sends its first stream to rank 1, which is late. */
static void wait_for_stream(unsigned me)
{
    enum { MUCH = 300000 };
    char *data = malloc(3 * MUCH);
    memset(data, 4, 3 * MUCH);
    if (me == 1) {
        all_here();
        sleep_us(50000);
    } else {
        all_here();
    }
    coll_scatter(team_of[me], &(struct blocks){.at = data, .map = BYTES, .count = MUCH},
                 buffer(data, BYTES, MUCH), 0, me == 0, true);
    free(data);
}

START_TEST(a_rank_that_waits_for_a_stream_sleeps)
{
    sync_configure(true, NULL);
    make_team(3);
    futex_waits = 0;
    as_ranks(3, wait_for_stream);
    ck_assert_uint_lt(futex_waits, 2000);
    free_team(3);
}
END_TEST

/* ---- creating and freeing ---- */

/* The module keeps a struct team_common. */
static int taken_with_spare(void)
{
    make_team(2);
    free_team(2);
    return taken;
}

static void leave_late(unsigned me)
{
    struct chance c = {me};
    struct team *t = team_of[me];
    uint32_t word = 9;
    for (unsigned i = 0; i < 10; i++)
        coll_bcast(t, buffer(&word, I32, 1), 0); /* rank 0 has left before others read */
    sleep_us(below(&c, 2000) * me);
    team_leave(t);
}

START_TEST(all_is_freed_when_the_last_has_left)
{
    open_heap();
    sync_configure(true, NULL);
    int before = taken_with_spare();
    for (int i = 0; i < 200; i++) {
        unsigned size = 2 + (unsigned)i % 3;
        make_team(size);
        ck_assert_int_eq(taken, before + (int)size);
        if (i % 10 == 0)
            as_ranks(size, leave_late);
        else
            for (unsigned r = 0; r < size; r++)
                team_leave(team_of[i % 2 ? r : size - 1 - r]);
        reap_all();
        ck_assert_int_eq(taken, before);
    }
}
END_TEST

enum { MANY_TEAMS = 20 };
static struct team *many_teams[MANY_TEAMS][2];

static void make_many_teams(void)
{
    for (int i = 0; i < MANY_TEAMS; i++) {
        make_team(2);
        memcpy(many_teams[i], team_of, sizeof many_teams[i]);
    }
}

static void leave_many_teams(void)
{
    for (int i = 0; i < MANY_TEAMS; i++) {
        team_leave(many_teams[i][0]);
        team_leave(many_teams[i][1]);
    }
    reap_all();
}

/* Programs that free many communicators at once get the same memory again. */
START_TEST(what_small_teams_share_is_kept)
{
    sync_configure(true, NULL);
    make_many_teams();
    int before = taken;
    leave_many_teams();
    ck_assert_int_eq(taken, before - 2 * MANY_TEAMS); /* the mailboxes */
    make_many_teams();
    ck_assert_int_eq(taken, before);
    leave_many_teams();
}
END_TEST

/* A mailbox that a slow rank will still read is not used again. */
START_TEST(nothing_is_freed_before_the_last_has_left)
{
    uint32_t word = 17, got = 0;
    sync_configure(true, NULL);
    make_team(2);
    coll_bcast(team_of[0], buffer(&word, I32, 1), 0);
    struct mailbox *mailbox = team_of[0]->mine;
    team_leave(team_of[0]);
    for (int i = 0; i < 20; i++) {
        struct team_offer offer;
        struct team *other = team_prepare(2, 0, 0, &offer);
        ck_assert_uint_ne(offer.mailbox, (uint64_t)((char *)mailbox - node.base));
        team_withdraw(other, &offer);
    }
    coll_bcast(team_of[1], buffer(&got, I32, 1), 0);
    ck_assert_uint_eq(got, 17);
    team_leave(team_of[1]);
    team_reap();
}
END_TEST

START_TEST(one_rank_that_cannot_take_part_prevents_the_team)
{
    struct team_offer offers[3];
    struct team *t[3];
    open_heap();
    int before = taken_with_spare();
    for (uint32_t r = 0; r < 3; r++)
        t[r] = team_prepare(3, r, 0, &offers[r]);
    offers[1].reason = REASON_GPU;
    for (uint32_t r = 0; r < 3; r++)
        ck_assert_int_eq(team_settle(t[r], offers, 3), REASON_GPU);
    for (uint32_t r = 0; r < 3; r++)
        team_withdraw(t[r], &offers[r]);
    ck_assert_int_eq(taken, before);
}
END_TEST

/* When memory is exhausted, the teams that exist are unharmed. */
START_TEST(no_memory_is_a_reason)
{
    enum { MANY = 1000 };
    static struct team *t[MANY];
    static struct team_offer offers[MANY];
    int count = 0;
    open_heap();
    int before = taken - (int)spare_commons;
    do
        t[count] = team_prepare(2, 0, 0, &offers[count]);
    while (offers[count++].reason == REASON_NONE && count < MANY);
    ck_assert_int_lt(count, MANY);
    ck_assert_int_gt(count, 20);
    ck_assert_int_eq(offers[count - 1].reason, REASON_NO_MEMORY);
    while (count--)
        team_withdraw(t[count], &offers[count]);
    ck_assert_int_eq(taken - (int)spare_commons, before);
}
END_TEST

/* In an intercommunicator the offers are those of the other group, so a rank has to take its own
 * access into account by itself. */
START_TEST(a_rank_without_access_does_not_use_the_offers_of_others)
{
    struct team_offer offers[2];
    struct team *t[2];
    SKIP_UNLESS_PROCESS_VM_READV();
    open_heap();
    for (unsigned r = 0; r < 2; r++) {
        config.kernel_copies = r; /* 0: rank 0 may not read private memory */
        t[r] = team_prepare_between(1, 0, 1, 0, &offers[r]);
    }
    ck_assert(!offers[0].can_access_peers && offers[1].can_access_peers);
    for (unsigned r = 0; r < 2; r++)
        ck_assert_int_eq(team_settle(t[r], &offers[!r], 1), REASON_NONE);
    ck_assert(!t[0]->can_access_peers);
    ck_assert(!t[1]->can_access_peers);
    for (unsigned r = 0; r < 2; r++)
        team_leave(t[r]);
    team_reap();
}
END_TEST

/* Holds memory, as a long reduction does, and makes other calls afterwards. */
static void hold_and_go_on(unsigned me)
{
    struct team *t = team_of[me];
    uint32_t op = team_begin(t);
    EXPECT(team_hold(t, op, 100000));
    EXPECT(t->held);
    team_publish_inline(t, op, &me, sizeof me);
    for (uint32_t r = 0; r < t->size; r++)
        team_wait(t, r, op);
    team_end(t);
    EXPECT(t->held);
    for (int i = 0; i < 2; i++)
        coll_barrier(t);
    EXPECT(!t->held, "rank %u", me);
}

START_TEST(held_memory_is_freed_by_later_calls)
{
    make_team(3);
    as_ranks(3, hold_and_go_on);
    no_failures();
    free_team(3);
}
END_TEST

/* Teams that have been freed leave memory for the next ones, but not if something else needs it. */
START_TEST(a_full_control_part_is_emptied_for_other_blocks)
{
    enum { MANY = 200 };
    const size_t most = (size_t)64 << 20; /* of 72 MiB */
    static struct mailbox *mailbox[MANY];
    static struct team_common *common[MANY];
    unsigned n = 0;
    make_team(2);
    free_team(2);
    while (n < MANY && (mailbox[n] = mailbox_create()) && (common[n] = team_common_create(4)))
        n++;
    ck_assert_uint_lt(n, MANY);
    for (unsigned i = 0; i <= n; i++) {
        mailbox_free(mailbox[i], 1);
        if (common[i])
            team_common_free(common[i], 4);
    }
    char *block = arena_control_alloc_raw(most);
    ck_assert_ptr_nonnull(block);
    arena_control_free(block);
    make_team(2);
    free_team(2);
}
END_TEST

UNIT_MAIN(held_memory_is_freed_by_later_calls, a_root_runs_ahead_until_it_would_overwrite,
          a_leaf_runs_ahead_until_it_would_overwrite, a_rank_far_ahead_waits_once,
          data_of_all_sizes_share_the_cells, rings_are_used_in_turns,
          a_rank_that_skips_a_ring_finds_the_next, short_data_do_not_overwrite_long_data,
          a_root_of_many_small_blocks_runs_as_far_ahead, a_root_waits_for_readers_by_reference,
          a_slot_of_long_ago_does_not_look_new, streams_of_any_length_run_in_both_directions,
          in_place_a_piece_is_received_where_one_was_sent,
          in_place_excess_data_are_truncated_and_reported, a_late_rank_wakes_a_sleeping_one,
          a_rank_that_waits_for_a_stream_sleeps, all_is_freed_when_the_last_has_left,
          what_small_teams_share_is_kept, a_full_control_part_is_emptied_for_other_blocks,
          nothing_is_freed_before_the_last_has_left,
          one_rank_that_cannot_take_part_prevents_the_team, no_memory_is_a_reason,
          a_rank_without_access_does_not_use_the_offers_of_others)
