#include "core/stats.h"

#include "core/concurrency.h"
#include "core/config.h"

#include <inttypes.h>
#include <string.h>

const char *const stats_reasons[REASON_COUNT] = {
#define REASON(name, text, advice) [REASON_##name] = text,
#include "core/reasons.def"
#undef REASON
};

const char *const stats_advice[REASON_COUNT] = {
#define REASON(name, text, advice) [REASON_##name] = advice,
#include "core/reasons.def"
#undef REASON
};

static _Atomic uint64_t fast[STATS_CALLS_MAX], bytes[STATS_CALLS_MAX];
static _Atomic uint64_t deferred[STATS_CALLS_MAX][REASON_COUNT];
static _Atomic uint64_t windows_fast, windows_deferred[REASON_COUNT];
static _Atomic uint64_t host_copies, host_copied;

uint64_t stats_defer(unsigned call, enum reason reason)
{
    return counter_add(&deferred[call][reason], 1);
}

uint64_t stats_window(bool is_fast, enum reason reason)
{
    return atomic_fetch_add_explicit(is_fast ? &windows_fast : &windows_deferred[reason], 1,
                                     memory_order_relaxed) +
           1;
}

void stats_host_copy(size_t count)
{
    counter_add(&host_copies, 1);
    counter_add(&host_copied, count);
}

void stats_fold(struct stats_counts *counts)
{
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        atomic_fetch_add_explicit(&fast[c], counts->fast[c], memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes[c], counts->bytes[c], memory_order_relaxed);
    }
    memset(counts, 0, sizeof *counts);
}

void stats_take(struct stats_snapshot *s)
{
    s->ranks = 1;
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        s->counts.fast[c] = atomic_load(&fast[c]);
        s->counts.bytes[c] = atomic_load(&bytes[c]);
        for (unsigned r = 0; r < REASON_COUNT; r++)
            s->deferred[c][r] = atomic_load(&deferred[c][r]);
    }
    s->windows_fast = atomic_load(&windows_fast);
    for (unsigned r = 0; r < REASON_COUNT; r++)
        s->windows_deferred[r] = atomic_load(&windows_deferred[r]);
    s->host_copies = atomic_load(&host_copies);
    s->host_copied = atomic_load(&host_copied);
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        s->waited[kind] = sync_waited_ns(kind);
}

void stats_add(struct stats_snapshot *sum, const struct stats_snapshot *more)
{
    sum->ranks += more->ranks;
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        sum->counts.fast[c] += more->counts.fast[c];
        sum->counts.bytes[c] += more->counts.bytes[c];
        for (unsigned r = 0; r < REASON_COUNT; r++)
            sum->deferred[c][r] += more->deferred[c][r];
    }
    sum->windows_fast += more->windows_fast;
    for (unsigned r = 0; r < REASON_COUNT; r++)
        sum->windows_deferred[r] += more->windows_deferred[r];
    sum->host_copies += more->host_copies;
    sum->host_copied += more->host_copied;
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        sum->waited[kind] += more->waited[kind];
    sum->heap_peak += more->heap_peak;
    sum->heap_live += more->heap_live;
    sum->heap_allocations += more->heap_allocations;
}

static uint64_t total(const uint64_t by_reason[REASON_COUNT])
{
    uint64_t sum = 0;
    for (unsigned r = 0; r < REASON_COUNT; r++)
        sum += by_reason[r];
    return sum;
}

