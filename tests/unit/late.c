/* Long messages of a host that learns late: nobody waits for what has been taken, and nobody writes
 * over what has not; each request is ended once. */
#include "tests/unit/requests.h"
#include "tests/unit/windows.h"

#include "alloc/cma.h"
#include "bsend/late.c"

#include <unistd.h>

#define MIB ((size_t)1 << 20)
enum { LONG = 20000 };

static struct late *sends[REQUESTS];

static void begin(size_t bytes)
{
    open_heap();
    cma_open();
    complete_all();
    late_finish();
    forget_all();
    late_open(bytes, host_sent);
}

/* Returns its number; -1: it is the host's. */
static int send_one(int with)
{
    struct late *late = late_claim(LONG);
    if (!late)
        return -1;
    int number = (int)next++;
    memset(late->parcel.at, with, LONG);
    sends[number] = late;
    late_flies(late, (uintptr_t)number);
    return number;
}

/* As the receiver's host, which is not asked for anything else. */
static void receive(const char *from, int with)
{
    char here[LONG];
    EXPECT(cma_read(getpid(), here, (uintptr_t)from, LONG), "not in the shared file");
    for (int i = 0; i < LONG; i++)
        if (here[i] != (char)with) {
            EXPECT(false, "byte %d is %d for %d", i, here[i], with);
            return;
        }
}

static const char *place_of_copy(int number)
{
    return sends[number]->parcel.at;
}

START_TEST(what_has_been_taken_is_not_waited_for)
{
    begin(MIB);
    const char *at[10];
    for (int i = 0; i < 10; i++)
        at[i] = place_of_copy(send_one(i));
    for (int i = 9; i >= 0; i--)
        receive(at[i], i);
    late_drain();
    ck_assert_uint_eq(not_taken, 0);
    ck_assert_uint_eq(not_known, 10);
    for (int i = 0; i < 10; i++)
        complete[i] = true;
    late_finish();
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
    late_drain();
    ck_assert_uint_eq(not_known, 0);
}
END_TEST

static void *receive_late(void *from)
{
    struct timespec ns = {.tv_nsec = 50 * 1000 * 1000};
    nanosleep(&ns, NULL);
    receive(from, 1);
    return from;
}

START_TEST(what_has_not_been_taken_is_waited_for)
{
    pthread_t thread;
    begin(MIB);
    uint64_t start = sync_now_ns();
    pthread_create(&thread, NULL, receive_late, (void *)place_of_copy(send_one(1)));
    late_drain();
    ck_assert_uint_ge(sync_now_ns() - start, 50 * 1000 * 1000);
    pthread_join(thread, NULL);
    no_failures();
}
END_TEST

START_TEST(room_comes_back_when_it_has_been_taken)
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
    for (int tries = 0; tries < count; tries++)
        more += send_one(tries) >= 0;
    ck_assert_int_ge(more, count - LOOKS_FOR_ROOM);
    receive(at[0], 0); /* still there, as it was */
    no_failures();
}
END_TEST

START_TEST(what_another_has_sent_ends_here)
{
    begin(MIB);
    ck_assert(late_adopt(3));
    late_drain();
    ck_assert(!asked_and_freed[3]);
    complete[3] = true;
    late_finish();
    ck_assert(asked_and_freed[3]);
}
END_TEST

START_TEST(nothing_is_claimed_when_it_is_closed)
{
    begin(MIB);
    struct late *late = late_claim(LONG);
    late_drop(late); /* the host has refused it */
    late_drain();
    late_close();
    ck_assert_ptr_null(late_claim(LONG));
}
END_TEST

static void *send_and_receive(void *unused)
{
    for (unsigned i = 0; i < effort(1000); i++) {
        struct late *late = late_claim(LONG);
        if (!late)
            continue;
        unsigned number = (unsigned)next++;
        const char *at = late->parcel.at;
        memset(late->parcel.at, (int)number, LONG);
        late_flies(late, number);
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
    late_drain();
    ck_assert_uint_eq(not_taken, 0);
    complete_all();
    late_finish();
    for (uintptr_t i = 0; i < next; i++)
        ck_assert(asked_and_freed[i]);
    no_failures();
}
END_TEST

UNIT_MAIN(what_has_been_taken_is_not_waited_for, what_the_host_knows_is_not_waited_for,
          what_has_not_been_taken_is_waited_for, room_comes_back_when_it_has_been_taken,
          what_another_has_sent_ends_here, nothing_is_claimed_when_it_is_closed,
          threads_send_beside_each_other)
