#include "pmpi_wrap/wait_policy.h"

#include "core/concurrency.h"
#include "core/config.h"
#include "core/log.h"
#include "core/sync.h"
#include "node/node.h"
#include "pmpi_wrap/host_wait.h"
#include "pmpi_wrap/progress_entry.h"

#include <string.h>

static struct processors own;
static uint32_t local_ranks;

static const struct processors *own_processors(uint32_t rank)
{
    (void)rank;
    return &own;
}

static enum wait_setting choose(uint32_t setting, enum wait_setting if_short, bool is_short)
{
    return setting == WAIT_auto && is_short ? if_short : (enum wait_setting)setting;
}

static enum wait_setting choose_for_node(bool is_short)
{
    enum wait_setting how = WAIT_spin;
    for (uint32_t i = 0; i < node.size; i++) {
        enum wait_setting wanted = choose(node_member(i)->wait, WAIT_sleep, is_short);
        how = wanted > how ? wanted : how;
    }
    return how;
}

/* If a quota is the only shortage, each rank has a processor. Then a yield helps only if several
 * threads of the rank call MPI. */
static bool yields_help(const struct shortage *shortage)
{
    return shortage->cause != SHORTAGE_QUOTA || shortage->confined || thread_concurrent;
}

static void apply(void (*progress)(void), bool host_is_open)
{
    struct shortage shortage =
        node.header ? node_shortage() : processors_shortage(local_ranks, own_processors);
    enum wait_setting how = node.header ? choose_for_node(shortage.cause)
                                        : choose(config.wait, WAIT_yield, shortage.cause);
    sync_configure(node.header && how > WAIT_auto, progress);
    if (node.header && progress && how == WAIT_sleep)
        sync_set_host_mail(&node_member(node.me)->mail, &node.header->asleep);
    else
        sync_set_host_mail(NULL, NULL);
    bool yields = how != WAIT_sleep || yields_help(&shortage);
    host_wait_configure(how, shortage.cause == SHORTAGE_QUOTA, yields,
                        host_is_open ? progress_let_host_yield(how > WAIT_auto && yields) : NULL);
}

/* As long as nothing is shared, a rank cannot read the masks of other ranks. If its own mask lacks
 * processors of the machine, the launcher may have bound each rank to different ones. Then only a
 * quota counts as a shortage, even if all ranks have the same mask (cpusets). With `auto`, threads
 * that share a processor yield after a number of polls (core/wait_times.h). */
static void read_own_processors(void)
{
    processors_read(&own);
    if (!processors_are_all(&own))
        memset(own.mask, 0, sizeof own.mask);
}

void wait_policy_enter(uint32_t ranks)
{
    read_own_processors();
    local_ranks = ranks;
    apply(NULL, false);
}

void wait_policy_apply(void (*progress)(void))
{
    apply(progress, true);
}

void wait_policy_log(void)
{
    char text[80];
    struct shortage shortage = node_shortage();
    if (!shortage.cause || node.me)
        return;
    shortage_describe(&shortage, text, sizeof text);
    log_message(1, "%s: waiting ranks %s (MPIACCEL_WAIT)", text,
                host_wait == WAIT_spin ? "poll all the same" : "yield or sleep");
}
