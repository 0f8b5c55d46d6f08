#include "pmpi_wrap/abi/life_cycle/statistics.h"

#include "alloc/arena.h"
#include "alloc/node.h"
#include "core/config.h"
#include "core/log.h"
#include "pmpi_wrap/calls.h"
#include "pmpi_wrap/host_identity.h"
#include "pmpi_wrap/library_version.h"

#include <signal.h>
#include <string.h>

static struct stats_snapshot own_snapshot; /* if nothing is shared */

void statistics_publish(void)
{
    struct stats_snapshot *s = node.header ? &node_member(node.me)->stats : &own_snapshot;
    struct arena_use use = arena_use();
    thread_fold_all();
    stats_take(s);
    s->heap_live = use.live;
    s->heap_peak = use.peak;
    s->heap_allocations = use.allocations;
    /* Release: a rank that reads `complete` reads the counters above. */
    atomic_fetch_add_explicit(&s->complete, 1, memory_order_release);
}

/* Wait until a member has published as often as this rank. Not for a member that has died, and at
 * most two seconds for one that has not finalized the host: the host need not synchronise there. */
static bool await_snapshot(const struct layout_member *member)
{
    const uint64_t timeout_ns = 2000000000;
    uint64_t start = sync_now_ns();
    struct sync_wait wait = SYNC_WAIT;
    uint32_t published = node_member(node.me)->stats.complete;
    while (atomic_load_explicit(&member->stats.complete, memory_order_acquire) < published) {
        if (kill(member->pid, 0) || sync_now_ns() - start > timeout_ns)
            return false;
        sync_pause(&wait);
    }
    return true;
}

void statistics_print(void)
{
    static struct stats_snapshot sum;
    memset(&sum, 0, sizeof sum);
    if (!node.header)
        sum = own_snapshot;
    for (uint32_t i = 0; node.header && i < node.size; i++)
        if (await_snapshot(node_member(i)))
            stats_add(&sum, &node_member(i)->stats);
    bool text = !strcmp(config.stats, "1") || !strcmp(config.stats, "-");
    FILE *out = text ? stderr : fopen(config.stats, "we");
    if (!out) {
        log_message(0, "cannot write the statistics to %s: %m; name a file in a folder that exists",
                    config.stats);
        return;
    }
    if (text)
        stats_print_text(out, library_version, &sum, &host_identity, call_names);
    else
        stats_print_json(out, library_version, &sum, &host_identity, call_names);
    if (!text)
        fclose(out);
}
