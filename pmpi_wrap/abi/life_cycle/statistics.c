#include "pmpi_wrap/abi/life_cycle/statistics.h"

#include "alloc/arena.h"
#include "core/config.h"
#include "core/log.h"
#include "node/node.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/calls.h"
#include "pmpi_wrap/eager_limit.h"
#include "pmpi_wrap/host_identity.h"
#include "pmpi_wrap/job_identity.h"
#include "pmpi_wrap/library_version.h"
#include "pmpi_wrap/recording.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Snapshots are large, and each ABI would have its own static ones, so they are allocated when they
 * are needed: `ulimit -d` counts static memory from the start. */
static struct stats_snapshot *own_snapshot; /* if nothing is shared; NULL: no memory, or no need */

static struct stats_snapshot *snapshot_of_this_process(void)
{
    if (node.header)
        return &node_member(node.me)->stats;
    if (!own_snapshot && config.stats)
        own_snapshot = calloc(1, sizeof *own_snapshot);
    return own_snapshot;
}

static void take_snapshot(struct stats_snapshot *s)
{
    struct arena_use use = arena_use();
    stats_take(s);
    s->heap_live = use.live;
    s->heap_peak = use.peak;
    s->heap_allocations = use.allocations;
    recording_publish(s);
}

/* Whether any rank of the node prints statistics. Ranks without MPIACCEL_STATS must publish then,
 * too, because their counters are part of the sum. */
static bool node_prints_statistics(void)
{
    bool prints = config.stats;
    for (uint32_t i = 0; node.header && i < node.size; i++)
        prints |= node_member(i)->prints_statistics;
    return prints;
}

/* If no rank of the node prints statistics, publish nothing: reading all counters touches 60 pages,
 * most of them for the first time. */
void statistics_publish(void)
{
    struct stats_snapshot *s = node_prints_statistics() ? snapshot_of_this_process() : NULL;
    recording_close();
    if (!s)
        return;
    thread_fold_all();
    take_snapshot(s);
    /* Release: a rank that reads `complete` reads the counters above. */
    atomic_fetch_add_explicit(&s->complete, 1, memory_order_release);
}

/* Wait until a member has published as often as this rank, or until `end_ns`: the host need not
 * synchronise where it finalizes, and a member may have died. Whether its process exists cannot be
 * tested: its number may belong to another PID namespace. */
static bool await_snapshot(const struct layout_member *member, uint64_t end_ns)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t published = node_member(node.me)->stats.complete;
    while (atomic_load_explicit(&member->stats.complete, memory_order_acquire) < published) {
        if (sync_now_ns() > end_ns)
            return false;
        sync_pause(&wait);
    }
    return true;
}

/* The rank with the lowest number on each node writes a file if the name of the file contains the
 * host name (%h); otherwise only rank 0 writes one. The statistics of several nodes cannot be
 * collected in one file: ranks of other nodes may not have the library, so an exchange among all
 * ranks might wait forever (H3: not all ranks have it). The ranks of a partial node do not know
 * each other, so none but rank 0 writes. */
static bool writes(void)
{
    if (world_rank == 0)
        return true;
    if (!strstr(config.stats, "%h") || !node.header)
        return false;
    for (uint32_t i = 0; i < node.size; i++)
        if (node_member(i)->world_rank < world_rank)
            return false;
    return true;
}

/* Make the name of the file, with %h replaced by the host name, %j by the job's number, and %p by
 * this process's. */
static void file_name(char *name, size_t room, const char *host_name)
{
    size_t n = 0;
    for (const char *c = config.stats; *c && n < room - 1; c++) {
        char letter = *c == '%' ? c[1] : 0;
        if (letter == 'h')
            n += (size_t)snprintf(name + n, room - n, "%s", host_name);
        else if (letter == 'j')
            n += (size_t)snprintf(name + n, room - n, "%s", job_identity()->id);
        else if (letter == 'p')
            n += (size_t)snprintf(name + n, room - n, "%d", (int)getpid());
        else
            name[n++] = *c;
        if (letter == 'h' || letter == 'j' || letter == 'p')
            c++;
        n = min_size(n, room - 1);
    }
    name[n] = 0;
}

/* A process whose sessions end MPI several times replaces its own file. */
static void report_overwritten(const char *name)
{
    static bool is_own;
    struct stat file;
    if (!is_own && !stat(name, &file) && S_ISREG(file.st_mode) && file.st_size)
        log_message(0, "the statistics of another run in %s are overwritten; %s", name,
                    strstr(config.stats, "%j")
                        ? "%p in the name keeps those of all runs of a batch job"
                        : "%j in the name keeps those of all jobs");
    is_own = true;
}

