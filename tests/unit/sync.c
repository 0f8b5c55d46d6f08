/* Waiting and waking. */
#include "tests/unit/endless.h"

/* ---- counts that wrap ---- */

START_TEST(counts_may_wrap)
{
    static const uint32_t near[] = {0,         1, 5, 1000, 0x7ffffff0, 0x80000000, UINT32_MAX - 5,
                                    UINT32_MAX};
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        for (uint32_t ahead = 0; ahead < 20; ahead++) {
            ck_assert(sync_reached(near[i] + ahead, near[i]));
            ck_assert(ahead == 0 || !sync_reached(near[i], near[i] + ahead));
        }
    ck_assert(sync_reached(0x7fffffff, 0));
    ck_assert(!sync_reached(0, 0x7fffffff));
}
END_TEST

/* ---- wake-ups ---- */

static struct sync_word turn;
static unsigned rounds;
static bool sleep_at_once; /* waiters skip spinning and yielding */

static void await(struct sync_word *word, uint32_t goal)
{
    struct sync_wait wait = {.rounds =
                                 sleep_at_once ? SPIN_OVERSUBSCRIBED + YIELD_OVERSUBSCRIBED : 0};
    uint32_t seen;
    while (!sync_reached(seen = sync_load(word), goal))
        sync_wait(&wait, word, seen);
}

/* Each rank increments in turn, often just when the next rank is falling asleep. */
static void take_turns(unsigned me)
{
    struct chance chance = {me};
    for (uint32_t round = 0; round < rounds; round++) {
        await(&turn, round * unit_ranks.size + me);
        if (!below(&chance, 4))
            spin_ns(below(&chance, 100000));
        sync_publish_ordered(&turn, round * unit_ranks.size + me + 1);
    }
}

static void begin(bool oversubscribed, void (*host_progress)(void))
{
    endless = sleep_at_once = false;
    sync_configure(oversubscribed, host_progress);
}

START_TEST(a_wake_up_is_never_lost)
{
    begin(true, NULL);
    endless = sleep_at_once = true;
    for (unsigned size = 2; size <= 4; size++) {
        turn = (struct sync_word){0};
        futex_waits = 0;
        rounds = effort(600);
        as_ranks(size, take_turns);
        ck_assert_uint_eq(turn.value, rounds * size);
        ck_assert_uint_eq(turn.sleepers, 0);
        ck_assert_uint_gt(futex_waits, 0);
    }
}
END_TEST

/* The word has changed after the waiter read it. The case hangs if the waiter sleeps. */
START_TEST(a_waiter_that_has_read_an_old_value_does_not_sleep)
{
    struct sync_wait wait = {.rounds = SPIN_OVERSUBSCRIBED + YIELD_OVERSUBSCRIBED};
    begin(true, NULL);
    endless = true;
    turn = (struct sync_word){.value = 2};
    sync_wait(&wait, &turn, 1);
    endless = false;
}
END_TEST

START_TEST(nobody_sleeps_with_enough_processors)
{
    begin(false, NULL);
    turn = (struct sync_word){0};
    futex_waits = futex_wakes = 0;
    rounds = effort(200);
    as_ranks(2, take_turns);
    ck_assert_uint_eq(futex_waits, 0);
    ck_assert_uint_eq(futex_wakes, 0);
}
END_TEST

START_TEST(a_killed_waiter_blocks_nobody)
{
    begin(true, NULL);
    turn = (struct sync_word){.sleepers = 3};
    rounds = effort(200);
    as_ranks(2, take_turns);
    ck_assert_uint_eq(turn.value, rounds * 2);
    ck_assert_uint_eq(turn.sleepers, 3);
}
END_TEST

static uint64_t yields_of_a_short_wait(void)
{
    struct sync_word never = {0};
    struct sync_wait wait = SYNC_WAIT;
    time_waited[WAITED_YIELDING] = 0;
    for (int i = 0; i < SPIN / 2; i++)
        sync_wait(&wait, &never, 0);
    return time_waited[WAITED_YIELDING];
}

static void wait_with_yields_of(uint64_t ns)
{
    struct sync_word never = {0};
    struct sync_wait wait = {.rounds = SPIN};
    yield_takes_ns = ns;
    for (int i = 0; i < 20; i++)
        sync_wait(&wait, &never, 0);
    yield_takes_ns = 0;
}

