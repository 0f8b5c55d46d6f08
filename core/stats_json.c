/* The statistics as one line of JSON, for programs. docs/statistics.schema.json defines it. */
#include "core/stats.h"

#include <inttypes.h>
#include <string.h>

enum { FORMAT = 1 }; /* increment it if the meaning of a key changes or a key disappears */

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

static void json_key(FILE *out, const char **comma, const char *key)
{
    fputs(*comma, out);
    json_string(out, key);
    fputc(':', out);
    *comma = ",";
}

static void json_outcome(FILE *out, uint64_t fast_count, const uint64_t by_reason[REASON_COUNT])
{
    fprintf(out, "{\"fast\":%" PRIu64 ",\"deferred\":%" PRIu64 ",\"reasons\":{", fast_count,
            stats_total(by_reason));
    const char *comma = "";
    for (unsigned r = REASON_NONE + 1; r < REASON_COUNT; r++)
        if (by_reason[r]) {
            json_key(out, &comma, stats_reasons[r]);
            fprintf(out, "%" PRIu64, by_reason[r]);
        }
    fputc('}', out);
}

/* By the smallest size of each class. */
static void json_sizes(FILE *out, const uint64_t sizes[STATS_SIZES])
{
    const char *comma = "";
    fprintf(out, ",\"sizes\":{");
    for (unsigned k = 0; k < STATS_SIZES; k++)
        if (sizes[k]) {
            fprintf(out, "%s\"%" PRIu64 "\":%" PRIu64, comma, k ? UINT64_C(1) << (k - 1) : 0,
                    sizes[k]);
            comma = ",";
        }
    fputc('}', out);
}

/* What only MPIACCEL_STATS records. */
static void json_record(FILE *out, const struct stats_record *record)
{
    fprintf(out,
            ",\"calls\":%" PRIu64 ",\"time_ns\":{\"accelerated\":%" PRIu64 ",\"host\":%" PRIu64
            ",\"waiting\":%" PRIu64 "}",
            record->calls, record->fast_ns, record->host_ns, record->waited_ns);
    if (record->host_bytes)
        fprintf(out, ",\"host_bytes\":%" PRIu64, record->host_bytes);
    if (record->eager_bytes)
        fprintf(out, ",\"eager_bytes\":%" PRIu64, record->eager_bytes);
    if (record->long_bytes)
        fprintf(out, ",\"long_bytes\":%" PRIu64 ",\"private_bytes\":%" PRIu64, record->long_bytes,
                record->private_bytes);
}

static void json_calls(FILE *out, const struct stats_snapshot *sum, const char *const calls[])
{
    const char *comma = "";
    fprintf(out, ",\"calls\":{");
    for (unsigned c = 0; calls[c]; c++) {
        const struct stats_record *record = &sum->records[c];
        if (!sum->counts.fast[c] && !stats_total(sum->deferred[c]) && !record->calls)
            continue;
        json_key(out, &comma, calls[c]);
        json_outcome(out, sum->counts.fast[c], sum->deferred[c]);
        fprintf(out, ",\"bytes\":%" PRIu64, sum->counts.bytes[c]);
        if (sum->between_nodes[c])
            fprintf(out, ",\"between_nodes\":%" PRIu64, sum->between_nodes[c]);
        if (sum->counts.bytes[c] || record->host_bytes)
            json_sizes(out, sum->sizes[c]);
        if (record->calls)
            json_record(out, record);
        fputc('}', out);
    }
    fprintf(out, "},\"windows\":");
    json_outcome(out, sum->windows_fast, sum->windows_deferred);
    fputc('}', out);
}

/* The remedy of each reason for which a call or a window was deferred. */
static void json_remedies(FILE *out, const struct stats_snapshot *sum, const char *const calls[])
{
    const char *comma = "";
    fprintf(out, ",\"remedies\":{");
    for (unsigned r = REASON_NONE + 1; r < REASON_COUNT; r++)
        if (stats_occurs(sum, r, calls)) {
            json_key(out, &comma, stats_reasons[r]);
            json_string(out, stats_advice[r]);
        }
    fputc('}', out);
}

static void json_heap(FILE *out, const struct stats_snapshot *sum)
{
    const struct timeline *t = &sum->heap;
    fprintf(out,
            ",\"heap\":{\"peak_bytes\":%" PRIu64 ",\"live_bytes\":%" PRIu64
            ",\"allocations\":%" PRIu64,
            sum->heap_peak, sum->heap_live, sum->heap_allocations);
    if (sum->heap_peak && t->interval) {
        fprintf(out, ",\"over_time\":{\"interval_ns\":%" PRIu64 ",\"highest_bytes\":[",
                t->interval);
        for (uint64_t i = 0; i < t->count; i++)
            fprintf(out, "%s%" PRIu64, i ? "," : "", t->highest[i]);
        fputs("]}", out);
    }
    fputc('}', out);
}

/* By world rank: the rank that made the calls, then the other one. */
static void json_traffic(FILE *out, const struct stats_job *job)
{
    const char *comma = "";
    fputs(",\"traffic\":{", out);
    for (uint32_t from = 0; from < job->members; from++) {
        const char *inner = "";
        for (uint32_t to = 0; to < job->members; to++) {
            uint64_t bytes = job->bytes(from, to);
            if (!bytes)
                continue;
            if (!*inner)
                fprintf(out, "%s\"%d\":{", comma, job->world_rank(from));
            fprintf(out, "%s\"%d\":%" PRIu64, inner, job->world_rank(to), bytes);
            comma = inner = ",";
        }
        if (*inner)
            fputc('}', out);
    }
    fputc('}', out);
}

static void json_identity(FILE *out, const struct stats_identity *identity)
{
    const char *comma = "";
    fputs(",\"job\":{\"command\":[", out);
    for (size_t at = 0; at < identity->command_bytes; at += strlen(identity->command + at) + 1) {
        fputs(comma, out);
        json_string(out, identity->command + at);
        comma = ",";
    }
    fputs("],\"id\":", out);
    json_string(out, identity->id);
    fputs(",\"started\":", out);
    json_string(out, identity->started);
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
    fprintf(out, "{\"format\":%d,\"mpiaccel\":\"%s\",\"host\":{\"name\":", FORMAT, version);
    json_string(out, host->name);
    fprintf(out, ",\"version\":");
    json_string(out, host->version);
    fprintf(out, ",\"device\":");
    json_string(out, host->device);
    fprintf(out, ",\"abi\":\"%s\"},\"ranks\":%u,\"job_ranks\":%u,\"node\":", host->abi, sum->ranks,
            job->ranks);
    json_string(out, job->node);
    if (job->identity)
        json_identity(out, job->identity);
    fprintf(out, ",\"elapsed_ns\":%" PRIu64, sum->elapsed);
    json_calls(out, sum, calls);
    json_remedies(out, sum, calls);
    fprintf(out, ",\"host_copies\":{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", sum->host_copies,
            sum->host_copied);
    json_heap(out, sum);
    json_traffic(out, job);
    fprintf(out,
            ",\"waiting\":{\"polling_ns\":%" PRIu64 ",\"yielding_ns\":%" PRIu64
            ",\"sleeping_ns\":%" PRIu64 "}",
            sum->waited[WAITED_POLLING], sum->waited[WAITED_YIELDING],
            sum->waited[WAITED_SLEEPING]);
    json_shortage(out, &job->shortage);
    fprintf(out, "}\n");
}
