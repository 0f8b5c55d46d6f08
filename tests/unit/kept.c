/* Messages that are sent again: the copy that travels is always what the program has in its buffer,
 * one that is on its way is never written, and data that change are soon left alone. */
#include "bsend/kept.c"

#include "tests/unit/unit.h"

#include <sys/mman.h>

#define MIB ((size_t)1 << 20)
enum { BYTES = 20000, COMM = 77 };

static char message[BYTES];
static _Atomic bool arrived; /* whatever is asked for */
static bool renew;           /* it pays */

static bool landed(struct kept *place)
{
    (void)place;
    return arrived;
}

static bool all(uintptr_t comm, uintptr_t unused)
{
    (void)comm, (void)unused;
    return true;
}

static bool just(uintptr_t comm, uintptr_t wanted)
{
    return comm == wanted;
}

static struct kept_key key_of(const void *from)
{
    return (struct kept_key){.from = from, .bytes = BYTES, .comm = COMM, .rank = 1};
}

static void begin(size_t room)
{
    static char *slice;
    if (!slice) {
        thread_concurrent = true;
        slice = mmap(NULL, 256 * MIB, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ck_assert_ptr_ne(slice, MAP_FAILED);
        ck_assert(arena_open(slice, 256 * MIB, 16 * MIB, 128 * MIB));
    }
    arrived = true;
    renew = false;
    kept_drain(all, 0);
    kept_close();
    memset(message, 1, BYTES);
    kept_open(room, landed);
}

/* Whether the message goes from here; it must be right then, and flies. */
static bool goes(void)
{
    struct kept *p = kept_claim(key_of(message), renew);
    if (!p)
        return false;
    INSIST(!memcmp(p->parcel.at, message, BYTES), "another message");
    kept_flies(p, 1);
    return true;
}

START_TEST(the_first_is_the_hosts_and_the_same_again_is_ours)
{
    begin(MIB);
    ck_assert(!goes());
    for (int i = 0; i < 10; i++)
        ck_assert(goes());
}
END_TEST

START_TEST(a_change_anywhere_is_seen)
{
    begin(MIB);
    goes();
    for (int i = 0; i < BYTES; i += 997) {
        while (!goes()) {
        }
        message[i] ^= 1;
        ck_assert_msg(!goes(), "byte %d", i);
    }
    while (!goes()) {
    }
    message[BYTES - 1] ^= 1;
    ck_assert(!goes());
}
END_TEST

START_TEST(data_that_change_each_time_are_soon_left_alone)
{
    int ours = 0;
    begin(MIB);
    for (int i = 0; i < 10000; i++) {
        message[7]++;
        ours += goes();
    }
    ck_assert_int_gt(ours, 10000 / 600);
    ck_assert_int_lt(ours, 10000 / 50);
    /* and found again when they no longer do */
    int tries = 0;
    while (tries < 600 && !goes())
        tries++;
    ck_assert_int_lt(tries, 600);
    ck_assert(goes());
}
END_TEST

START_TEST(data_that_change_go_from_here_where_it_pays)
{
    int compared = 0;
    begin(MIB);
    renew = true;
    ck_assert(!goes());
    for (int i = 0; i < 10000; i++) {
        struct kept *p = &places[hash(key_of(message))];
        compared += p->parcel.at && !p->passing;
        message[i % BYTES]++;
        ck_assert(goes());
    }
    ck_assert_int_gt(compared, 10000 / 600);
    ck_assert_int_lt(compared, 10000 / 50);
    /* the same again is found out, and then not copied */
    struct kept *p = &places[hash(key_of(message))];
    for (int i = 0; i < 600; i++)
        ck_assert(goes());
    ck_assert_uint_eq(p->misses, 0);
    ck_assert_uint_eq(p->passing, 0);
    /* nor is anything lost when it no longer pays */
    renew = false;
    ck_assert(goes());
    message[5]++;
    ck_assert(!goes());
}
END_TEST

START_TEST(what_is_on_its_way_is_not_touched)
{
    begin(MIB);
    goes();
    struct kept *p = kept_claim(key_of(message), renew);
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_null(kept_claim(key_of(message), renew));
    arrived = false;
    kept_flies(p, 1);
    memset(message, 2, BYTES);
    for (int i = 0; i < 200; i++)
        ck_assert_ptr_null(kept_claim(key_of(message), renew));
    for (int i = 0; i < BYTES; i++)
        INSIST(p->parcel.at[i] == 1, "byte %d of what is on its way", i);
    arrived = true;
    int tries = 0;
    while (tries < 600 && !goes())
        tries++;
    ck_assert_int_lt(tries, 100);
}
END_TEST

START_TEST(messages_differ_by_buffer_length_rank_and_communicator)
{
    begin(MIB);
    goes();
    ck_assert(goes());
    struct kept_key message_key = key_of(message);
    struct kept_key other[4] = {message_key, message_key, message_key, message_key};
    other[0].from = message + 1;
    other[1].bytes--;
    other[2].comm++;
    other[3].rank++;
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(kept_claim(other[i], renew));
        ck_assert(!same(message_key, other[i])); /* wherever they are kept */
    }
}
END_TEST

