/* Which way cells are filled: through the caches, or around them where that saves enough time. */
#include "core/fill.h"
#include "coll_inplace/team.h"
#include "core/config.h"
#include "tests/unit/unit.h"

#include <string.h>

static uint64_t now;

static struct fill measured(void)
{
    config.streaming_stores = 2;
    struct fill f = fill_begin();
    now = f.since;
    return f;
}

/* What a fill takes that goes the way that is its turn. */
static void take(struct fill *f, uint64_t through, uint64_t around)
{
    uint64_t ticks = f->around ? around : through;
    now += ticks;
    fill_took(f, ticks, FILL_SAMPLE, now);
}

/* Of so many, how many go around. */
static unsigned go_around(struct fill *f, unsigned fills, uint64_t through, uint64_t around)
{
    unsigned count = 0;
    for (unsigned i = 0; i < fills; i++) {
        count += f->around;
        take(f, through, around);
    }
    return count;
}

START_TEST(the_setting_decides)
{
    static char from[FILL_SAMPLE], to[FILL_SAMPLE];
    for (unsigned setting = 0; setting < 2; setting++) {
        config.streaming_stores = setting;
        struct fill f = fill_begin();
        unsigned timed = 0;
        for (unsigned i = 0; i < 1000; i++) {
            timed += fill_bytes(&f, to, from, sizeof to) > 0;
            INSIST(f.around == setting, "setting %u, fill %u", setting, i);
        }
        ck_assert_uint_eq(timed, setting ? 0 : 1000 / FILL_SELDOM); /* wide.h wants to know */
    }
}
END_TEST

START_TEST(slow_lines_are_gone_around)
{
    for (unsigned longer = 1; longer <= 4; longer *= 4) {
        struct fill f = measured();
        f.window *= longer;
        ck_assert(!f.around);
        go_around(&f, 4 * f.window, 15000, 1000);
        ck_assert_uint_gt(go_around(&f, 100000, 15000, 1000), 96000);
    }
}
END_TEST

START_TEST(a_small_gain_is_none)
{
    struct fill f = measured();
    unsigned trial = go_around(&f, 100000, 2500, 1000);
    ck_assert_uint_eq(trial, FILL_WINDOW);
}
END_TEST

START_TEST(ranks_may_move)
{
    struct fill f = measured();
    for (unsigned times = 0; times < 5; times++) {
        go_around(&f, 20000, 15000, 1000);
        ck_assert_uint_gt(go_around(&f, 10000, 15000, 1000), 9600);
        go_around(&f, 40000, 2500, 1000);
        ck_assert_uint_eq(go_around(&f, 10000, 2500, 1000), 0);
    }
}
END_TEST

START_TEST(new_pages_are_soon_forgotten)
{
    struct fill f = measured();
    for (unsigned times = 0; times < 3; times++) {
        while (!f.around)
            take(&f, 15000, 1000);
        ck_assert_uint_lt(go_around(&f, 10000, 2500, 1000), 4000);
        go_around(&f, 100000, 15000, 1000);
        go_around(&f, 100000, 2500, 1000);
    }
}
END_TEST

/* Or it would go on as it was left by longer ones. */
START_TEST(what_is_short_is_timed_too)
{
    static char from[FILL_LEAST], to[FILL_LEAST];
    struct fill f = measured();
    for (unsigned i = 0; i < FILL_WINDOW * FILL_SELDOM; i++)
        fill_bytes(&f, to, from, sizeof to);
    ck_assert_uint_gt(f.best[false], 0);
}
END_TEST

/* What comes first after a change is not typical of the way. */
START_TEST(the_first_half_of_a_window_does_not_count)
{
    struct fill f = measured();
    unsigned through = 0, turn = 0;
    for (unsigned i = 0; i < 50000; i++) {
        turn = f.around ? 0 : turn + 1;
        through += i > 4 * FILL_WINDOW && !f.around;
        take(&f, turn <= FILL_WINDOW / 2 ? 500 : 15000, 1000);
    }
    ck_assert_uint_lt(through, 350);
}
END_TEST

/* What went around lies in memory. Of each cell it must come from there once. */
START_TEST(cells_that_went_around_come_back)
{
    static const unsigned many[] = {STREAM_CELLS_LONG, STREAM_CELLS_WIDE};
    for (unsigned n = 0; n < 2; n++) {
        bool away[STREAM_CELLS_WIDE] = {false};
        struct fill f = measured();
        f.window = 2 * many[n];
        while (!f.around)
            take(&f, 15000, 1000);
        for (unsigned i = 0; i < 100000; i++) {
            bool *it = &away[i % many[n]], was_away = *it;
            *it = f.around;
            INSIST(i < 90000 || !f.around, "%u cells", many[n]);
            take(&f, was_away ? 15000 : 1500, 1000);
        }
    }
}
END_TEST

