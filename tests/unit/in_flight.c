/* Messages in flight: nobody waits for a copy that has been read, no unread copy is overwritten,
 * and each request is freed once. */
#include "tests/unit/receiver.h"
#include "tests/unit/requests.h"
#include "tests/unit/windows.h"

#include "pmpi_wrap/abi/buffered_sends/in_flight.c"

#include <unistd.h>

#define MIB ((size_t)1 << 20)
enum { LONG = 20000, LOOKS = 16 };

static struct in_flight *sends[REQUESTS];

static void attach(size_t bytes, size_t overhead, bool shared)
{
    in_flight_open(&(struct in_flight_limits){
        .room = bytes, .overhead = overhead, .copies = UINT32_MAX, .shared = shared});
}

static void begin(size_t bytes)
{
    open_heap();
    process_vm_open();
    complete_all();
    in_flight_finish();
    forget_all();
    attach(bytes, 0, true);
}

/* Returns the number of the message; -1: no room. */
static int send_one(int byte)
{
    struct in_flight *f = new_copy(LONG);
    if (!f)
        return -1;
    int number = (int)next++;
    memset(f->copy, byte, LONG);
    sends[number] = f;
    in_flight_add(f, request_of((uintptr_t)number), IN_FLIGHT_FASTER);
    return number;
}

/* Copies as the host of the receiver does. */
static void receive(const char *from, int byte)
{
    char local[LONG];
    receive_as_host(local, from, LONG);
    for (int i = 0; i < LONG; i++)
        if (local[i] != (char)byte) {
            EXPECT(false, "byte %d is %d, not %d", i, local[i], byte);
            return;
        }
}

static const char *address_of_copy(int number)
{
    return sends[number]->copy;
}

START_TEST(drain_does_not_wait_for_read_copies)
{
    begin(MIB);
    const char *at[10];
    for (int i = 0; i < 10; i++)
        at[i] = address_of_copy(send_one(i));
    for (int i = 9; i >= 0; i--)
        receive(at[i], i);
    in_flight_drain();
    ck_assert_uint_eq(in_flight_count, 0);
    ck_assert_uint_eq(listed, 10);
    for (int i = 0; i < 10; i++)
        complete[i] = true;
    in_flight_finish();
    for (int i = 0; i < 10; i++)
        ck_assert(asked_and_freed[i]);
    no_failures();
}
END_TEST

START_TEST(drain_does_not_wait_for_completed_requests)
{
    begin(MIB);
    for (int i = 0; i < 10; i++)
        complete[send_one(i)] =
            true; /* as for short messages, whose copies the receiver does not read */
    in_flight_drain();
    ck_assert_uint_eq(listed, 0);
}
END_TEST

static void *receive_late(void *from)
{
    struct timespec ns = {.tv_nsec = 50 * 1000 * 1000};
    nanosleep(&ns, NULL);
    receive(from, 1);
    return from;
}

START_TEST(drain_waits_for_unread_copies)
{
    pthread_t thread;
    begin(MIB);
    uint64_t start = sync_now_ns();
    pthread_create(&thread, NULL, receive_late, (void *)address_of_copy(send_one(1)));
    in_flight_drain();
    ck_assert_uint_ge(sync_now_ns() - start, 50 * 1000 * 1000);
    pthread_join(thread, NULL);
    no_failures();
}
END_TEST

START_TEST(read_copies_free_their_room)
{
    begin(MIB);
    const char *at[REQUESTS];
    int count = 0;
    while ((sends[REQUESTS - 1] = NULL, send_one(count)) >= 0) {
        at[count] = address_of_copy(count);
        count++;
    }
    ck_assert_int_eq(count, MIB / LONG);
    ck_assert_int_lt(send_one(0), 0);
    /* the receiver of the first message sleeps */
    for (int i = 1; i < count; i++)
        receive(at[i], i);
    int more = 0;
    for (int tries = 0; tries < count; tries++) {
        look(LOOKS);
        more += send_one(tries) >= 0;
    }
    ck_assert_int_ge(more, count - LOOKS);
    receive(at[0], 0); /* still unchanged */
    no_failures();
}
END_TEST

/* The host may complete requests of copies that have been read much later. */
START_TEST(room_is_found_behind_incomplete_requests)
{
    begin(MIB);
    const int all = MIB / LONG;
    for (int round = 0; round < 10; round++) {
        const char *at[REQUESTS];
        for (int i = 0; i < all; i++) {
            int number = send_one(i);
            ck_assert_int_ge(number, 0);
            at[i] = address_of_copy(number);
        }
        ck_assert_int_lt(send_one(0), 0);
        for (int i = 0; i < all; i++)
            receive(at[i], i);
    }
    ck_assert_uint_eq(listed, 10 * all);
    complete_all();
    in_flight_finish();
    no_failures();
}
END_TEST