START_TEST(a_communicator_is_forgotten)
{
    begin(MIB);
    goes();
    ck_assert(goes());
    kept_forget(just, COMM + 1);
    ck_assert(goes());
    kept_forget(just, COMM);
    ck_assert(!goes());
    ck_assert(goes());
}
END_TEST

START_TEST(copies_have_the_room_that_was_attached)
{
    static char many[PLACES * 4];
    begin(3 * BYTES + 5);
    kept_open(10 * BYTES, landed); /* a second one does not count */
    int held = 0;
    arrived = false;
    for (int twice = 0; twice < 2; twice++)
        for (size_t i = 0; i < sizeof many / 64; i++) {
            struct kept_key key = {.from = message, .bytes = BYTES, .comm = i + 1, .rank = 0};
            struct kept *p = kept_claim(key, renew);
            held += p != NULL;
            if (p)
                kept_flies(p, 1);
        }
    ck_assert_int_eq(held, 3);
    arrived = true;
    kept_drain(all, 0);
    kept_close();
    ck_assert_uint_eq(arena_use().live, 0);

    begin(BYTES - 1);
    for (int i = 0; i < 300; i++)
        ck_assert(!goes());
}
END_TEST

static void *arrive_late(void *unused)
{
    struct timespec ns = {.tv_nsec = 50 * 1000 * 1000};
    nanosleep(&ns, NULL);
    arrived = true;
    return unused;
}

START_TEST(draining_waits_for_what_is_on_its_way)
{
    pthread_t thread;
    begin(MIB);
    goes();
    arrived = false;
    ck_assert(goes());
    pthread_create(&thread, NULL, arrive_late, NULL);
    kept_drain(just, COMM + 1);
    ck_assert(!arrived);
    kept_drain(just, COMM);
    ck_assert(arrived);
    pthread_join(thread, NULL);
}
END_TEST

static void *send_both(void *number)
{
    static char common[BYTES];
    unsigned me = (unsigned)(uintptr_t)number;
    char *own = malloc(BYTES);
    memset(own, (int)me, BYTES);
    for (unsigned i = 0; i < effort(4000); i++) {
        const char *from = i % 2 ? own : common;
        struct kept *p = kept_claim(key_of(from), renew);
        if (!p)
            continue;
        EXPECT(p->parcel.at[0] == from[0] && p->parcel.at[BYTES - 1] == from[BYTES - 1],
               "thread %u", me);
        if (i % 7)
            kept_flies(p, 1);
        else
            kept_drop(p);
    }
    free(own);
    return NULL;
}

START_TEST(threads_send_the_same_and_their_own)
{
    pthread_t threads[4];
    for (int pays = 0; pays < 2; pays++) {
        begin(MIB);
        renew = pays;
        for (uintptr_t t = 0; t < 4; t++)
            pthread_create(&threads[t], NULL, send_both, (void *)t);
        for (int t = 0; t < 4; t++)
            pthread_join(threads[t], NULL);
        no_failures();
    }
    kept_drain(all, 0);
}
END_TEST

UNIT_MAIN(the_first_is_the_hosts_and_the_same_again_is_ours, a_change_anywhere_is_seen,
          data_that_change_each_time_are_soon_left_alone,
          data_that_change_go_from_here_where_it_pays, what_is_on_its_way_is_not_touched,
          messages_differ_by_buffer_length_rank_and_communicator, a_communicator_is_forgotten,
          copies_have_the_room_that_was_attached, draining_waits_for_what_is_on_its_way,
          threads_send_the_same_and_their_own)