START_TEST(interruptions_do_not_count)
{
    struct fill f = measured();
    go_around(&f, 4 * FILL_WINDOW, 2500, 1000);
    for (unsigned i = 0; i < 10000; i++) {
        take(&f, i % 7 ? 2500 : 1000000, 1000);
        ck_assert(!f.around);
    }
}
END_TEST

/* The way through the caches may take a hundred times as long. */
START_TEST(trials_take_little_time)
{
    struct fill f = measured();
    uint64_t through = 0, begin = now;
    go_around(&f, 4 * FILL_WINDOW, 100000, 1000);
    for (unsigned i = 0; i < 1000000; i++) {
        uint64_t before = now;
        bool was_around = f.around;
        take(&f, 100000, 1000);
        through += was_around ? 0 : now - before;
    }
    ck_assert_uint_gt(through, 0);
    ck_assert_uint_lt(through, (now - begin) / (FILL_PATIENCE / 2));
}
END_TEST

START_TEST(all_bytes_arrive_either_way)
{
    enum { ROOM = 3 * FILL_SAMPLE };
    static char from[ROOM], to[ROOM];
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (char)(i * 7 + i / 251);
    for (unsigned setting = 0; setting < 2; setting++)
        for (size_t bytes = FILL_LEAST; bytes < 2 * FILL_SAMPLE; bytes += 97)
            for (size_t at = 1; at < 130; at += 21) {
                config.streaming_stores = setting;
                struct fill f = fill_begin();
                memset(to, 99, sizeof to);
                fill_bytes(&f, to + at, from + at / 3, bytes);
                INSIST(!memcmp(to + at, from + at / 3, bytes), "%zu bytes at %zu", bytes, at);
                INSIST(to[at - 1] == 99 && to[at + bytes] == 99, "%zu bytes at %zu", bytes, at);
            }
}
END_TEST

/* ---- what a reader sees ---- */

enum {
    CELLS = 16,
    CELL = 8192,
    WORDS = CELL / sizeof(uint64_t),
    LINE_WORDS = LINE / sizeof(uint64_t)
};

static _Alignas(LINE) uint64_t cell[CELLS][WORDS];
static struct sync_word filled, seen;
static unsigned rounds;

static size_t words_in(unsigned round)
{
    return FILL_LEAST / sizeof(uint64_t) + round % (WORDS - FILL_LEAST / sizeof(uint64_t) + 1);
}

static void *read_cells(void *unused)
{
    (void)unused;
    for (unsigned round = 1; round <= rounds; round++) {
        const uint64_t *words = cell[round % CELLS];
        size_t count = words_in(round);
        sync_await(&filled, round);
        for (size_t i = 0; i < count; i += LINE_WORDS)
            EXPECT(words[i] == round, "round %u, word %zu of %zu", round, i, count);
        EXPECT(words[count - 1] == round, "round %u, the last of %zu words", round, count);
        sync_publish(&seen, round);
    }
    return NULL;
}

/* Streaming stores are not ordered by the release that follows. */
START_TEST(who_sees_the_flag_sees_all_bytes)
{
    static uint64_t from[WORDS];
    pthread_t reader;
    config.streaming_stores = 1;
    struct fill f = fill_begin();
    rounds = effort(400000);
    pthread_create(&reader, NULL, read_cells, NULL);
    for (unsigned round = 1; round <= rounds; round++) {
        size_t count = words_in(round);
        for (size_t i = 0; i < count; i += LINE_WORDS)
            from[i] = round;
        from[count - 1] = round;
        if (round > CELLS)
            sync_await(&seen, round - CELLS);
        fill_bytes(&f, (char *)cell[round % CELLS], (char *)from, count * sizeof *from);
        sync_publish(&filled, round);
    }
    pthread_join(reader, NULL);
    no_failures();
}
END_TEST

UNIT_MAIN(the_setting_decides, slow_lines_are_gone_around, a_small_gain_is_none, ranks_may_move,
          new_pages_are_soon_forgotten, what_is_short_is_timed_too,
          the_first_half_of_a_window_does_not_count, cells_that_went_around_come_back,
          interruptions_do_not_count, trials_take_little_time, all_bytes_arrive_either_way,
          who_sees_the_flag_sees_all_bytes)
