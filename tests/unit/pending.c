/* Pending sends: no send waits longer than a moment while there is room, calls that must not wait
 * do not, and no request is tested again after it has completed. */
#include "pmpi_wrap/abi/buffered_sends/in_flight.c"

#include "tests/unit/requests.h"

#include <math.h>
#include <sched.h>
#include <string.h>

enum { MANY = 2000, BATCHES = 10, FEW = 8, BYTES = 100, LONG = 5000, WAIT_NS = 20 * 1000 * 1000 };

static void open_with(size_t bytes, uint64_t wait_ns)
{
    in_flight_open(&(struct in_flight_limits){.room = bytes, .wait_ns = wait_ns});
}

static void begin(size_t bytes)
{
    complete_all();
    in_flight_finish();
    forget_all();
    open_with(bytes, 0);
}

enum way { BY_HOST, BUFFERED, COPIED }; /* BY_HOST: the host would report an error */

/* Send as MPI_Bsend does, or, if it must not wait, as MPI_Ibsend does. */
static enum way send_as(size_t bytes, bool may_wait)
{
    enum in_flight_motive motive = may_wait ? IN_FLIGHT_PENDING_MAY_WAIT : IN_FLIGHT_PENDING;
    next_look_ns = 0;
    bool some_pending = in_flight_pending, reserved = some_pending && in_flight_reserve(bytes);
    struct in_flight *copy = some_pending && !reserved ? in_flight_claim(bytes, motive) : NULL;
    if (copy) {
        memset(copy->copy, 1, bytes);
        in_flight_add(copy, request_of(next++), motive);
        return COPIED;
    }
    EXPECT(in_flight_keep(request_of(next++), bytes, reserved, may_wait), "not kept");
    return reserved || !some_pending ? BUFFERED : BY_HOST;
}

static enum way send_one(size_t bytes)
{
    return send_as(bytes, true);
}

static double ms_of(uint64_t since)
{
    return (double)(sync_now_ns() - since) / 1e6;
}

START_TEST(a_completed_message_is_not_pending)
{
    begin(1 << 20);
    complete[0] = true;
    send_one(BYTES);
    ck_assert_uint_eq(in_flight_pending, 0);
    ck_assert(asked_and_freed[0]);
}
END_TEST

START_TEST(a_missing_receiver_blocks_nobody)
{
    begin(1 << 20);
    open_with(1 << 20, WAIT_NS);
    uint64_t start = sync_now_ns();
    send_one(BYTES);
    ck_assert_double_ge(ms_of(start), WAIT_NS / 1e6);
    double fastest = HUGE_VAL; /* a virtual machine may stand still during one of the batches */
    for (int batch = 0; batch < BATCHES; batch++) {
        start = sync_now_ns();
        for (int i = 0; i < MANY / BATCHES; i++)
            send_one(BYTES);
        fastest = fmin(fastest, ms_of(start));
    }
    ck_assert_uint_eq(in_flight_pending, MANY + 1);
    ck_assert_double_lt(fastest, MANY / BATCHES * PATIENCE_NS / 2e6);
}
END_TEST

START_TEST(an_active_receiver_is_waited_for)
{
    begin(1 << 20);
    for (int i = 0; i < FEW; i++)
        send_one(BYTES);
    complete[0] = true;
    look_for_pending(UINT32_MAX);
    uint64_t start = sync_now_ns();
    send_one(BYTES);
    ck_assert_double_ge(ms_of(start), PATIENCE_NS / 1e6);
    complete[1] = complete[next] = true;
    look_for_pending(UINT32_MAX);
    send_one(BYTES);
    ck_assert_uint_eq(in_flight_pending, FEW - 1);
}
END_TEST

START_TEST(requests_are_not_tested_at_each_send)
{
    begin(1 << 20);
    for (int i = 0; i < FEW; i++)
        send_one(BYTES);
    complete[0] = true;
    next_look_ns = UINT64_MAX;
    ck_assert(in_flight_reserve(BYTES));
    ck_assert(!asked_and_freed[0]);
    next_look_ns = 0;
    ck_assert(in_flight_reserve(BYTES));
    ck_assert(asked_and_freed[0]);
    ck_assert_uint_gt(next_look_ns, sync_now_ns() - 1000000000);
}
END_TEST

START_TEST(calls_that_must_not_wait_do_not)
{
    begin(1 << 20);
    open_with(1 << 20, UINT64_C(3600) * 1000000000);
    for (int i = 0; i < FEW; i++)
        ck_assert_int_eq(send_as(BYTES, false), BUFFERED);
    ck_assert_uint_eq(in_flight_pending, FEW);
}
END_TEST

START_TEST(messages_that_leave_are_removed)
{
    begin(1 << 20);
    for (int i = 0; i < FEW; i++)
        send_one(BYTES);
    complete[0] = complete[1] = complete[3] = true;
    for (int i = 0; i < FEW; i++) {
        next_look_ns = 0;
        in_flight_reserve(BYTES);
    }
    ck_assert_uint_eq(in_flight_pending, FEW - 3);
}
END_TEST

static void *complete_later(void *unused)
{
    for (int i = 0; i < REQUESTS; i++) {
        for (int k = 0; k < 100; k++)
            sched_yield();
        complete[i] = true;
    }
    return unused;
}

