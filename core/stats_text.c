/* The statistics as a table for people. Every line begins with `mpiaccel:`, since the output of the
 * program may surround it. */
#include "core/config.h"
#include "core/stats.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static void line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(FILE *out, const char *format, ...)
{
    char text[1024] = "mpiaccel: ";
    size_t used = strlen(text), room = sizeof text - used - 1; /* without the newline */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + used, room, format, arguments);
    va_end(arguments);
    used += length < 0 ? 0 : min_size((size_t)length, room - 1);
    text[used++] = '\n';
    /* All at once: on stderr, which has no buffer, lines of different ranks do not mix. */
    fwrite(text, 1, used, out);
}

static void empty_line(FILE *out)
{
    fputs("mpiaccel:\n", out);
}

/* A short text, returned by value so that one line can have several. */
struct text {
    char s[32];
};

/* "1.5 KiB" */
static struct text size_text(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct text text;
    unsigned unit = 0;
    double value = (double)bytes;
    for (; value >= 1024; unit++)
        value /= 1024;
    snprintf(text.s, sizeof text.s, "%.*f %s", unit && value < 100, value, units[unit]);
    return text;
}

/* "97 %". 0 % and 100 % are exact. */
static struct text share_text(uint64_t part, uint64_t rest)
{
    struct text text;
    double percent = 100 * (double)part / ((double)part + (double)rest);
    if (part && rest && percent < 1)
        snprintf(text.s, sizeof text.s, "<1 %%");
    else if (part && rest && percent > 99)
        snprintf(text.s, sizeof text.s, ">99 %%");
    else
        snprintf(text.s, sizeof text.s, "%.0f %%", part || rest ? percent : 0);
    return text;
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

/* "MPICH 4.0.2, ch4:ucx" */
struct host_text {
    char s[112];
};

static struct host_text host_text(const struct stats_host *host)
{
    struct host_text text;
    snprintf(text.s, sizeof text.s, "%s %s%s%s", host->name, host->version,
             *host->device ? ", " : "", host->device);
    return text;
}

static void totals(FILE *out, const struct stats_snapshot *sum, const struct stats_host *host,
                   const char *const calls[])
{
    uint64_t fast = 0, deferred = 0, bytes = 0, between = 0;
    for (unsigned c = 0; calls[c]; c++) {
        fast += sum->counts.fast[c];
        deferred += stats_total(sum->deferred[c]);
        bytes += sum->counts.bytes[c];
        between += sum->records[c].between_nodes;
    }
    if (fast + deferred)
        line(out, "accelerated: %" PRIu64 " of %" PRIu64 " %s (%s) with %s", fast, fast + deferred,
             fast + deferred == 1 ? "call" : "calls", share_text(fast, deferred).s,
             size_text(bytes).s);
    else
        line(out, "accelerated: no call; the program did not communicate");
    if (between)
        line(out, "between nodes: in %" PRIu64 " of these calls, %s connected the nodes", between,
             host->name);
}

static void heading(FILE *out, const char *version, const struct stats_snapshot *sum,
                    const struct stats_host *host, const struct stats_job *job,
                    const char *const calls[])
{
    double duration = sum->ranks ? seconds(sum->elapsed) / sum->ranks : 0;
    char so_far[48] = "";
    if (job->process)
        snprintf(so_far, sizeof so_far, " so far, says process %u", job->process);
    if (sum->ranks == job->ranks)
        line(out, "%s with %s, %u %s, %.2f s%s", version, host_text(host).s, sum->ranks,
             sum->ranks == 1 ? "rank" : "ranks", duration, so_far);
    else
        line(out, "%s with %s, %u of %u ranks (node %s), %.2f s%s", version, host_text(host).s,
             sum->ranks, job->ranks, job->node, duration, so_far);
    if (config.node_size)
        line(out,
             "MPIACCEL_NODE_SIZE=%lu makes several nodes of one machine, for tests: what their "
             "ranks do together is left to %s; unset it",
             config.node_size, host->name);
    totals(out, sum, host, calls);
}

/* ---- time ---- */

static uint64_t ns_of(const struct stats_snapshot *sum, unsigned call)
{
    return stats_record_ns(&sum->records[call]);
}

/* The call with the most time after `previous`, in descending order. -1: there is none. */
static int next_longest(const struct stats_snapshot *sum, const char *const calls[], int previous)
{
    int found = -1;
    for (int c = 0; calls[c]; c++) {
        uint64_t ns = ns_of(sum, (unsigned)c);
        bool is_later = previous < 0 || ns < ns_of(sum, (unsigned)previous) ||
                        (ns == ns_of(sum, (unsigned)previous) && c > previous);
        if (ns && is_later && (found < 0 || ns > ns_of(sum, (unsigned)found)))
            found = c;
    }
    return found;
}

/* How many calls have moved at least 2^from bytes, and less than 2^to. */
static uint64_t calls_of_sizes(const struct stats_snapshot *sum, unsigned call, unsigned from,
                               unsigned to)
{
    uint64_t number = 0;
    for (unsigned k = from + 1; k < STATS_SIZES && k <= to; k++)
        number += sum->sizes[call][k];
    return number;
}

/* The mean size of the calls whose size is known and not 0 (with MPI_PROC_NULL it is 0); 0: there
 * are none. */
static uint64_t mean_size(const struct stats_snapshot *sum, unsigned call)
{
    uint64_t number = calls_of_sizes(sum, call, 0, STATS_SIZES);
    uint64_t bytes = sum->counts.bytes[call] + sum->records[call].host_bytes;
    return number ? bytes / number : 0;
}

/* The mean size of all messages of the host whose size is known and not 0; 0: there are none. */
static uint64_t mean_message(const struct stats_snapshot *sum, const char *const calls[])
{
    uint64_t number = 0, bytes = 0;
    for (unsigned c = 0; calls[c]; c++) {
        if (!sum->deferred[c][REASON_MESSAGE])
            continue;
        bytes += sum->records[c].host_bytes;
        number += calls_of_sizes(sum, c, 0, STATS_SIZES);
    }
    return number ? bytes / number : 0;
}

/* Are most messages of less than 4 KiB? These are not faster with any host. */
static bool messages_are_short(const struct stats_snapshot *sum, const char *const calls[])
{
    enum { SHORT = 12 };
    uint64_t shorter = 0, longer = 0;
    for (unsigned c = 0; calls[c]; c++) {
        if (!sum->deferred[c][REASON_MESSAGE])
            continue;
        shorter += calls_of_sizes(sum, c, 0, SHORT);
        longer += calls_of_sizes(sum, c, SHORT, STATS_SIZES);
    }
    return shorter >= longer;
}

/* Print a line such as "84 % of the time in MPI is in MPI_Waitall: messages of 0.5 KiB, which the
 * library leaves to ..."
 */
static void longest_call(FILE *out, const struct stats_snapshot *sum, const struct stats_host *host,
                         const char *const calls[], const struct stats_record *all)
{
    unsigned c = (unsigned)next_longest(sum, calls, -1);
    const struct stats_record *record = &sum->records[c];
    char what[160] = "";
    uint64_t message = mean_message(sum, calls), ns = stats_record_ns(all);
    bool faster = all->eager_bytes && !messages_are_short(sum, calls);
    if (record->fast_ns > record->host_ns)
        snprintf(what, sizeof what,
                 ", which the library accelerates; %s of that is waiting for other ranks",
                 share_text(record->waited_ns, ns_of(sum, c) - record->waited_ns).s);
    else if (sum->deferred[c][REASON_MESSAGE] && message)
        snprintf(what, sizeof what, ": messages of %s on average, which %s%s%s",
                 size_text(message).s, faster ? "" : "the library leaves to ", host->name,
                 faster ? " sends faster than without the library" : "");
    else if (stats_total(sum->deferred[c]))
        snprintf(what, sizeof what, ", which the library leaves to %s", host->name);
    line(out, "%s of the time in MPI is in %s%s", share_text(ns_of(sum, c), ns - ns_of(sum, c)).s,
         calls[c], what);
}

/* Is most of the time in MPI spent on messages that the library cannot make faster? Messages of 4
 * KiB and more go to other nodes unless they are recorded as eager or long. */
static bool messages_gain_nothing(const struct stats_snapshot *sum, const char *const calls[],
                                  const struct stats_record *all)
{
    return sum->deferred[next_longest(sum, calls, -1)][REASON_MESSAGE] &&
           all->host_ns > all->fast_ns &&
           (messages_are_short(sum, calls) || !(all->eager_bytes + all->long_bytes));
}

/* The time in calls that are mostly accelerated, with waiting in them. */
static uint64_t ns_of_accelerated(const struct stats_snapshot *sum, const char *const calls[])
{
    uint64_t ns = 0;
    for (unsigned c = 0; calls[c]; c++)
        if (sum->records[c].fast_ns > sum->records[c].host_ns)
            ns += ns_of(sum, c);
    return ns;
}

static void little_to_gain(FILE *out, const struct stats_snapshot *sum, const char *const calls[],
                           uint64_t all)
{
    enum { LITTLE_PERCENT = 5 };
    uint64_t fast = ns_of_accelerated(sum, calls);
    bool little = fast * 100 < all * LITTLE_PERCENT;
    line(out,
         "%sshort messages are as fast as without the library; inside a node, MPI_Put into a "
         "window of MPI_Win_allocate would be faster%s%s%s",
         little ? "little to gain: " : "", little ? "" : ". Accelerated calls, with ",
         little ? "" : share_text(fast, all - fast).s,
         little ? "" : " of the time in MPI, waiting included, gain");
}

/* Print the messages between the limit of the host and that of MPIACCEL_EAGER. */
static void eager_messages(FILE *out, const struct stats_record *all, const struct stats_host *host,
                           const struct stats_eager *eager)
{
    if (all->eager_bytes)
        line(out,
             "eager messages: %s sent faster by %s, because the library has raised the length up "
             "to which it sends at once%s%s%s%s",
             size_text(all->eager_bytes).s, host->name, eager->why_not ? ", but to " : "",
             eager->why_not ? size_text(eager->raised).s : "", eager->why_not ? " only: " : "",
             eager->why_not ? eager->why_not : "");
    if (all->unraised_bytes && eager->why_not)
        line(out,
             "eager limit: not raised (%s%s%s), so %s in messages of up to %s are sent as without "
             "the library; %s",
             eager->why_not, *eager->setting ? ": " : "", eager->setting,
             size_text(all->unraised_bytes).s, size_text(eager->wanted).s, eager->advice);
}

static void time_summary(FILE *out, const struct stats_snapshot *sum, const struct stats_host *host,
                         const struct stats_eager *eager, const char *const calls[])
{
    struct stats_record all = stats_record_sum(sum, calls);
    uint64_t ns = stats_record_ns(&all);
    if (!ns)
        return;
    line(out,
         "time in MPI: %s of the ranks' time; of that, %s accelerated, %s left to %s, %s waiting",
         share_text(ns, sum->elapsed > ns ? sum->elapsed - ns : 0).s,
         share_text(all.fast_ns, ns - all.fast_ns).s, share_text(all.host_ns, ns - all.host_ns).s,
         host->name, share_text(all.waited_ns, ns - all.waited_ns).s);
    longest_call(out, sum, host, calls, &all);
    if (messages_gain_nothing(sum, calls, &all))
        little_to_gain(out, sum, calls, ns);
    eager_messages(out, &all, host, eager);
    if (all.private_bytes)
        line(out,
             "long messages: %s of %s sent from private memory; from memory of MPI_Alloc_mem, or "
             "from blocks of 16 KiB and more with mpiaccel run --heap, they would be copied faster",
             size_text(all.private_bytes).s, size_text(all.long_bytes).s);
}

static void time_table(FILE *out, const struct stats_snapshot *sum, const char *const calls[])
{
    enum { ROWS = 10 };
    struct stats_record all = stats_record_sum(sum, calls);
    uint64_t ns = stats_record_ns(&all);
    if (!ns)
        return;
    empty_line(out);
    line(out, "%-24s %12s %12s %10s %7s %8s", "time in MPI", "calls", "mean size", "seconds",
         "share", "waiting");
    int c = -1;
    for (unsigned r = 0; r < ROWS && (c = next_longest(sum, calls, c)) >= 0; r++) {
        const struct stats_record *record = &sum->records[c];
        uint64_t own = stats_record_ns(record), size = mean_size(sum, (unsigned)c);
        line(out, "%-24s %12" PRIu64 " %12s %10.3f %7s %8s", calls[c], record->calls,
             size ? size_text(size).s : "", seconds(own), share_text(own, ns - own).s,
             share_text(record->waited_ns, own - record->waited_ns).s);
    }
}

/* ---- calls ---- */

static void row(FILE *out, const char *name, uint64_t fast, uint64_t deferred, const char *bytes)
{
    line(out, "%-24s %12" PRIu64 " %12" PRIu64 "  %6s%*s", name, fast, deferred,
         share_text(fast, deferred).s, *bytes ? 13 : 0, bytes);
}

static bool has_rows(const struct stats_snapshot *sum, const char *const calls[])
{
    uint64_t counted = sum->windows_fast + stats_total(sum->windows_deferred);
    for (unsigned c = 0; calls[c]; c++)
        counted += sum->counts.fast[c] + stats_total(sum->deferred[c]);
    return counted;
}

static void table(FILE *out, const struct stats_snapshot *sum, const char *const calls[])
{
    if (!has_rows(sum, calls))
        return;
    empty_line(out);
    line(out, "%-24s %12s %12s  %6s %12s", "call", "accelerated", "deferred", "share", "bytes");
    for (unsigned c = 0; calls[c]; c++) {
        uint64_t fast = sum->counts.fast[c], deferred = stats_total(sum->deferred[c]);
        if (fast || deferred)
            row(out, calls[c], fast, deferred,
                sum->counts.bytes[c] ? size_text(sum->counts.bytes[c]).s : "");
    }
    uint64_t deferred = stats_total(sum->windows_deferred);
    if (sum->windows_fast || deferred)
        row(out, "windows", sum->windows_fast, deferred, "");
}

/* Print a text such as "MPI_Put 12, MPI_Get 3, windows 2", with as many names as a line has room
 * for. */
static void deferred_calls(FILE *out, const struct stats_snapshot *sum, unsigned reason,
                           const char *const calls[])
{
    enum { NAMES = 4 };
    char text[400] = "";
    size_t length = 0;
    unsigned names = 0;
    if (sum->windows_deferred[reason])
        length = (size_t)snprintf(text, sizeof text, "windows %" PRIu64 ", ",
                                  sum->windows_deferred[reason]);
    for (unsigned c = 0; calls[c]; c++)
        if (sum->deferred[c][reason] && names++ < NAMES)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s %" PRIu64 ", ",
                                       calls[c], sum->deferred[c][reason]);
    if (names > NAMES)
        snprintf(text + length, sizeof text - length, "and %u more kinds of calls", names - NAMES);
    else
        text[length - 2] = 0;
    line(out, "  %s", text);
}

