/* The statistics contain each count of each thread exactly once, and the JSON is valid whatever the
 * version string of the host contains. */
#include "core/stats.h"
#include "core/config.h"
#include "core/thread.h"
#include "tests/unit/unit.h"

#include <ctype.h>
#include <string.h>

static const char *const calls[] = {"MPI_Put", "MPI_Get", "MPI_Win_lock", NULL};

/* ---- a strict reader of JSON ---- */

static const char *at; /* the rest of the text; NULL: it is not JSON */
static const char *wanted;
static char path[400], found[400];

static void expect(char c)
{
    at = at && *at == c ? at + 1 : NULL;
}

static void read_string(char *to, size_t room)
{
    size_t n = 0;
    expect('"');
    while (at && *at != '"') {
        unsigned char c = (unsigned char)*at++;
        if (c < 0x20) {
            at = NULL;
            return;
        }
        if (c == '\\') {
            unsigned code;
            c = (unsigned char)*at++;
            if (c == 'u' && sscanf(at, "%4x", &code) == 1 && code < 0x80) {
                c = (unsigned char)code;
                at += 4;
            } else if (c != '"' && c != '\\') {
                at = NULL;
                return;
            }
        }
        if (n < room - 1)
            to[n++] = (char)c;
    }
    to[n] = 0;
    expect('"');
}

static void read_value(void);

/* Its value is the text of the array. */
static void read_array(char *to, size_t room)
{
    size_t length = at ? strcspn(at, "]") + 1 : room;
    at = length < room && strspn(at + 1, "0123456789,") == length - 2 ? at : NULL;
    if (at)
        snprintf(to, length + 1, "%s", at);
    at = at ? at + length : NULL;
}

static void read_object(void)
{
    size_t length = strlen(path);
    char key[100];
    expect('{');
    while (at && *at != '}') {
        read_string(key, sizeof key);
        expect(':');
        snprintf(path + length, sizeof path - length, "/%s", key);
        read_value();
        path[length] = 0;
        if (at && *at == ',' && at[1] == '"')
            at++;
        else if (at && *at != '}')
            at = NULL;
    }
    expect('}');
}

static void read_value(void)
{
    char value[400] = "";
    if (at && *at == '{')
        read_object();
    else if (at && *at == '"')
        read_string(value, sizeof value);
    else if (at && *at == '[')
        read_array(value, sizeof value);
    else if (at && isdigit((unsigned char)*at))
        for (size_t n = 0; isdigit((unsigned char)*at); at++)
            value[n++] = *at;
    else
        at = NULL;
    if (*value && !strcmp(path, wanted))
        strcpy(found, value);
}

/* The value at a path of the JSON, "" if there is none. Fails if the text is not JSON. */
static const char *look_up(const char *json, const char *where)
{
    at = json;
    wanted = where;
    *path = *found = 0;
    read_object();
    ck_assert_msg(at && !strcmp(at, "\n"), "not JSON: %s", json);
    return found;
}

/* The members of the node, as ranks 3, 5 and 7 of the job, and the bytes between them. */
static int world_rank(uint32_t member)
{
    return 3 + 2 * (int)member;
}

static uint64_t bytes_between(uint32_t from, uint32_t to)
{
    static const uint64_t bytes[3][3] = {{0, 4096, 17}, {0}, {1, 0, 2}};
    return bytes[from][to];
}

static struct stats_job job = {
    .node = "node1", .ranks = 4, .world_rank = world_rank, .bytes = bytes_between};

static char *json_of(const struct stats_snapshot *sum, const struct stats_host *host)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    stats_print_json(out, "1.2.3-dev+g123", sum, host, &job, calls);
    fclose(out);
    return text;
}

#define EXPECT_VALUE(json, where, what) ck_assert_str_eq(look_up(json, where), what)

/* ---- printing ---- */

static const struct stats_host plain_host = {"Open MPI", "4.1.4", "ompi", ""};