static int rank_of_member(uint32_t member)
{
    return node_member(member)->world_rank;
}

/* Add up the snapshots in `sum`, which is empty. While the job runs, no snapshot is final, so none
 * is awaited. */
static void add_up(struct stats_snapshot *sum)
{
    const uint64_t timeout_ns = 2000000000; /* for all members together */
    uint64_t end_ns = sync_now_ns() + timeout_ns;
    if (!node.header && own_snapshot)
        *sum = *own_snapshot;
    for (uint32_t i = 0; node.header && i < node.size; i++)
        if (await_snapshot(node_member(i), end_ns))
            stats_add(sum, &node_member(i)->stats);
}

static const char *advice(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "name a file in a folder that exists";
    case EISDIR:
        return "name a file, not a folder";
    case EACCES:
    case EPERM:
    case EROFS:
        return "name a file that you may write";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return "make room, or name a file elsewhere";
    default:
        return "name another file";
    }
}

/* Returns 0 or an error number. If the disk is full, a write fails, maybe only the last one, which
 * fclose() makes.
 */
static int write_file(const char *name, const struct stats_snapshot *sum,
                      const struct stats_job *job)
{
    FILE *out = fopen(name, "we");
    if (!out)
        return errno;
    errno = 0;
    stats_print_json(out, library_version, sum, &host_identity, job, call_names);
    int error = !ferror(out) ? 0 : errno ? errno : EIO;
    if (fclose(out) && !error)
        error = errno;
    return error;
}

/* While the job runs, a file is replaced atomically, so that it is complete whenever the job ends.
 * Anything but a regular file is written only at the end. */
static int replace_file(const char *name, const struct stats_snapshot *sum,
                        const struct stats_job *job)
{
    char new_name[PATH_MAX + 8];
    struct stat file;
    if (!stat(name, &file) && !S_ISREG(file.st_mode))
        return 0;
    snprintf(new_name, sizeof new_name, "%s.new", name);
    int error = write_file(new_name, sum, job);
    if (!error && rename(new_name, name))
        error = errno;
    if (error)
        unlink(new_name);
    return error;
}

static void print(const struct stats_snapshot *sum, bool so_far)
{
    char host_name[HOST_NAME_MAX + 1] = "", name[PATH_MAX];
    gethostname(host_name, sizeof host_name - 1);
    const struct stats_job job = {
        .node = host_name,
        .ranks = (uint32_t)world_size,
        .process = so_far ? (uint32_t)getpid() : 0,
        .shortage = node_shortage(),
        .eager = eager_limit_state(),
        .identity = job_identity(),
        .members = node.header ? node.size : 0,
        .world_rank = rank_of_member,
        .bytes = recording_bytes,
    };
    if (!strcmp(config.stats, "1") || !strcmp(config.stats, "-")) {
        stats_print_text(stderr, library_version, sum, &host_identity, &job, call_names);
        return;
    }
    file_name(name, sizeof name, host_name);
    report_overwritten(name);
    int error = so_far ? replace_file(name, sum, &job) : write_file(name, sum, &job);
    if (error)
        log_message(0, "cannot write the statistics to %s: %s; %s", name, strerror(error),
                    advice(error));
}

void statistics_print(bool so_far)
{
    if (!config.stats || !writes())
        return;
    struct stats_snapshot *sum = calloc(1, sizeof *sum);
    if (!sum) {
        log_message(0, "no memory for the statistics; raise `ulimit -d`");
        return;
    }
    add_up(sum);
    print(sum, so_far);
    free(sum);
}

/* ---- while the job runs ---- */

/* A rank publishes this many times per interval between two prints, so the other ranks' numbers are
 * at most that fraction of the interval old, and some exist at the first print. */
enum { TIMES_PUBLISHED = 4 };

static void publish_and_print(void)
{
    static unsigned published;
    struct stats_snapshot *s = snapshot_of_this_process();
    if (!s)
        return;
    take_snapshot(s);
    if (++published % TIMES_PUBLISHED == 0)
        statistics_print(true);
}

void statistics_begin(void)
{
    if (config.stats && config.stats_every)
        recording_repeat(publish_and_print,
                         config.stats_every * (UINT64_C(1000000000) / TIMES_PUBLISHED));
}