static void text_reasons(FILE *out, const uint64_t by_reason[REASON_COUNT])
{
    for (unsigned r = 0; r < REASON_COUNT; r++)
        if (by_reason[r])
            fprintf(out, "mpiaccel:   %12" PRIu64 " %s\n", by_reason[r], stats_reasons[r]);
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

void stats_print_text(FILE *out, const char *version, const struct stats_snapshot *sum,
                      const struct stats_host *host, const struct stats_job *job,
                      const char *const calls[])
{
    fprintf(out, "mpiaccel: %s with %s %s, ", version, host->name, host->version);
    if (sum->ranks == job->ranks)
        fprintf(out, "%u ranks\n", sum->ranks);
    else
        fprintf(out, "%u of %u ranks (node %s)\n", sum->ranks, job->ranks, job->node);
    fprintf(out, "mpiaccel: %-24s %12s %12s %16s\n", "call", "fast", "deferred", "bytes");
    for (unsigned c = 0; calls[c]; c++) {
        uint64_t deferred_count = total(sum->deferred[c]);
        if (!sum->counts.fast[c] && !deferred_count)
            continue;
        fprintf(out, "mpiaccel: %-24s %12" PRIu64 " %12" PRIu64 " %16" PRIu64 "\n", calls[c],
                sum->counts.fast[c], deferred_count, sum->counts.bytes[c]);
        text_reasons(out, sum->deferred[c]);
    }
    uint64_t deferred_count = total(sum->windows_deferred);
    fprintf(out, "mpiaccel: %-24s %12" PRIu64 " %12" PRIu64 "\n", "windows", sum->windows_fast,
            deferred_count);
    text_reasons(out, sum->windows_deferred);
    fprintf(out, "mpiaccel: %-24s %12" PRIu64 " %12s %16" PRIu64 "\n", "host copies",
            sum->host_copies, "", sum->host_copied);
    fprintf(out,
            "mpiaccel: heap: %" PRIu64 " allocations, peak %" PRIu64 " bytes, live %" PRIu64 "\n",
            sum->heap_allocations, sum->heap_peak, sum->heap_live);
    fprintf(out, "mpiaccel: waiting: %.3f s polling, %.3f s yielding, %.3f s sleeping",
            seconds(sum->waited[WAITED_POLLING]), seconds(sum->waited[WAITED_YIELDING]),
            seconds(sum->waited[WAITED_SLEEPING]));
    char text[80] = "";
    if (job->shortage.cause)
        shortage_describe(&job->shortage, text, sizeof text);
    fprintf(out, "%s%s\n", *text ? "; " : "", text);
}

/* The version string of a host may contain any character. */
static void json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void json_outcome(FILE *out, uint64_t fast_count, const uint64_t by_reason[REASON_COUNT])
{
    fprintf(out, "{\"fast\":%" PRIu64 ",\"deferred\":%" PRIu64, fast_count, total(by_reason));
    const char *comma = "";
    fprintf(out, ",\"reasons\":{");
    for (unsigned r = 0; r < REASON_COUNT; r++) {
        if (!by_reason[r])
            continue;
        fputs(comma, out);
        json_string(out, stats_reasons[r]);
        fprintf(out, ":%" PRIu64, by_reason[r]);
        comma = ",";
    }
    fputc('}', out);
}

static void json_shortage(FILE *out, const struct shortage *shortage)
{
    static const char *const causes[] = {
        [SHORTAGE_AFFINITY] = "affinity", [SHORTAGE_QUOTA] = "quota"};
    if (shortage->cause)
        fprintf(out, ",\"shortage\":{\"cause\":\"%s\",\"ranks\":%u,\"processor_thousandths\":%u}",
                causes[shortage->cause], shortage->ranks, shortage->thousandths);
}

void stats_print_json(FILE *out, const char *version, const struct stats_snapshot *sum,
                      const struct stats_host *host, const struct stats_job *job,
                      const char *const calls[])
{
    fprintf(out, "{\"mpiaccel\":\"%s\",\"host\":{\"name\":", version);
    json_string(out, host->name);
    fprintf(out, ",\"version\":");
    json_string(out, host->version);
    fprintf(out, ",\"abi\":\"%s\"},\"ranks\":%u,\"job_ranks\":%u,\"node\":", host->abi, sum->ranks,
            job->ranks);
    json_string(out, job->node);
    fprintf(out, ",\"calls\":{");
    const char *comma = "";
    for (unsigned c = 0; calls[c]; c++) {
        if (!sum->counts.fast[c] && !total(sum->deferred[c]))
            continue;
        fprintf(out, "%s\"%s\":", comma, calls[c]);
        json_outcome(out, sum->counts.fast[c], sum->deferred[c]);
        fprintf(out, ",\"bytes\":%" PRIu64 "}", sum->counts.bytes[c]);
        comma = ",";
    }
    fprintf(out, "},\"windows\":");
    json_outcome(out, sum->windows_fast, sum->windows_deferred);
    fprintf(out,
            "},\"host_copies\":{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64
            "},\"heap\":{\"peak_bytes\":%" PRIu64 ",\"live_bytes\":%" PRIu64
            ",\"allocations\":%" PRIu64 "},\"waiting\":{\"polling_ns\":%" PRIu64
            ",\"yielding_ns\":%" PRIu64 ",\"sleeping_ns\":%" PRIu64 "}",
            sum->host_copies, sum->host_copied, sum->heap_peak, sum->heap_live,
            sum->heap_allocations, sum->waited[WAITED_POLLING], sum->waited[WAITED_YIELDING],
            sum->waited[WAITED_SLEEPING]);
    json_shortage(out, &job->shortage);
    fprintf(out, "}\n");
}