START_TEST(an_empty_job_is_valid_json)
{
    static const struct stats_snapshot none;
    char *json = json_of(&none, &plain_host);
    EXPECT_VALUE(json, "/format", "1");
    EXPECT_VALUE(json, "/mpiaccel", "1.2.3-dev+g123");
    EXPECT_VALUE(json, "/host/name", "Open MPI");
    EXPECT_VALUE(json, "/host/version", "4.1.4");
    EXPECT_VALUE(json, "/host/abi", "ompi");
    EXPECT_VALUE(json, "/host/device", "");
    EXPECT_VALUE(json, "/ranks", "0");
    EXPECT_VALUE(json, "/windows/fast", "0");
    EXPECT_VALUE(json, "/heap/live_bytes", "0");
    EXPECT_VALUE(json, "/calls/MPI_Put/fast", "");
    free(json);
}
END_TEST

START_TEST(every_number_has_its_key)
{
    static struct stats_snapshot sum;
    sum = (struct stats_snapshot){.ranks = 4,
                                  .elapsed = 6,
                                  .windows_fast = 5,
                                  .host_copies = 12,
                                  .host_copied = 13,
                                  .heap_peak = UINT64_MAX,
                                  .heap_live = 7,
                                  .heap_allocations = 8,
                                  .polling_ns = 1000,
                                  .yielding_ns = 2000000000,
                                  .sleeping_ns = 1500000000};
    sum.counts.fast[0] = 10;
    sum.counts.bytes[0] = 11;
    const unsigned first = REASON_NONE + 1;
    for (unsigned r = first; r < REASON_COUNT; r++)
        sum.deferred[1][r] = r - first;
    sum.windows_deferred[REASON_DYNAMIC] = 3;
    sum.windows_deferred[REASON_INTERCOMM] = 4;
    char *json = json_of(&sum, &plain_host), number[32], where[300];
    EXPECT_VALUE(json, "/ranks", "4");
    EXPECT_VALUE(json, "/job_ranks", "4");
    EXPECT_VALUE(json, "/node", "node1");
    EXPECT_VALUE(json, "/elapsed_ns", "6");
    EXPECT_VALUE(json, "/calls/MPI_Put/fast", "10");
    EXPECT_VALUE(json, "/calls/MPI_Put/bytes", "11");
    EXPECT_VALUE(json, "/calls/MPI_Put/deferred", "0");
    EXPECT_VALUE(json, "/calls/MPI_Get/fast", "0");
    snprintf(number, sizeof number, "%d", (REASON_COUNT - 1) * (REASON_COUNT - 2) / 2);
    EXPECT_VALUE(json, "/calls/MPI_Get/deferred", number);
    for (unsigned r = first + 1; r < REASON_COUNT; r++) {
        snprintf(number, sizeof number, "%u", r - first);
        snprintf(where, sizeof where, "/calls/MPI_Get/reasons/%s", stats_reasons[r]);
        EXPECT_VALUE(json, where, number);
        snprintf(where, sizeof where, "/remedies/%s", stats_reasons[r]);
        EXPECT_VALUE(json, where, stats_advice[r]);
    }
    snprintf(where, sizeof where, "/remedies/%s", stats_reasons[first]);
    EXPECT_VALUE(json, where, "");
    EXPECT_VALUE(json, "/calls/MPI_Win_lock/fast", "");
    EXPECT_VALUE(json, "/windows/fast", "5");
    EXPECT_VALUE(json, "/windows/deferred", "7");
    snprintf(where, sizeof where, "/windows/reasons/%s", stats_reasons[REASON_INTERCOMM]);
    EXPECT_VALUE(json, where, "4");
    EXPECT_VALUE(json, "/host_copies/count", "12");
    EXPECT_VALUE(json, "/host_copies/bytes", "13");
    EXPECT_VALUE(json, "/heap/peak_bytes", "18446744073709551615");
    EXPECT_VALUE(json, "/heap/live_bytes", "7");
    EXPECT_VALUE(json, "/heap/allocations", "8");
    EXPECT_VALUE(json, "/waiting/polling_ns", "1000");
    EXPECT_VALUE(json, "/waiting/yielding_ns", "2000000000");
    EXPECT_VALUE(json, "/waiting/sleeping_ns", "1500000000");
    EXPECT_VALUE(json, "/shortage/cause", "");
    free(json);
}
END_TEST