START_TEST(private_copies_are_freed_when_the_host_completes)
{
    begin(MIB);
    attach(MIB, 0, false);
    int number = send_one(1);
    ck_assert(!node_shares(address_of_copy(number), LONG));
    look(1);
    ck_assert_uint_eq(in_flight_count, 1);
    complete[number] = true;
    in_flight_drain();
    ck_assert_uint_eq(listed, 0);
}
END_TEST

START_TEST(waiting_for_pending_messages_ignores_others)
{
    begin(MIB);
    send_one(1);
    struct in_flight *f = calloc(1, sizeof *f);
    f->pending = true;
    list_message(f, request_of(next));
    ck_assert_uint_eq(in_flight_pending, 1);
    complete[next++] = true;
    in_flight_wait_for_pending();
    ck_assert_uint_eq(in_flight_count, 1);
    complete_all();
    in_flight_drain();
}
END_TEST

START_TEST(an_empty_message_is_delivered_when_the_host_completes)
{
    begin(MIB);
    struct in_flight *f = new_copy(0);
    ck_assert_ptr_nonnull(f);
    in_flight_add(f, request_of(next++), IN_FLIGHT_FASTER);
    look(LOOKS);
    ck_assert_uint_eq(in_flight_count, 1);
    complete_all();
    look(LOOKS);
    ck_assert_uint_eq(in_flight_count, 0);
}
END_TEST

/* The buffer has room for the data of two messages, but not for their overhead. */
START_TEST(overhead_takes_room)
{
    begin(2 * LONG);
    attach(2 * LONG, 1, true);
    struct in_flight *f = in_flight_claim(LONG, IN_FLIGHT_FASTER);
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_null(in_flight_claim(LONG, IN_FLIGHT_FASTER));
    in_flight_drop(f);
    ck_assert_ptr_null(in_flight_claim(2 * LONG, IN_FLIGHT_FASTER));
    in_flight_drop(in_flight_claim(2 * LONG - 1, IN_FLIGHT_FASTER));
    ck_assert_uint_eq(taken, 0);
}
END_TEST

START_TEST(only_so_many_copies_are_in_flight)
{
    begin(MIB);
    limits.copies = 2;
    for (int i = 0; i < 2; i++)
        in_flight_add(in_flight_claim(LONG, IN_FLIGHT_FASTER), request_of(next++),
                      IN_FLIGHT_FASTER);
    ck_assert_ptr_null(in_flight_claim(LONG, IN_FLIGHT_FASTER));
    complete[0] = true;
    in_flight_drop(in_flight_claim(LONG, IN_FLIGHT_FASTER));
    complete_all();
    in_flight_finish();
}
END_TEST

START_TEST(nothing_can_be_claimed_after_closing)
{
    begin(MIB);
    struct in_flight *f = new_copy(LONG);
    in_flight_drop(f); /* as if the host had failed */
    in_flight_drain();
    in_flight_close();
    ck_assert_ptr_null(new_copy(LONG));
}
END_TEST

static void *send_and_receive(void *unused)
{
    for (unsigned i = 0; i < effort(1000); i++) {
        struct in_flight *f = new_copy(LONG);
        if (!f)
            continue;
        unsigned number = (unsigned)next++;
        const char *at = f->copy;
        memset(f->copy, (int)number, LONG);
        in_flight_add(f, request_of(number), IN_FLIGHT_FASTER);
        receive(at, (int)number);
        if (i % 3)
            complete[number] = true;
    }
    return unused;
}

START_TEST(threads_send_concurrently)
{
    pthread_t threads[4];
    begin(MIB);
    for (int t = 0; t < 4; t++)
        pthread_create(&threads[t], NULL, send_and_receive, NULL);
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    in_flight_drain();
    ck_assert_uint_eq(in_flight_count, 0);
    complete_all();
    in_flight_finish();
    for (uintptr_t i = 0; i < next; i++)
        ck_assert(asked_and_freed[i]);
    no_failures();
}
END_TEST

UNIT_MAIN(drain_does_not_wait_for_read_copies, drain_does_not_wait_for_completed_requests,
          drain_waits_for_unread_copies, read_copies_free_their_room,
          room_is_found_behind_incomplete_requests,
          private_copies_are_freed_when_the_host_completes,
          waiting_for_pending_messages_ignores_others, nothing_can_be_claimed_after_closing,
          overhead_takes_room, only_so_many_copies_are_in_flight,
          an_empty_message_is_delivered_when_the_host_completes, threads_send_concurrently)