START_TEST(waits_yield_sooner_next_to_a_job_that_waits)
{
    begin(false, NULL);
    shared_until = 0;
    ck_assert_uint_eq(yields_of_a_short_wait(), 0);
    wait_with_yields_of(2000000); /* next to a thread that computes */
    ck_assert_uint_eq(yields_of_a_short_wait(), 0);
    for (int i = 0; i < 1000 && shared_until <= sync_ticks(); i++)
        wait_with_yields_of(20000); /* longer if this thread is preempted */
    ck_assert_uint_gt(shared_until, sync_ticks());
    shared_until = UINT64_MAX;
    ck_assert_uint_gt(yields_of_a_short_wait(), 0);
    shared_until = 0;
}
END_TEST

/* A wait that yields next to another job, and spins again. */
START_TEST(yields_are_not_counted_as_polling_too)
{
    struct sync_word never = {0};
    struct sync_wait wait = SYNC_WAIT;
    begin(false, NULL);
    yield_takes_ns = 1000000;
    uint64_t start = sync_ticks(), before = sync_waited_ticks();
    for (int i = 0; i < 4 * ROUNDS_PER_PROGRESS; i++) {
        shared_until = i == 3 * ROUNDS_PER_PROGRESS / 2 ? UINT64_MAX : 0;
        sync_wait(&wait, &never, 0);
    }
    uint64_t waited = sync_waited_ticks() - before;
    ck_assert_uint_le(waited, sync_ticks() - start);
    ck_assert_uint_gt(waited, 0);
    shared_until = yield_takes_ns = 0;
}
END_TEST

/* ---- progress of the host ---- */

static _Atomic unsigned progress_calls;

static void count_progress(void)
{
    progress_calls++;
}

/* A machine that was suspended may start its clock again from 0. */
START_TEST(progress_is_due_if_the_clock_has_gone_back)
{
    struct sync_due due = {.next = sync_ticks() + (UINT64_C(1) << 50)};
    begin(false, count_progress);
    progress_calls = 0;
    sync_progress_if_due(&due);
    ck_assert_uint_ge(progress_calls, STEPS_AT_ONCE); /* more if this thread was preempted */
    progress_calls = 0;
    for (unsigned i = 0; i < 100; i++) {
        due.next = sync_ticks() + TICKS_PER_PROGRESS_MAX;
        sync_progress_if_due(&due);
    }
    ck_assert_uint_lt(progress_calls, 50); /* each time only if this thread was preempted */
}
END_TEST

/* Progress that was due `late` ticks ago: the number of steps. A step in which this thread was
 * preempted looks as if it had moved data, so a caller may have to try again. */
static unsigned steps_if_late(struct sync_due *due, uint64_t late)
{
    progress_calls = 0;
    due->next = sync_ticks() - late;
    sync_progress_if_due(due);
    return progress_calls;
}

enum { TRIES = 50 };

START_TEST(more_progress_is_due_after_a_long_time)
{
    struct sync_due due = {0};
    begin(false, count_progress);
    for (unsigned steps = 1; steps < STEPS_AT_ONCE; steps++) {
        unsigned made = 0;
        for (unsigned i = 0; i < TRIES && !(made >= steps && made <= STEPS_AT_ONCE); i++)
            made = steps_if_late(&due, (steps - 1) * (uint64_t)TICKS_PER_PROGRESS_MAX);
        ck_assert_uint_ge(made, steps);
        ck_assert_uint_le(made, STEPS_AT_ONCE);
    }
}
END_TEST

static _Atomic unsigned moving_steps; /* so many steps move data */

static void move_data(void)
{
    uint64_t start = sync_ticks();
    if (progress_calls++ < moving_steps)
        while (sync_ticks() - start < 4 * TICKS_OF_MOVING_STEP) {
        }
}

START_TEST(progress_goes_on_while_it_moves_data)
{
    const uint64_t late = MOVING_SHARE * MOVING_TICKS_MAX;
    struct sync_due due = {0};
    begin(false, move_data);
    moving_steps = 0;
    steps_if_late(&due, late); /* learn how long a step takes that moves nothing */
    moving_steps = 2 * STEPS_AT_ONCE;
    unsigned made = 0;
    for (unsigned i = 0; i < TRIES && made <= moving_steps; i++)
        made = steps_if_late(&due, late);
    ck_assert_uint_gt(made, moving_steps);
    ck_assert(due.moves_data);
    moving_steps = 0;
    for (unsigned i = 0; i < TRIES && due.moves_data; i++)
        steps_if_late(&due, late);
    ck_assert(!due.moves_data);
}
END_TEST

START_TEST(a_first_step_with_cold_caches_moves_nothing)
{
    const uint64_t late = MOVING_SHARE * MOVING_TICKS_MAX;
    struct sync_due due = {0};
    begin(false, move_data);
    moving_steps = 0;
    steps_if_late(&due, late);
    moving_steps = 1;
    unsigned made = 0;
    for (unsigned i = 0; i < TRIES && made != STEPS_AT_ONCE; i++)
        made = steps_if_late(&due, late);
    ck_assert_uint_eq(made, STEPS_AT_ONCE);
    ck_assert(!due.moves_data);
}
END_TEST

