/* The statistics as one line of JSON, for programs. docs/statistics.schema.json defines it. */
#include "core/stats.h"

#include "core/json.h"

#include <inttypes.h>
#include <string.h>

enum { FORMAT = 1 }; /* increment it if the meaning of a key changes or a key disappears */

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

/* Print the number of calls in each class of sizes, by the smallest size of the class. */
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

struct number {
    const char *object, *key;
    uint64_t value;
    bool is_absent;
};

/* Print the numbers of an object, in the order of core/statistics.def. */
static void json_numbers(FILE *out, const char *comma, const char *object,
                         const struct number *numbers, size_t count)
{
    for (const struct number *n = numbers; n < numbers + count; n++)
        if (!n->is_absent && !strcmp(n->object, object)) {
            json_key(out, &comma, n->key);
            fprintf(out, "%" PRIu64, n->value);
        }
}

static void json_record(FILE *out, const struct stats_record *record)
{
    const struct number numbers[] = {
#define STAT_OF_CALL(member, object, key, shown_if, meaning) \
    {object, key, record->member, !record->shown_if},
#include "core/statistics.def"
    };
    const size_t count = sizeof numbers / sizeof *numbers;
    json_numbers(out, ",", "", numbers, count);
    if (!record->calls)
        return;
    fputs(",\"time_ns\":{", out);
    json_numbers(out, "", "time_ns", numbers, count);
    fputc('}', out);
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
        if (sum->counts.bytes[c] || record->host_bytes)
            json_sizes(out, sum->sizes[c]);
        json_record(out, record);
        fputc('}', out);
    }
    fprintf(out, "},\"windows\":");
    json_outcome(out, sum->windows_fast, sum->windows_deferred);
    fputc('}', out);
}

/* Print the remedy of each reason for which a call or a window was deferred. */
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

static void json_over_time(FILE *out, const struct timeline *t)
{
    fprintf(out, ",\"over_time\":{\"interval_ns\":%" PRIu64 ",\"highest_bytes\":[", t->interval);
    for (uint64_t i = 0; i < t->count; i++)
        fprintf(out, "%s%" PRIu64, i ? "," : "", t->highest[i]);
    fputs("]}", out);
}

static void json_sums(FILE *out, const struct stats_snapshot *sum)
{
    const struct number numbers[] = {
#define STAT(member, object, key, meaning) {object, key, sum->member, false},
#include "core/statistics.def"
    };
    static const char *const objects[] = {"host_copies", "waiting", "heap"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        fprintf(out, "%s,\"%s\":{", i ? "}" : "", objects[i]);
        json_numbers(out, "", objects[i], numbers, sizeof numbers / sizeof *numbers);
    }
    if (sum->heap_peak && sum->heap.interval)
        json_over_time(out, &sum->heap);
    fputc('}', out);
}

/* Print bytes by world rank: by the rank that made the calls, then by the other rank. */
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

static void json_eager(FILE *out, const struct stats_eager *eager)
{
    const char *comma = ",";
    fprintf(out, ",\"eager_limit\":{\"wanted\":%" PRIu64 ",\"raised_to\":%" PRIu64, eager->wanted,
            eager->raised);
    if (eager->why_not) {
        json_key(out, &comma, "reason");
        json_string(out, eager->why_not);
        json_key(out, &comma, "remedy");
        json_string(out, eager->advice);
        if (*eager->setting) {
            json_key(out, &comma, "setting");
            json_string(out, eager->setting);
        }
    }
    fputc('}', out);
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
    json_eager(out, &job->eager);
    json_calls(out, sum, calls);
    json_remedies(out, sum, calls);
    json_sums(out, sum);
    json_traffic(out, job);
    json_shortage(out, &job->shortage);
    fprintf(out, "}\n");
}