START_TEST(what_was_recorded_has_its_key)
{
    static struct stats_snapshot sum;
    sum = (struct stats_snapshot){
        .heap_peak = 30,
        .heap = {.interval = 2000000, .first = 7, .count = 3, .highest = {0, 30, 20}}};
    sum.counts.fast[0] = sum.counts.fast[1] = 10;
    sum.counts.bytes[0] = 11;
    sum.sizes[0][0] = 1;
    sum.sizes[0][1] = 2;
    sum.sizes[0][4] = 3;
    sum.sizes[0][STATS_SIZES - 1] = 4;
    sum.sizes[1][0] = 10;
    job.members = 3;
    char *json = json_of(&sum, &plain_host);
    EXPECT_VALUE(json, "/calls/MPI_Put/sizes/0", "1");
    EXPECT_VALUE(json, "/calls/MPI_Put/sizes/1", "2");
    EXPECT_VALUE(json, "/calls/MPI_Put/sizes/8", "3");
    EXPECT_VALUE(json, "/calls/MPI_Put/sizes/274877906944", "4");
    EXPECT_VALUE(json, "/calls/MPI_Get/sizes/0", ""); /* it has moved no data */
    EXPECT_VALUE(json, "/heap/over_time/interval_ns", "2000000");
    EXPECT_VALUE(json, "/heap/over_time/highest_bytes", "[0,30,20]");
    EXPECT_VALUE(json, "/traffic/3/5", "4096");
    EXPECT_VALUE(json, "/traffic/3/7", "17");
    EXPECT_VALUE(json, "/traffic/7/3", "1");
    EXPECT_VALUE(json, "/traffic/7/7", "2");
    ck_assert_ptr_null(strstr(json, "\"5\":{"));
    free(json);
    job.members = 0;
}
END_TEST

/* The summary with every run of spaces reduced to one. */
static const char *text_of(const struct stats_snapshot *sum)
{
    static char text[4000];
    char raw[4000] = "";
    FILE *out = fmemopen(raw, sizeof raw, "w");
    stats_print_text(out, "1.2.3", sum, &plain_host, &job, calls);
    fclose(out);
    size_t n = 0;
    for (const char *c = raw; *c; c++)
        if (*c != ' ' || !n || text[n - 1] != ' ')
            text[n++] = *c;
    text[n] = 0;
    return text;
}

START_TEST(a_shortage_of_processors_is_told)
{
    static const struct stats_snapshot none;
    job.shortage = (struct shortage){SHORTAGE_QUOTA, 4, 1500, false};
    char *json = json_of(&none, &plain_host);
    EXPECT_VALUE(json, "/shortage/cause", "quota");
    EXPECT_VALUE(json, "/shortage/ranks", "4");
    EXPECT_VALUE(json, "/shortage/processor_thousandths", "1500");
    free(json);
    ck_assert(strstr(text_of(&none), " sleeping; 4 ranks have a CPU quota of 1.50 processors\n"));
    job.shortage = (struct shortage){0};
}
END_TEST

static ssize_t write_lines(void *count, const char *text, size_t length)
{
    ck_assert_msg(length && text[length - 1] == '\n', "part of a line: %.*s", (int)length, text);
    ++*(unsigned *)count;
    return (ssize_t)length;
}

/* stderr has no buffer, and lines of several ranks must not mix. */
START_TEST(each_line_of_the_summary_is_written_at_once)
{
    static const struct stats_snapshot none;
    unsigned writes = 0;
    FILE *out = fopencookie(&writes, "w", (cookie_io_functions_t){.write = write_lines});
    setvbuf(out, NULL, _IONBF, 0);
    stats_print_text(out, "1.2.3", &none, &plain_host, &job, calls);
    ck_assert_uint_ge(writes, 5);
    fclose(out);
}
END_TEST

/* A letter of Latin-1, a truncated and an overlong character, and valid ones of two to four
 * bytes */