START_TEST(the_buffer_is_used_while_it_certainly_has_room)
{
    begin(4 * BYTES);
    for (int round = 0; round < 3; round++) {
        complete[next] = true;
        ck_assert_int_eq(send_one(BYTES), BUFFERED);
    }
    for (int round = 0; round < 3; round++) {
        uintptr_t one = next;
        send_one(BYTES);
        send_one(BYTES);
        complete[one] = true; /* the next message may only fit behind the other one */
        ck_assert_int_eq(send_one(BYTES), BUFFERED);
        ck_assert_int_eq(send_one(BYTES), BUFFERED);
        ck_assert_int_eq(send_one(BYTES), COPIED);
        ck_assert_uint_eq(in_flight_pending, 4);
        complete_all();
        in_flight_finish();
        forget_all();
    }
}
END_TEST

START_TEST(long_messages_count_until_the_buffer_is_detached)
{
    begin(3 * LONG);
    for (int i = 0; i < 2; i++) {
        complete[next] = true; /* complete, but possibly still in the buffer */
        send_one(LONG);
    }
    send_one(BYTES);
    ck_assert_int_eq(send_one(LONG), COPIED);
    begin(3 * LONG);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(send_one(LONG), BUFFERED);
}
END_TEST

/* A buffer without certain room and with one pending message. */
static void begin_full(size_t bytes)
{
    begin(bytes);
    complete[0] = true;
    send_one(bytes);
    send_one(SHORT + 1);
    ck_assert_uint_eq(in_flight_pending, 1);
}

START_TEST(copies_have_as_much_room_as_the_buffer)
{
    begin_full(6 * LONG);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(send_as(LONG, false), COPIED);
    ck_assert_int_eq(send_as(1, false), BY_HOST);
    ck_assert_int_eq(send_as(0, false), COPIED);
}
END_TEST

/* Completes four of the six copies. At least one message stays pending, whatever the scheduler
 * does: with none pending the send would not need a copy. */
static void *complete_four_later(void *unused)
{
    sleep_us(1000);
    for (int i = 2; i < 6; i++)
        complete[i] = true;
    return unused;
}

START_TEST(a_send_without_room_waits_for_room)
{
    begin_full(6 * LONG);
    for (int i = 0; i < 6; i++)
        send_one(LONG);
    pthread_t receiver;
    pthread_create(&receiver, NULL, complete_four_later, NULL);
    ck_assert_int_eq(send_one(4 * LONG), COPIED);
    pthread_join(receiver, NULL);
    for (uintptr_t i = 2; i < 6; i++)
        ck_assert(asked_and_freed[i]);
    no_failures();
}
END_TEST

START_TEST(room_is_found_behind_a_sleeping_receiver)
{
    begin_full(3 * LONG);
    for (int i = 0; i < 3; i++)
        send_one(LONG);
    complete[3] = true; /* this message went to a receiver that is awake */
    ck_assert_int_eq(send_as(LONG, false), COPIED);
    ck_assert(asked_and_freed[3]);
    complete[2] = complete[4] = true;
    ck_assert_int_eq(send_one(2 * LONG), COPIED);
    ck_assert_uint_eq(in_flight_pending, 3);
}
END_TEST

START_TEST(messages_longer_than_the_buffer_go_to_the_host)
{
    begin_full(3 * LONG);
    ck_assert_int_eq(send_one(3 * LONG + 1), BY_HOST);
    ck_assert_int_eq(send_one(SIZE_MAX / 2), BY_HOST);
    ck_assert_int_eq(send_one(3 * LONG), COPIED);
}
END_TEST

START_TEST(dropped_copies_take_no_room)
{
    begin_full(3 * LONG);
    for (int i = 0; i < FEW; i++) {
        struct in_flight *copy = in_flight_claim(3 * LONG, IN_FLIGHT_PENDING);
        ck_assert_ptr_nonnull(copy);
        in_flight_drop(copy);
    }
    ck_assert_uint_eq(in_flight_pending, 1);
}
END_TEST

static void *send_some(void *unused)
{
    for (int i = 0; i < REQUESTS / 4; i++)
        send_as(i % 8 ? BYTES : LONG, i % 3);
    return unused;
}

START_TEST(threads_send_concurrently)
{
    pthread_t threads[4], receiver;
    thread_concurrent = true;
    begin(40 * BYTES + 10 * LONG);
    pthread_create(&receiver, NULL, complete_later, NULL);
    for (int t = 0; t < 4; t++)
        pthread_create(&threads[t], NULL, send_some, NULL);
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    in_flight_finish();
    pthread_join(receiver, NULL);
    for (int i = 0; i < REQUESTS; i++)
        EXPECT(asked_and_freed[i], "request %d", i);
    no_failures();
}
END_TEST

UNIT_MAIN(a_completed_message_is_not_pending, a_missing_receiver_blocks_nobody,
          an_active_receiver_is_waited_for, requests_are_not_tested_at_each_send,
          calls_that_must_not_wait_do_not, messages_that_leave_are_removed,
          the_buffer_is_used_while_it_certainly_has_room,
          long_messages_count_until_the_buffer_is_detached, copies_have_as_much_room_as_the_buffer,
          a_send_without_room_waits_for_room, room_is_found_behind_a_sleeping_receiver,
          messages_longer_than_the_buffer_go_to_the_host, dropped_copies_take_no_room,
          threads_send_concurrently)