START_TEST(progress_that_moves_data_has_a_share_of_the_time)
{
    const uint64_t ticks = 4 * TICKS_OF_MOVING_STEP;
    const unsigned most = MOVING_TICKS_MAX / ticks;
    struct sync_due due = {0};
    begin(false, move_data);
    moving_steps = 0;
    steps_if_late(&due, ticks);
    moving_steps = UINT32_MAX;
    unsigned made = UINT32_MAX;
    for (unsigned i = 0; i < TRIES && made > most / 2; i++)
        made = steps_if_late(&due, MOVING_SHARE * ticks * most / 2);
    ck_assert_uint_gt(made, 0);
    ck_assert_uint_le(made, most / 2);
    ck_assert_uint_le(steps_if_late(&due, UINT64_C(1) << 50), most);
}
END_TEST

/* Returns whether it has yielded. */
static bool yields_after(struct sync_seen *last, const void *at, uint64_t value)
{
    uint64_t before = sync_waited_ticks();
    sync_yield_if_same(last, at, value);
    return sync_waited_ticks() != before;
}

START_TEST(a_program_that_finds_the_same_again_yields)
{
    int place[2];
    struct sync_seen last = {0};
    begin(true, NULL);
    ck_assert(!yields_after(&last, &place[0], 1));
    ck_assert(yields_after(&last, &place[0], 1));
    ck_assert(yields_after(&last, &place[0], 1));
    ck_assert(!yields_after(&last, &place[0], 2));
    ck_assert(!yields_after(&last, &place[1], 2));
    begin(false, NULL);
    ck_assert(!yields_after(&last, &place[1], 2));
}
END_TEST

static uint64_t waited_ns;

static void wait_long(unsigned me)
{
    if (me) {
        sleep_us(100 * 1000);
        for (int ms = 0; ms < 20000 && progress_calls <= 10; ms++) /* on a busy machine */
            sleep_us(1000);
        sync_publish_ordered(&turn, 1);
    } else {
        uint64_t start = sync_now_ns();
        await(&turn, 1);
        waited_ns = sync_now_ns() - start;
    }
}

/* A waiter drives the host's progress even while it sleeps and no rank wakes it. */
START_TEST(a_waiter_gives_the_host_progress)
{
    for (int oversubscribed = 0; oversubscribed < 2; oversubscribed++) {
        turn = (struct sync_word){0};
        progress_calls = 0;
        begin(oversubscribed, count_progress);
        as_ranks(2, wait_long);
        ck_assert_uint_gt(progress_calls, 10);
    }
    begin(true, NULL);
}
END_TEST

START_TEST(a_pause_gives_the_host_progress)
{
    for (int oversubscribed = 0; oversubscribed < 2; oversubscribed++) {
        struct sync_wait wait = SYNC_WAIT;
        progress_calls = 0;
        begin(oversubscribed, count_progress);
        for (int i = 0; i < 1000; i++)
            sync_pause(&wait);
        ck_assert_uint_ge(progress_calls, oversubscribed ? 900 : 1000 / ROUNDS_PER_PROGRESS);
    }
    begin(true, NULL);
}
END_TEST

START_TEST(a_long_wait_gives_the_host_more_progress)
{
    struct sync_wait wait = SYNC_WAIT;
    begin(false, count_progress);
    for (int i = 0; i < SPIN; i++)
        sync_pause(&wait);
    progress_calls = 0;
    for (int i = 0; i < 1000; i++)
        sync_pause(&wait);
    ck_assert_uint_ge(progress_calls, 1000 / YIELDS_PER_PROGRESS);
    ck_assert_int_lt(YIELDS_PER_PROGRESS, ROUNDS_PER_PROGRESS / 8);
    begin(true, NULL);
}
END_TEST

/* ---- messages of the host ---- */

static _Atomic uint32_t messages;
static struct sync_word received, mail;
static _Atomic uint32_t mail_asleep;

/* A progress step of the host. Only the receiver calls it. */
static void receive_messages(void)
{
    atomic_store(&received.value, atomic_load(&messages));
}

static void send_message(void)
{
    atomic_fetch_add(&messages, 1);
    if (atomic_load(&mail.sleepers)) {
        atomic_fetch_add(&mail.value, 1);
        sync_wake_sleepers(&mail);
    }
}

