/* Messages in flight: nobody waits for what has been read, and nobody overwrites what has not; each
 * request is ended once. */
#include "tests/unit/requests.h"
#include "tests/unit/windows.h"

#include "alloc/vm_copy.h"
#include "bsend/in_flight.c"

#include <unistd.h>

#define MIB ((size_t)1 << 20)
enum { LONG = 20000, LOOKS = 16 };

static struct in_flight *sends[REQUESTS];

static void begin(size_t bytes)
{
    open_heap();
    vm_copy_open();
    complete_all();
    in_flight_finish();
    forget_all();
    in_flight_open(bytes, true, host_sent);
}

/* Returns its number; -1: it is the host's. */
static int send_one(int with)
{
    struct in_flight *f = in_flight_claim(LONG);
    if (!f)
        return -1;
    int number = (int)next++;
    memset(f->copy, with, LONG);
    sends[number] = f;
    in_flight_add(f, (uintptr_t)number);
    return number;
}

/* As the receiver's host, which is not asked for anything else. */
static void receive(const char *from, int with)
{
    char here[LONG];
    EXPECT(vm_copy_read(getpid(), here, (uintptr_t)from, LONG), "not in the shared file");
    for (int i = 0; i < LONG; i++)
        if (here[i] != (char)with) {
            EXPECT(false, "byte %d is %d for %d", i, here[i], with);
            return;
        }
}

static const char *place_of_copy(int number)
{
    return sends[number]->copy;
}

START_TEST(what_has_been_read_is_not_waited_for)
{
    begin(MIB);
    const char *at[10];
    for (int i = 0; i < 10; i++)
        at[i] = place_of_copy(send_one(i));
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

START_TEST(what_the_host_knows_is_not_waited_for)
{
    begin(MIB);
    for (int i = 0; i < 10; i++)
        complete[send_one(i)] = true; /* short ones it sends otherwise; nobody fetches them */
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

START_TEST(what_has_not_been_read_is_waited_for)
{
    pthread_t thread;
    begin(MIB);
    uint64_t start = sync_now_ns();
    pthread_create(&thread, NULL, receive_late, (void *)place_of_copy(send_one(1)));
    in_flight_drain();
    ck_assert_uint_ge(sync_now_ns() - start, 50 * 1000 * 1000);
    pthread_join(thread, NULL);
    no_failures();
}
END_TEST

START_TEST(room_comes_back_when_it_has_been_read)
{
    begin(MIB);
    const char *at[REQUESTS];
    int count = 0;
    while ((sends[REQUESTS - 1] = NULL, send_one(count)) >= 0) {
        at[count] = place_of_copy(count);
        count++;
    }
    ck_assert_int_eq(count, MIB / LONG);
    ck_assert_int_lt(send_one(0), 0);
    /* the first one's receiver sleeps */
    for (int i = 1; i < count; i++)
        receive(at[i], i);
    int more = 0;
    for (int tries = 0; tries < count; tries++) {
        in_flight_look(LOOKS);
        more += send_one(tries) >= 0;
    }
    ck_assert_int_ge(more, count - LOOKS);
    receive(at[0], 0); /* still there, as it was */
    no_failures();
}
END_TEST

START_TEST(without_shared_memory_the_host_says_what_has_left)
{
    begin(MIB);
    in_flight_open(MIB, false, host_sent);
    int number = send_one(1);
    ck_assert(!node_shares(place_of_copy(number), LONG));
    in_flight_look(1);
    ck_assert_uint_eq(in_flight_count, 1);
    complete[number] = true;
    in_flight_drain();
    ck_assert_uint_eq(listed, 0);
}
END_TEST

START_TEST(who_waits_for_pending_ones_waits_for_no_others)
{
    begin(MIB);
    send_one(1);
    struct in_flight *f = calloc(1, sizeof *f);
    f->pending = true;
    in_flight_add(f, next);
    ck_assert_uint_eq(in_flight_pending, 1);
    complete[next++] = true;
    in_flight_wait_for_pending();
    ck_assert_uint_eq(in_flight_count, 1);
    complete_all();
    in_flight_drain();
}
END_TEST

START_TEST(nothing_is_claimed_when_it_is_closed)
{
    begin(MIB);
    struct in_flight *f = in_flight_claim(LONG);
    in_flight_drop(f); /* the host has refused it */
    in_flight_drain();
    in_flight_close();
    ck_assert_ptr_null(in_flight_claim(LONG));
}
END_TEST

static void *send_and_receive(void *unused)
{
    for (unsigned i = 0; i < effort(1000); i++) {
        struct in_flight *f = in_flight_claim(LONG);
        if (!f)
            continue;
        unsigned number = (unsigned)next++;
        const char *at = f->copy;
        memset(f->copy, (int)number, LONG);
        in_flight_add(f, number);
        receive(at, (int)number);
        if (i % 3)
            complete[number] = true;
    }
    return unused;
}

START_TEST(threads_send_beside_each_other)
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

UNIT_MAIN(what_has_been_read_is_not_waited_for, what_the_host_knows_is_not_waited_for,
          what_has_not_been_read_is_waited_for, room_comes_back_when_it_has_been_read,
          without_shared_memory_the_host_says_what_has_left,
          who_waits_for_pending_ones_waits_for_no_others, nothing_is_claimed_when_it_is_closed,
          threads_send_beside_each_other)
