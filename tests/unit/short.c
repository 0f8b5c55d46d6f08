/* Short messages: what the host has not judged is the host's, and so is all that comes while the
 * slot holds a message that has not left, which nobody writes. */
#include "bsend/short.c"

#include "tests/unit/unit.h"

/* The two communicators have one place. */
enum { COMM = 77, OTHER = COMM + PEERS, RANK = 1, BYTES = 100 };

static const char message[SHORT_MAX + 1] = "a message";
static volatile size_t too_long = SHORT_MAX + 1; /* the compiler must not know */
static _Atomic bool arrived;
static bool calls_back;
static int asked, depth;

static char *claim_for(size_t bytes, uintptr_t comm, int rank, int tag)
{
    return short_fits(bytes) ? short_claim(message, bytes, comm, rank, tag) : NULL;
}

static char *claim(void)
{
    return claim_for(BYTES, COMM, RANK, 0);
}

static bool sent(uintptr_t *request)
{
    ck_assert_uint_eq(*request, 5);
    asked++;
    INSIST(depth++ == 0, "asked while being asked");
    for (int i = 0; i < 100 && calls_back; i++)
        INSIST(!claim(), "a slot that is being asked for");
    depth--;
    return arrived;
}

static void begin(size_t bytes)
{
    thread_concurrent = false;
    calls_back = false;
    arrived = true;
    short_drain();
    arrived = false;
    peers_forget(COMM);
    peers_forget(OTHER);
    short_open(bytes, sent);
    peers_passed(COMM, RANK);
}

static bool goes(bool leaves)
{
    char *copy = claim();
    if (copy) {
        INSIST(!memcmp(copy, message, BYTES), "another message");
        short_sent(5, leaves);
    }
    return copy;
}

START_TEST(what_the_host_has_not_judged_is_the_hosts)
{
    begin(1000);
    for (int i = 0; i < 100; i++)
        ck_assert(goes(true));
    ck_assert(!claim_for(BYTES, COMM, RANK + 1, 0));
    ck_assert(!claim_for(BYTES, COMM, RANK + PEERS, 0));
    ck_assert(!claim_for(BYTES, COMM, -1, 0));
    ck_assert(!claim_for(BYTES, OTHER, RANK, 0));
    ck_assert(!claim_for(BYTES, COMM, RANK, -1));
    ck_assert(!claim_for(BYTES, COMM, RANK, 32768));
    ck_assert(!claim_for(0, COMM, RANK, 0));
    ck_assert(!claim_for(too_long - SHORT_MAX + 1000, COMM, RANK, 0));
    ck_assert(claim_for(1000, COMM, RANK, 32767) != NULL);
    short_sent(5, true);
    begin(too_long);
    ck_assert(!claim_for(too_long, COMM, RANK, 0));
    ck_assert(claim_for(SHORT_MAX, COMM, RANK, 0) != NULL);
    short_sent(5, true);
}
END_TEST

START_TEST(a_communicator_is_forgotten_and_nothing_goes_without_a_buffer)
{
    begin(1000);
    peers_passed(OTHER, RANK + 1);
    peers_forget(COMM);
    ck_assert(!goes(true));
    ck_assert(claim_for(BYTES, OTHER, RANK + 1, 0) != NULL);
    short_sent(5, true);
    peers_passed(COMM, RANK);
    ck_assert(goes(true));
    short_close();
    ck_assert(!goes(true));
    short_open(1000, sent);
    ck_assert(goes(true));
}
END_TEST

START_TEST(what_has_not_left_keeps_the_slot)
{
    begin(1000);
    ck_assert(goes(false));
    memset(short_sends.copy, 9, BYTES);
    asked = 0;
    for (int i = 0; i < 1000; i++)
        ck_assert(!goes(true));
    ck_assert_int_eq(short_sends.copy[0], 9);
    ck_assert_int_eq(short_sends.copy[BYTES - 1], 9);
    ck_assert_int_gt(asked, 10);
    ck_assert_int_lt(asked, 100);
    arrived = true;
    int tries = 0;
    while (tries < 100 && !goes(true))
        tries++;
    ck_assert_int_lt(tries, 100);
    ck_assert(goes(true));
}
END_TEST

START_TEST(who_is_called_back_finds_the_slot_taken)
{
    begin(1000);
    ck_assert(goes(false));
    calls_back = true;
    for (int i = 0; i < 100; i++)
        ck_assert(!goes(true));
    ck_assert(claim() == NULL);
    calls_back = false;
    arrived = true;
    short_drain();
    ck_assert(claim() != NULL);
    ck_assert(claim() == NULL);
    short_sent(5, true);
    ck_assert(goes(true));
}
END_TEST

static void *arrive(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    arrived = true;
    return NULL;
}

START_TEST(draining_waits_for_what_has_not_left)
{
    pthread_t thread;
    begin(1000);
    ck_assert(goes(false));
    short_close();
    pthread_create(&thread, NULL, arrive, NULL);
    short_drain();
    ck_assert(arrived);
    pthread_join(thread, NULL);
    ck_assert_int_eq(short_sends.state, SHORT_FREE);
}
END_TEST

START_TEST(where_there_are_threads_all_are_the_hosts)
{
    begin(1000);
    thread_concurrent = true;
    short_open(1000, sent);
    peers_passed(COMM, RANK);
    ck_assert(!goes(true));
}
END_TEST

UNIT_MAIN(what_the_host_has_not_judged_is_the_hosts,
          a_communicator_is_forgotten_and_nothing_goes_without_a_buffer,
          what_has_not_left_keeps_the_slot, who_is_called_back_finds_the_slot_taken,
          draining_waits_for_what_has_not_left, where_there_are_threads_all_are_the_hosts)