static void send_or_receive_messages(unsigned me)
{
    struct chance chance = {me};
    for (uint32_t round = 1; round <= rounds; round++) {
        if (me) {
            await(&received, round);
            continue;
        }
        if (!below(&chance, 4))
            spin_ns(below(&chance, 100000));
        send_message();
        while (sync_load(&received) != round)
            sched_yield();
    }
}

static bool linux_waits_for_two(void)
{
    struct sync_word one = {0}, two = {0}, *words[2] = {&one, &two};
    return futex_wait_for_two(words, (uint32_t[2]){1, 1}, 0);
}

/* Only the receiver's own progress step changes `received`, so only `mail` can end its sleep. */
START_TEST(a_message_of_the_host_wakes_a_waiter)
{
    begin(true, receive_messages);
    if (linux_waits_for_two()) {
        endless = sleep_at_once = true;
        messages = received.value = 0;
        futex_waits = 0;
        rounds = effort(600);
        sync_set_host_mail(&mail, &mail_asleep);
        as_ranks(2, send_or_receive_messages);
        sync_set_host_mail(NULL, NULL);
        ck_assert_uint_eq(mail.sleepers, 0);
        ck_assert_uint_eq(mail_asleep, 0);
        ck_assert_uint_eq(received.sleepers, 0);
        ck_assert_uint_gt(futex_waits, 0);
    }
}
END_TEST

/* The message is sent after the last progress step and before the sleep. */
static void receive_and_send(void)
{
    receive_messages();
    if (!messages)
        send_message();
}

START_TEST(a_message_just_after_the_poll_ends_the_sleep)
{
    begin(true, receive_and_send);
    if (linux_waits_for_two()) {
        endless = sleep_at_once = true;
        messages = received.value = 0;
        sync_set_host_mail(&mail, &mail_asleep);
        await(&received, 1);
        sync_set_host_mail(NULL, NULL);
    }
}
END_TEST

/* The waiter must use futex() instead. */
START_TEST(a_waiter_sleeps_if_linux_refuses_to_wait_for_two)
{
    refuses_waitv = true;
    turn = (struct sync_word){0};
    begin(true, count_progress);
    progress_calls = 0;
    sync_set_host_mail(&mail, &mail_asleep);
    as_ranks(2, wait_long);
    refuses_waitv = false;
    ck_assert_ptr_null(host_mail);
    ck_assert_uint_gt(progress_calls, 10);
    ck_assert_uint_lt(progress_calls, waited_ns / 50000); /* each sleep takes 50 us or more */
    ck_assert_uint_eq(mail.sleepers, 0);
}
END_TEST

/* ---- publishing while a rank falls asleep ---- */

/* The publisher must read `sleepers` after the value is visible. Otherwise it can miss a sleeper
 * that has not seen the value. */
static void publish_or_fall_asleep(unsigned me)
{
    static uint32_t seen;
    struct meeting meeting = {.chance = {me}};
    for (uint32_t round = 1; round <= rounds; round++) {
        unsigned wakes = atomic_load(&futex_wakes);
        leave_together(&meeting);
        if (me == 0)
            sync_publish_ordered(&turn, round);
        else {
            atomic_fetch_add_explicit(&turn.sleepers, 1, memory_order_seq_cst);
            seen = sync_load(&turn);
        }
        leave_together(&meeting);
        EXPECT(seen == round || atomic_load(&futex_wakes) != wakes, "round %u", round);
        leave_together(&meeting);
        if (me)
            atomic_fetch_sub(&turn.sleepers, 1);
    }
}

START_TEST(publisher_or_sleeper_sees_the_other)
{
    begin(true, NULL);
    turn = (struct sync_word){0};
    rounds = effort(8000);
    as_ranks(2, publish_or_fall_asleep);
}
END_TEST

UNIT_MAIN(counts_may_wrap, a_wake_up_is_never_lost,
          a_waiter_that_has_read_an_old_value_does_not_sleep, nobody_sleeps_with_enough_processors,
          waits_yield_sooner_next_to_a_job_that_waits, yields_are_not_counted_as_polling_too,
          a_killed_waiter_blocks_nobody, a_waiter_gives_the_host_progress,
          a_pause_gives_the_host_progress, a_long_wait_gives_the_host_more_progress,
          a_program_that_finds_the_same_again_yields, progress_is_due_if_the_clock_has_gone_back,
          more_progress_is_due_after_a_long_time, progress_goes_on_while_it_moves_data,
          a_first_step_with_cold_caches_moves_nothing,
          progress_that_moves_data_has_a_share_of_the_time, a_message_of_the_host_wakes_a_waiter,
          a_message_just_after_the_poll_ends_the_sleep,
          a_waiter_sleeps_if_linux_refuses_to_wait_for_two, publisher_or_sleeper_sees_the_other)