START_TEST(text_that_is_not_utf_8_is_escaped)
{
    static const char command[] =
        "./M\xe4t\0\xe2\x82\0\xc0\xaf\0\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
    const struct stats_identity identity = {command, sizeof command, "1", "2026-11-28T07:30:00Z"};
    static const struct stats_snapshot none;
    job.identity = &identity;
    char *json = json_of(&none, &plain_host);
    job.identity = NULL;
    ck_assert_ptr_nonnull(
        strstr(json, "\"command\":[\"./M\\u00e4t\",\"\\u00e2\\u0082\",\"\\u00c0\\u00af\","
                     "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"]"));
    free(json);
}
END_TEST

START_TEST(host_names_are_escaped)
{
    static const struct stats_snapshot none;
    static const char odd[] = "a \"b\" \\c\\ \n\t\r\x01\x1f {}[],: \xc3\xa9 \\u0041";
    struct stats_host host = {odd, odd, "mpich", odd};
    char *json = json_of(&none, &host);
    EXPECT_VALUE(json, "/host/name", odd);
    EXPECT_VALUE(json, "/host/version", odd);
    EXPECT_VALUE(json, "/host/device", odd);
    free(json);
}
END_TEST

START_TEST(the_summary_lists_calls_and_reasons)
{
    static struct stats_snapshot sum;
    sum = (struct stats_snapshot){.ranks = 4,
                                  .elapsed = 16000000000,
                                  .polling_ns = 1000000000,
                                  .yielding_ns = 2000000000,
                                  .sleeping_ns = 1000000000,
                                  .windows_fast = 5,
                                  .heap_peak = 9000,
                                  .heap_live = 7,
                                  .heap_allocations = 8};
    sum.host_copies = 13;
    sum.host_copied = 14 << 20;
    sum.counts.fast[0] = 10;
    sum.counts.bytes[0] = 1536;
    sum.counts.fast[1] = 999;
    sum.deferred[1][REASON_INSIDE] = 1;
    sum.deferred[2][REASON_GPU] = 12;
    sum.windows_deferred[REASON_GPU] = 4;
    char expected[2000];
    snprintf(expected, sizeof expected,
             "mpiaccel: 1.2.3 with Open MPI 4.1.4, 4 ranks, 4.00 s\n"
             "mpiaccel: accelerated: 1009 of 1022 calls (99 %%) with 1.5 KiB\n"
             "mpiaccel:\n"
             "mpiaccel: call accelerated deferred share bytes\n"
             "mpiaccel: MPI_Put 10 0 100 %% 1.5 KiB\n"
             "mpiaccel: MPI_Get 999 1 >99 %%\n"
             "mpiaccel: MPI_Win_lock 0 12 0 %%\n"
             "mpiaccel: windows 5 4 56 %%\n"
             "mpiaccel:\n"
             "mpiaccel: deferred, why, and what to do:\n"
             "mpiaccel: windows 4, MPI_Win_lock 12\n"
             "mpiaccel: %s\n"
             "mpiaccel: -> %s\n"
             "mpiaccel: MPI_Get 1\n"
             "mpiaccel: %s\n"
             "mpiaccel: %s\n"
             "mpiaccel:\n"
             "mpiaccel: waiting: 25 %% of the ranks' time: 1.00 s polling, 2.00 s yielding, 1.00 s "
             "sleeping\n"
             "mpiaccel: shared heap: 8 allocations, peak 8.8 KiB, not freed 7 B\n"
             "mpiaccel: copies by the host without a system call: 13 with 14.0 MiB\n",
             stats_reasons[REASON_GPU], stats_advice[REASON_GPU], stats_reasons[REASON_INSIDE],
             stats_advice[REASON_INSIDE]);
    ck_assert_str_eq(text_of(&sum), expected);
}
END_TEST

/* Half a second of sends and 3 s of waiting for them, and half a second in an accelerated call. */
static struct stats_snapshot sum_of_messages(void)
{
    struct stats_snapshot sum = {.ranks = 1, .elapsed = 8000000000};
    sum.counts.fast[1] = 1;
    sum.records[1] = (struct stats_record){.calls = 1, .fast_ns = 500000000};
    sum.deferred[0][REASON_MESSAGE] = 4;
    sum.sizes[0][10] = 2;
    sum.records[0] = (struct stats_record){.calls = 2, .host_ns = 500000000, .host_bytes = 1024};
    sum.deferred[2][REASON_MESSAGE] = 1;
    sum.records[2] =
        (struct stats_record){.calls = 1, .host_ns = 1000000000, .waited_ns = 2000000000};
    return sum;
}

START_TEST(the_summary_says_where_the_time_goes)
{
    static struct stats_snapshot sum;
    sum = sum_of_messages();
    const char *text = text_of(&sum);
    ck_assert_msg(strstr(text, "mpiaccel: 1.2.3 with Open MPI 4.1.4, 1 of 4 ranks "), "%s", text);
    ck_assert_msg(strstr(text,
                         "mpiaccel: time in MPI: 50 % of the ranks' time; of that, 12 % "
                         "accelerated, 38 % left to Open MPI, 50 % waiting\n"
                         "mpiaccel: 75 % of the time in MPI is in MPI_Win_lock: messages of "
                         "512 B on average, which the library leaves to Open MPI\n"
                         "mpiaccel: short messages are as fast as without the library; inside a "
                         "node, MPI_Put into a window of MPI_Win_allocate would be faster. "
                         "Accelerated calls, with 12 % of the time in MPI, waiting included, gain\n"
                         "mpiaccel:\n"
                         "mpiaccel: time in MPI calls mean size seconds share waiting\n"
                         "mpiaccel: MPI_Win_lock 1 3.000 75 % 67 %\n"
                         "mpiaccel: MPI_Put 2 512 B 0.500 12 % 0 %\n"
                         "mpiaccel: MPI_Get 1 0.500 12 % 0 %\n"
                         "mpiaccel:\n"),
                  "%s", text);
    ck_assert_msg(!strstr(text, "private memory"), "%s", text);
}
END_TEST

START_TEST(the_summary_says_what_alloc_mem_would_help)
{
    static struct stats_snapshot sum;
    sum = sum_of_messages();
    sum.records[0].long_bytes = 1024 << 20;
    sum.records[0].private_bytes = 768 << 20;
    const char *text = text_of(&sum);
    ck_assert_msg(
        strstr(text, "mpiaccel: long messages: 768 MiB of 1.0 GiB sent from private memory; "),
        "%s", text);
}
END_TEST

START_TEST(the_summary_says_which_messages_gain)
{
    static struct stats_snapshot sum;
    sum = sum_of_messages();
    sum.records[0].host_bytes = 2 * 16384;
    sum.sizes[0][15] = 2;
    sum.sizes[0][10] = 0;
    sum.sizes[0][0] = 100; /* to MPI_PROC_NULL */
    sum.records[0].eager_bytes = 16384;
    const char *text = text_of(&sum);
    ck_assert_msg(
        strstr(text, "mpiaccel: eager messages: 16.0 KiB sent faster by Open MPI, because "), "%s",
        text);
    ck_assert_msg(!strstr(text, "short messages"), "%s", text);
    ck_assert_msg(strstr(text, "messages of 16.0 KiB on average, which Open MPI sends faster "),
                  "%s", text);
    sum.records[0].eager_bytes = 0; /* to other nodes */
    ck_assert_msg(strstr(text_of(&sum), "short messages"), "no line");
    sum.records[0].long_bytes = 16384;
    ck_assert_msg(!strstr(text_of(&sum), "short messages"), "a line");
    sum.sizes[0][12] = 3; /* most are short */
    ck_assert_msg(strstr(text_of(&sum), "short messages"), "no line");
}
END_TEST

START_TEST(the_summary_says_that_accelerated_calls_gain)
{
    static struct stats_snapshot sum;
    sum = sum_of_messages();
    sum.records[1].fast_ns = 170000000; /* of 3.67 s: less than 5 % */
    ck_assert_msg(strstr(text_of(&sum), "little to gain: short messages "), "no line");
    sum.records[1].waited_ns = 20000000;
    ck_assert_msg(!strstr(text_of(&sum), "little to gain"), "a line");
}
END_TEST

START_TEST(the_summary_says_why_messages_do_not_gain)
{
    static struct stats_snapshot sum;
    sum = sum_of_messages();
    sum.records[0].long_bytes = 48 << 10;
    sum.records[0].unraised_bytes = 16 << 10;
    ck_assert_msg(!strstr(text_of(&sum), "eager limit"), "no reason is known");
    job.eager = (struct stats_eager){
        .wanted = 32 << 10, .why_not = "of a test", .advice = "end it", .setting = ""};
    const char *text = text_of(&sum);
    ck_assert_msg(
        strstr(text, "mpiaccel: eager limit: not raised (of a test), so 16.0 KiB in messages of "
                     "up to 32.0 KiB are sent as without the library; end it\n"),
        "%s", text);
    job.eager.setting = "NAME";
    ck_assert_msg(strstr(text_of(&sum), "(of a test: NAME), "), "no name");
    char *json = json_of(&sum, &plain_host);
    EXPECT_VALUE(json, "/calls/MPI_Put/unraised_bytes", "16384");
    EXPECT_VALUE(json, "/eager_limit/wanted", "32768");
    EXPECT_VALUE(json, "/eager_limit/raised_to", "0");
    EXPECT_VALUE(json, "/eager_limit/reason", "of a test");
    EXPECT_VALUE(json, "/eager_limit/remedy", "end it");
    EXPECT_VALUE(json, "/eager_limit/setting", "NAME");
    free(json);
    sum.records[0].eager_bytes = 8 << 10; /* with the heap of malloc */
    sum.records[0].unraised_bytes = 0;
    job.eager.raised = 16 << 10;
    text = text_of(&sum);
    ck_assert_msg(strstr(text, "at once, but to 16.0 KiB only: of a test\n"), "%s", text);
    ck_assert_msg(!strstr(text, "eager limit"), "%s", text);
    memset(&job.eager, 0, sizeof job.eager);
}
END_TEST

START_TEST(the_summary_says_what_an_accelerated_program_does)
{
    static struct stats_snapshot sum;
    sum = (struct stats_snapshot){.ranks = 1, .elapsed = 8000000000};
    sum.counts.fast[1] = 1;
    sum.records[1] =
        (struct stats_record){.calls = 1, .fast_ns = 1000000000, .waited_ns = 3000000000};
    const char *text = text_of(&sum);
    ck_assert_msg(strstr(text,
                         "mpiaccel: 100 % of the time in MPI is in MPI_Get, which the library "
                         "accelerates; 75 % of that is waiting for other ranks\n"),
                  "%s", text);
    ck_assert_msg(!strstr(text, "little to gain"), "%s", text);
}
END_TEST

START_TEST(records_have_their_keys)
{
    static struct stats_snapshot sum;
    sum = sum_of_messages();
    sum.records[0].between_nodes = 3;
    sum.records[0].eager_bytes = 300;
    sum.records[0].long_bytes = 600;
    sum.records[0].private_bytes = 500;
    char *json = json_of(&sum, &plain_host);
    EXPECT_VALUE(json, "/calls/MPI_Put/calls", "2");
    EXPECT_VALUE(json, "/calls/MPI_Put/between_nodes", "3");
    EXPECT_VALUE(json, "/calls/MPI_Get/between_nodes", "");
    EXPECT_VALUE(json, "/calls/MPI_Put/time_ns/host", "500000000");
    EXPECT_VALUE(json, "/calls/MPI_Put/host_bytes", "1024");
    EXPECT_VALUE(json, "/calls/MPI_Put/eager_bytes", "300");
    EXPECT_VALUE(json, "/calls/MPI_Put/long_bytes", "600");
    EXPECT_VALUE(json, "/calls/MPI_Put/private_bytes", "500");
    EXPECT_VALUE(json, "/calls/MPI_Put/sizes/512", "2");
    EXPECT_VALUE(json, "/calls/MPI_Get/time_ns/accelerated", "500000000");
    EXPECT_VALUE(json, "/calls/MPI_Get/host_bytes", "");
    EXPECT_VALUE(json, "/calls/MPI_Win_lock/time_ns/waiting", "2000000000");
    free(json);
}
END_TEST

START_TEST(the_job_has_its_keys)
{
    static const struct stats_snapshot none;
    static const char command[] = "./a b\0-n\0"
                                  "5"; /* ended by a zero */
    const struct stats_identity identity = {command, sizeof command, "17.0",
                                            "2026-01-02T03:04:05Z"};
    job.identity = &identity;
    char *json = json_of(&none, &plain_host);
    const char *key = strstr(json, "\"job\":");
    ck_assert_ptr_nonnull(key);
    ck_assert(!strncmp(key,
                       "\"job\":{\"command\":[\"./a b\",\"-n\",\"5\"],\"id\":\"17.0\","
                       "\"started\":\"2026-01-02T03:04:05Z\"},",
                       82));
    free(json);
    job.identity = NULL;
}
END_TEST

START_TEST(one_rank_and_one_call_are_singular)
{
    static const struct stats_host mpich = {"MPICH", "4.0.2", "mpich", "ch4:ucx"};
    static struct stats_snapshot sum;
    static const char expected[] = "mpiaccel: 1.2.3 with MPICH 4.0.2, ch4:ucx, 1 rank, 0.00 s\n"
                                   "mpiaccel: accelerated: 1 of 1 call (100 %) with 0 B\n";
    sum = (struct stats_snapshot){.ranks = 1};
    sum.counts.fast[0] = 1;
    struct stats_job alone = job;
    alone.ranks = 1;
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    stats_print_text(out, "1.2.3", &sum, &mpich, &alone, calls);
    fclose(out);
    ck_assert_msg(!strncmp(text, expected, strlen(expected)), "%s", text);
    free(text);
}
END_TEST

START_TEST(the_summary_says_that_one_machine_counts_as_several)
{
    static struct stats_snapshot sum;
    sum = (struct stats_snapshot){.ranks = 3};
    ck_assert(!strstr(text_of(&sum), "MPIACCEL_NODE_SIZE"));
    config.node_size = 2;
    const char *text = text_of(&sum);
    ck_assert_msg(strstr(text, "mpiaccel: MPIACCEL_NODE_SIZE=2 makes several nodes of one machine"),
                  "%s", text);
    config.node_size = 0;
}
END_TEST

START_TEST(the_summary_of_one_node_says_so)
{
    static struct stats_snapshot sum;
    static const char expected[] =
        "mpiaccel: 1.2.3 with Open MPI 4.1.4, 3 of 4 ranks (node node1), 0.00 s\n"
        "mpiaccel: accelerated: no call; the program did not communicate\n";
    sum = (struct stats_snapshot){.ranks = 3};
    const char *text = text_of(&sum);
    ck_assert_msg(!strncmp(text, expected, strlen(expected)), "%s", text);
    ck_assert_msg(strstr(text, "mpiaccel report stats.*.json"), "%s", text);
    ck_assert_msg(!strstr(text, "call accelerated deferred"), "a table of nothing: %s", text);
}
END_TEST

/* ---- counting ---- */

static unsigned rounds;

static void count_in_each_thread(unsigned me)
{
    for (unsigned i = 0; i < rounds; i++) {
        thread_count(thread_self(), me % 2, 3);
        if (i % 100 == 0) {
            stats_defer(2, REASON_GPU);
            stats_window(i % 200 == 0, REASON_INTERCOMM);
            stats_count(&stats_own.host_copies, 7);
        }
    }
}

START_TEST(counts_of_ended_threads_are_kept)
{
    static struct stats_snapshot before, after;
    rounds = effort(20000) / 200 * 200;
    thread_concurrent = true;
    stats_take(&before);
    as_ranks(6, count_in_each_thread);
    thread_count(thread_self(), 0, 5); /* this thread has not ended */
    thread_fold_all();
    thread_fold_all();
    stats_take(&after);
    ck_assert_uint_eq(after.ranks, 1);
    ck_assert_uint_eq(after.counts.fast[0] - before.counts.fast[0], 3 * rounds + 1);
    ck_assert_uint_eq(after.counts.fast[1] - before.counts.fast[1], 3 * rounds);
    ck_assert_uint_eq(after.counts.bytes[0] - before.counts.bytes[0], 9 * rounds + 5);
    ck_assert_uint_eq(after.deferred[2][REASON_GPU] - before.deferred[2][REASON_GPU],
                      6 * rounds / 100);
    ck_assert_uint_eq(after.host_copies - before.host_copies, 7 * 6 * rounds / 100);
    ck_assert_uint_eq(after.windows_fast - before.windows_fast, 6 * rounds / 200);
    ck_assert_uint_eq(after.windows_deferred[REASON_INTERCOMM] -
                          before.windows_deferred[REASON_INTERCOMM],
                      6 * rounds / 200);
}
END_TEST

/* The samples from which waiting is estimated may be longer than a call. */
START_TEST(waiting_is_part_of_the_time)
{
    static struct stats_snapshot before, after;
    sync_configure(false, NULL);
    stats_take(&before);
    stats_time(1, false, 1000000, 0);
    stats_time(1, false, 1000000, 1500000);
    stats_time(1, true, 1000000, 5000000);
    stats_take(&after);
    ck_assert_uint_eq(after.records[1].calls - before.records[1].calls, 3);
    ck_assert_uint_eq(after.records[1].fast_ns, 0);
    double host = (double)after.records[1].host_ns, waited = (double)after.records[1].waited_ns;
    ck_assert_msg(waited / host > 4.5 && waited / host < 5.5, "%f of %f", waited, host);
}
END_TEST

START_TEST(sizes_are_counted_by_power_of_two)
{
    static struct stats_snapshot before, after;
    static const struct {
        uint64_t count, bytes;
        unsigned class;
    } cases[] = {{1, 0, 0},
                 {1, 1, 1},
                 {1, 2, 2},
                 {1, 3, 2},
                 {1, 4, 3},
                 {1, 4095, 12},
                 {1, 4096, 13},
                 {3, 3 * 8, 4},
                 {1, UINT64_C(1) << 37, 38},
                 {1, (UINT64_C(1) << 38) - 1, 38},
                 {2, UINT64_C(1) << 39, STATS_SIZES - 1},
                 {1, UINT64_MAX, STATS_SIZES - 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stats_take(&before);
        stats_sizes(1, cases[i].count, cases[i].bytes);
        stats_take(&after);
        for (unsigned k = 0; k < STATS_SIZES; k++)
            INSIST(after.sizes[1][k] - before.sizes[1][k] ==
                       (k == cases[i].class ? cases[i].count : 0),
                   "case %zu, class %u", i, k);
    }
}
END_TEST

START_TEST(snapshots_add_up)
{
    static struct stats_snapshot sum, one;
    memset(&one, 0, sizeof one);
    one.ranks = 1;
    one.elapsed = 9;
    one.windows_fast = 2;
    uint64_t value = 0;
#define STAT(member, object, key, meaning) one.member = ++value;
#include "core/statistics.def"
    for (unsigned r = 0; r < REASON_COUNT; r++)
        one.windows_deferred[r] = 10 + r;
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        one.counts.fast[c] = c;
        one.counts.bytes[c] = 2 * c;
        for (unsigned r = 0; r < REASON_COUNT; r++)
            one.deferred[c][r] = c + r;
        one.sizes[c][c % STATS_SIZES] = c;
        value = c;
#define STAT_OF_CALL(member, object, key, shown_if, meaning) one.records[c].member = value++;
#include "core/statistics.def"
    }
    timeline_set(&one.heap, 0, 6);
    memset(&sum, 0, sizeof sum);
    for (int rank = 0; rank < 3; rank++)
        stats_add(&sum, &one);
    ck_assert_uint_eq(sum.ranks, 3);
    ck_assert_uint_eq(sum.elapsed, 27);
    ck_assert_uint_eq(sum.windows_fast, 6);
    value = 0;
#define STAT(member, object, key, meaning) ck_assert_uint_eq(sum.member, 3 * ++value);
#include "core/statistics.def"
    for (unsigned r = 0; r < REASON_COUNT; r++)
        ck_assert_uint_eq(sum.windows_deferred[r], 3 * (10 + r));
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        ck_assert(sum.counts.fast[c] == 3 * c && sum.counts.bytes[c] == 6 * c);
        for (unsigned r = 0; r < REASON_COUNT; r++)
            INSIST(sum.deferred[c][r] == 3 * (c + r), "call %u, reason %u", c, r);
        INSIST(sum.sizes[c][c % STATS_SIZES] == 3 * c, "call %u", c);
        value = c;
#define STAT_OF_CALL(member, object, key, shown_if, meaning) \
    INSIST(sum.records[c].member == 3 * value++, "call %u, " #member, c);
#include "core/statistics.def"
    }
    ck_assert_uint_eq(sum.heap.highest[0], 18);
}
END_TEST

UNIT_MAIN(an_empty_job_is_valid_json, every_number_has_its_key, what_was_recorded_has_its_key,
          sizes_are_counted_by_power_of_two, a_shortage_of_processors_is_told,
          each_line_of_the_summary_is_written_at_once, host_names_are_escaped,
          text_that_is_not_utf_8_is_escaped, the_summary_lists_calls_and_reasons,
          the_summary_of_one_node_says_so, the_summary_says_that_one_machine_counts_as_several,
          one_rank_and_one_call_are_singular, the_summary_says_where_the_time_goes,
          the_summary_says_what_alloc_mem_would_help, the_summary_says_which_messages_gain,
          the_summary_says_that_accelerated_calls_gain, the_summary_says_why_messages_do_not_gain,
          the_summary_says_what_an_accelerated_program_does, records_have_their_keys,
          the_job_has_its_keys, waiting_is_part_of_the_time, counts_of_ended_threads_are_kept,
          snapshots_add_up)
