/* Sends that the host has not completed: nothing is waited for longer than a moment while there is
 * room, nothing is kept that might need more room, and nobody asks twice for one that is complete.
 */
#include "bsend/pending.c"

#include "tests/unit/unit.h"

#include <sched.h>

enum { SENDS = 512, FEW = 8, BYTES = 100, LONG = 5000, WAIT_NS = 20 * 1000 * 1000 };

/* A request is a number; the made-up host completes it when told to. */
static _Atomic bool arrived[SENDS], asked_and_freed[SENDS];
static _Atomic uintptr_t next;

static bool sent(uintptr_t *request)
{
    if (!arrived[*request])
        return false;
    EXPECT(!atomic_exchange(&asked_and_freed[*request], true), "request %zu", (size_t)*request);
    return true;
}

static void begin(size_t bytes)
{
    for (int i = 0; i < SENDS; i++)
        arrived[i] = true;
    if (pending_count)
        pending_drain();
    for (int i = 0; i < SENDS; i++)
        arrived[i] = asked_and_freed[i] = false;
    next = 0;
    pending_open(bytes, 0, sent);
}

static uintptr_t send_one(size_t bytes)
{
    uintptr_t request = next++;
    bool reserved = pending_count && pending_reserve(bytes);
    pending_add(request, bytes, reserved);
    return request;
}

static double ms_of(uint64_t since)
{
    return (double)(sync_now_ns() - since) / 1e6;
}

START_TEST(one_that_has_left_is_not_kept)
{
    begin(1 << 20);
    arrived[0] = true;
    send_one(BYTES);
    ck_assert_uint_eq(pending_count, 0);
    ck_assert(asked_and_freed[0]);
}
END_TEST

START_TEST(a_receiver_that_never_comes_keeps_nobody)
{
    begin(1 << 20);
    pending_open(1 << 20, WAIT_NS, sent);
    uint64_t start = sync_now_ns();
    send_one(BYTES);
    double long_wait = ms_of(start);
    for (int i = 0; i < 20; i++)
        send_one(BYTES);
    ck_assert_uint_eq(pending_count, 21);
    ck_assert_double_ge(long_wait, WAIT_NS / 1e6);
    ck_assert_double_ge(ms_of(start) - long_wait, 20 * PATIENCE_NS / 1e6);
    ck_assert_double_lt(ms_of(start), 1000);
}
END_TEST

START_TEST(the_oldest_are_forgotten_as_they_leave)
{
    begin(1 << 20);
    for (int i = 0; i < FEW; i++)
        send_one(BYTES);
    arrived[0] = arrived[1] = arrived[3] = true;
    ck_assert(pending_reserve(BYTES));
    ck_assert_uint_eq(pending_count, FEW - 2);
    arrived[2] = true;
    ck_assert(pending_reserve(BYTES));
    ck_assert_uint_eq(pending_count, FEW - 4);
}
END_TEST

static void *complete_later(void *unused)
{
    for (int i = 0; i < SENDS; i++) {
        for (int k = 0; k < 100; k++)
            sched_yield();
        arrived[i] = true;
    }
    return unused;
}

/* What would not fit beside them waits for all that are kept; when it is sent none is. */
static void expect_a_wait(size_t bytes)
{
    pthread_t host;
    pthread_create(&host, NULL, complete_later, NULL);
    ck_assert(!pending_reserve(bytes));
    ck_assert_uint_eq(pending_count, 0);
    pthread_join(host, NULL);
    no_failures();
}

START_TEST(short_ones_take_room_until_none_is_kept)
{
    begin(4 * BYTES);
    for (int round = 0; round < 3; round++) {
        arrived[next] = true;
        send_one(BYTES);
    }
    for (int round = 0; round < 3; round++) {
        uintptr_t one = send_one(BYTES);
        send_one(BYTES);
        arrived[one] = true; /* yet what comes may find no place but behind the other */
        send_one(BYTES);
        ck_assert_uint_eq(pending_count, 2);
        expect_a_wait(3 * BYTES);
        for (int i = 0; i < SENDS; i++)
            arrived[i] = asked_and_freed[i] = false;
    }
}
END_TEST

START_TEST(long_ones_take_room_as_long_as_the_buffer_is_there)
{
    begin(3 * LONG);
    for (int i = 0; i < 2; i++) {
        arrived[next] = true; /* complete, yet perhaps still in the buffer */
        send_one(LONG);
    }
    send_one(BYTES);
    ck_assert(pending_reserve(LONG - BYTES));
    ck_assert_uint_eq(pending_count, 1);
    expect_a_wait(1);
    begin(3 * LONG);
    for (int i = 0; i < 2; i++)
        send_one(LONG);
    ck_assert(pending_reserve(LONG));
    ck_assert_uint_eq(pending_count, 2);
}
END_TEST

START_TEST(what_the_program_completes_takes_room_too)
{
    begin(3 * LONG);
    pending_by_host(2 * LONG);
    send_one(BYTES);
    expect_a_wait(LONG);
}
END_TEST

START_TEST(more_than_any_buffer_has_waits)
{
    begin(3 * LONG);
    send_one(SIZE_MAX / 2);
    ck_assert_uint_eq(pending_count, 1);
    expect_a_wait(SIZE_MAX / 2);
}
END_TEST

static void *send_some(void *unused)
{
    for (int i = 0; i < SENDS / 4; i++)
        send_one(i % 8 ? BYTES : LONG);
    return unused;
}

START_TEST(threads_send_and_drain)
{
    pthread_t threads[4], host;
    thread_concurrent = true;
    begin(40 * BYTES + 10 * LONG);
    pthread_create(&host, NULL, complete_later, NULL);
    for (int t = 0; t < 4; t++)
        pthread_create(&threads[t], NULL, send_some, NULL);
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    pending_drain();
    pthread_join(host, NULL);
    for (int i = 0; i < SENDS; i++)
        EXPECT(asked_and_freed[i], "request %d", i);
    no_failures();
}
END_TEST

UNIT_MAIN(one_that_has_left_is_not_kept, a_receiver_that_never_comes_keeps_nobody,
          the_oldest_are_forgotten_as_they_leave, short_ones_take_room_until_none_is_kept,
          long_ones_take_room_as_long_as_the_buffer_is_there,
          what_the_program_completes_takes_room_too, more_than_any_buffer_has_waits,
          threads_send_and_drain)
