/* Leaders of nodes agree by names: with a name service that delays, loses, repeats and refuses. */
#include "node/verdict.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { NAMES_MAX = 256, LEADERS_MAX = 8 };
#define PATIENCE_NS UINT64_C(60000000)

/* Chances in percent. */
static struct faults {
    unsigned delay_us; /* the longest */
    unsigned forget;   /* a name is not stored, although success is reported */
    unsigned deny;     /* a look-up does not find a name that is there */
    unsigned refuse;   /* nothing happens, and an error is reported */
    unsigned report;   /* an error is reported, although the name has been stored */
    bool repeat;       /* every request arrives twice, and the last answer counts */
    bool unique;       /* an error for a name that exists, as Hydra; else it is overwritten */
    const char *never; /* names that contain this are never stored, but may be found or removed */
} faults;

static struct {
    char name[VERDICT_NAME_BYTES], value[VERDICT_VALUE_BYTES];
} stored[NAMES_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct chance chance;

/* The index of a name, or of an unused entry. */
static int index_of(const char *name)
{
    int i = 0;
    while (*stored[i].name && strcmp(stored[i].name, name))
        i++;
    ck_assert_int_lt(i, NAMES_MAX - 1);
    return i;
}

static bool happens(unsigned percent)
{
    pthread_mutex_lock(&mutex);
    bool so = below(&chance, 100) < percent;
    pthread_mutex_unlock(&mutex);
    return so;
}

static void delay(void)
{
    pthread_mutex_lock(&mutex);
    unsigned us = faults.delay_us ? below(&chance, faults.delay_us) : 0;
    pthread_mutex_unlock(&mutex);
    if (us)
        sleep_us(us);
}

static bool store(const char *name, const char *value)
{
    if (happens(faults.refuse))
        return false;
    if (happens(faults.forget))
        return true;
    if (faults.never && strstr(name, faults.never))
        return false;
    pthread_mutex_lock(&mutex);
    int i = index_of(name);
    bool existed = *stored[i].name;
    if (!existed || !faults.unique) {
        snprintf(stored[i].name, sizeof stored[i].name, "%s", name);
        snprintf(stored[i].value, sizeof stored[i].value, "%s", value);
    }
    pthread_mutex_unlock(&mutex);
    return !(existed && faults.unique) && !happens(faults.report);
}

static bool publish_name(const char *name, const char *value)
{
    delay();
    bool result = store(name, value);
    if (faults.repeat)
        result = store(name, value);
    delay();
    return result;
}

static bool look_up_name(const char *name, char value[VERDICT_VALUE_BYTES])
{
    delay();
    pthread_mutex_lock(&mutex);
    int i = index_of(name);
    bool found = *stored[i].name && *stored[i].value;
    if (found)
        memcpy(value, stored[i].value, VERDICT_VALUE_BYTES);
    pthread_mutex_unlock(&mutex);
    delay();
    return found && !happens(faults.deny);
}

static bool remove_name(const char *name, const char *value)
{
    (void)value;
    delay();
    if (happens(faults.refuse))
        return false;
    pthread_mutex_lock(&mutex);
    int i = index_of(name);
    bool found = *stored[i].name && *stored[i].value;
    *stored[i].value = '\0';
    pthread_mutex_unlock(&mutex);
    return found;
}

static const struct name_service names = {publish_name, look_up_name, remove_name};

/* ---- leaders ---- */

static int world_size, leaders;
static bool cyclic;
static unsigned late_us[LEADERS_MAX];
static bool has_library[LEADERS_MAX];
static enum nodes_verdict verdicts[LEADERS_MAX];
static _Thread_local int my_node;

static bool is_here(int rank)
{
    int each = world_size / leaders;
    return (cyclic ? rank % leaders : rank / each) == my_node;
}

static void lead(unsigned me)
{
    char ranks[VERDICT_VALUE_BYTES];
    my_node = (int)me;
    EXPECT(verdict_write_ranks(ranks, world_size, is_here));
    struct leader l = {.names = &names,
                       .job = 7,
                       .rank = cyclic ? (int)me : (int)me * (world_size / leaders),
                       .world_size = world_size,
                       .nodes = leaders,
                       .ranks = ranks,
                       .patience_ns = PATIENCE_NS};
    if (!has_library[me])
        return;
    sleep_us(late_us[me]);
    verdicts[me] = verdict_find(&l);
}

static void begin(int nodes, struct faults f)
{
    memset(stored, 0, sizeof stored);
    memset(verdicts, 0, sizeof verdicts);
    memset(late_us, 0, sizeof late_us);
    faults = f;
    leaders = nodes;
    world_size = 3 * nodes;
    for (int i = 0; i < nodes; i++)
        has_library[i] = true;
}

/* Returns the number of leaders with a positive verdict. */
static int agree(void)
{
    int positive = 0;
    as_ranks((unsigned)leaders, lead);
    for (int i = 0; i < leaders; i++)
        positive += verdicts[i] == NODES_ALL;
    return positive;
}

static void expect_all(int positive)
{
    ck_assert_int_eq(agree(), positive);
}

START_TEST(leaders_agree)
{
    for (int nodes = 2; nodes <= LEADERS_MAX; nodes++)
        for (int i = 0; i < 2; i++) {
            begin(nodes, (struct faults){.unique = i});
            cyclic = i;
            expect_all(nodes);
        }
    cyclic = false;
}
END_TEST

START_TEST(a_node_without_the_library_is_noticed)
{
    for (int without = 0; without < 3; without++) {
        begin(3, (struct faults){0});
        has_library[without] = false;
        expect_all(0);
    }
}
END_TEST

START_TEST(a_late_node_is_waited_for_or_left_out_by_all)
{
    for (unsigned late = 0; late < 2; late++)
        for (unsigned us = 20000; us <= 140000; us += 20000) {
            begin(3, (struct faults){0});
            late_us[late] = us;
            int positive = agree();
            ck_assert_msg(positive == 0 || positive == 3, "%d of 3", positive);
        }
}
END_TEST

static void expect_one_verdict(const char *what, struct faults f)
{
    int good = 0;
    for (unsigned i = 0; i < effort(24); i++) {
        begin(2 + (int)(i % 4), f);
        int positive = agree();
        ck_assert_msg(positive == 0 || positive == leaders, "%s: %d of %d", what, positive,
                      leaders);
        good += positive > 0;
    }
    printf("%s: positive %d times\n", what, good);
}

START_TEST(a_faulty_service_makes_no_two_leaders_disagree)
{
    expect_one_verdict("delays", (struct faults){.delay_us = 20000});
    expect_one_verdict("forgets", (struct faults){.forget = 20});
    expect_one_verdict("denies", (struct faults){.deny = 30});
    expect_one_verdict("refuses", (struct faults){.refuse = 20});
    expect_one_verdict("reports errors", (struct faults){.report = 50});
    expect_one_verdict("repeats", (struct faults){.repeat = true, .unique = true});
    expect_one_verdict("does it all", (struct faults){.delay_us = 500,
                                                      .forget = 10,
                                                      .deny = 10,
                                                      .refuse = 10,
                                                      .report = 10,
                                                      .repeat = true,
                                                      .unique = true});
}
END_TEST

START_TEST(errors_for_names_that_are_stored_do_no_harm)
{
    begin(4, (struct faults){.report = 100});
    expect_all(4);
    begin(4, (struct faults){.repeat = true, .unique = true});
    expect_all(4);
}
END_TEST

START_TEST(a_verdict_that_cannot_be_published_makes_nobody_wait)
{
    begin(3, (struct faults){.never = "verdict"});
    expect_all(0);
}
END_TEST

/* An earlier job of the same size, with all names of an agreement. */
START_TEST(names_of_an_earlier_job_do_no_harm)
{
    for (int unique = 0; unique < 2; unique++) {
        begin(3, (struct faults){.unique = unique});
        expect_all(3);
        has_library[2] = false;
        memset(verdicts, 0, sizeof verdicts);
        expect_all(0);
    }
}
END_TEST

/* The shortest of some tries: on a busy machine, threads wait for processors. */
START_TEST(without_names_nobody_waits)
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 20 && shortest >= PATIENCE_NS; i++) {
        begin(2, (struct faults){.refuse = 100});
        uint64_t start = sync_now_ns();
        expect_all(0);
        shortest = min_size(shortest, sync_now_ns() - start);
        ck_assert_int_eq(verdicts[0], NODES_NO_NAMES);
        ck_assert_int_eq(verdicts[1], NODES_NO_NAMES);
    }
    ck_assert_uint_lt(shortest, PATIENCE_NS);
}
END_TEST

UNIT_MAIN(leaders_agree, a_node_without_the_library_is_noticed,
          a_late_node_is_waited_for_or_left_out_by_all,
          a_faulty_service_makes_no_two_leaders_disagree,
          errors_for_names_that_are_stored_do_no_harm,
          a_verdict_that_cannot_be_published_makes_nobody_wait, names_of_an_earlier_job_do_no_harm,
          without_names_nobody_waits)