/* Reasons with a remedy come first. The advice of the others begins with "nothing". */
static void reasons(FILE *out, const struct stats_snapshot *sum, const char *const calls[])
{
    bool any = false;
    for (int pass = 0; pass < 2; pass++)
        for (unsigned r = REASON_NONE + 1; r < REASON_COUNT; r++) {
            bool no_remedy = !strncmp(stats_advice[r], "nothing", 7);
            if (no_remedy != (pass == 1) || !stats_occurs(sum, r, calls))
                continue;
            if (!any) {
                empty_line(out);
                line(out, "deferred, why, and what to do:");
            }
            any = true;
            deferred_calls(out, sum, r, calls);
            line(out, "    %s", stats_reasons[r]);
            line(out, "    %s%s", no_remedy ? "" : "-> ", stats_advice[r]);
        }
}

static void waiting(FILE *out, const struct stats_snapshot *sum, const struct shortage *shortage)
{
    uint64_t waited = sum->polling_ns + sum->yielding_ns + sum->sleeping_ns;
    char text[80] = "";
    if (shortage->cause)
        shortage_describe(shortage, text, sizeof text);
    uint64_t rest = sum->elapsed > waited ? sum->elapsed - waited : 0;
    line(out,
         "waiting: %s of the ranks' time: %.2f s polling, %.2f s yielding, %.2f s sleeping%s%s",
         share_text(waited, rest).s, seconds(sum->polling_ns), seconds(sum->yielding_ns),
         seconds(sum->sleeping_ns), *text ? "; " : "", text);
}

void stats_print_text(FILE *out, const char *version, const struct stats_snapshot *sum,
                      const struct stats_host *host, const struct stats_job *job,
                      const char *const calls[])
{
    heading(out, version, sum, host, job, calls);
    time_summary(out, sum, host, &job->eager, calls);
    time_table(out, sum, calls);
    table(out, sum, calls);
    reasons(out, sum, calls);
    empty_line(out);
    waiting(out, sum, &job->shortage);
    line(out, "shared heap: %" PRIu64 " allocations, peak %s, not freed %s", sum->heap_allocations,
         size_text(sum->heap_peak).s, size_text(sum->heap_live).s);
    if (sum->host_copies)
        line(out, "copies by the host without a system call: %" PRIu64 " with %s", sum->host_copies,
             size_text(sum->host_copied).s);
    if (sum->ranks != job->ranks)
        line(out, "all nodes: set MPIACCEL_STATS=stats.%%h.json, and run `mpiaccel report "
                  "stats.*.json`");
}
