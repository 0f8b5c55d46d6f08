#include "pmpi_wrap/abi/nodes/agreement.h"

#include "core/config.h"
#include "core/log.h"
#include "node/job.h"
#include "node/node.h"
#include "node/rendezvous.h"
#include "node/verdict.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/library_version.h"
#include "pmpi_wrap/pmix_fence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum reason why_not = REASON_ONE_NODE_ONLY;
static MPI_Comm all;

enum reason nodes_why_not(void)
{
    return why_not;
}

MPI_Comm nodes_comm(void)
{
    return all;
}

static bool is_here(int rank)
{
    return node_member_of(rank) >= 0;
}

int node_leader(void)
{
    return node.header ? node.rank_here[0] : world_rank;
}

/* ---- names ---- */

static bool publish_name(const char *name, const char *value)
{
    return host.Publish_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS;
}

static bool look_up_name(const char *name, char value[VERDICT_VALUE_BYTES])
{
    char found[MPI_MAX_PORT_NAME];
    if (host.Lookup_name(name, MPI_INFO_NULL, found) != MPI_SUCCESS)
        return false;
    size_t length = strnlen(found, VERDICT_VALUE_BYTES - 1);
    memcpy(value, found, length);
    value[length] = '\0';
    return true;
}

static bool remove_name(const char *name, const char *value)
{
    return host.Unpublish_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS;
}

/* ---- the agreement ---- */

static bool is_number(const char *variable, int number)
{
    const char *text = getenv(variable);
    return text && atoi(text) == number;
}

/* Whether one of the launchers that are known to serve names has started this process: mpirun of
 * Open MPI, or MPICH's Hydra. Another launcher may never answer. Inside a Slurm job, these two may
 * start the ranks by a Slurm task on each node; the ranks then inherit the variables of that
 * task. */
static bool launcher_serves_names(void)
{
    bool of_slurm =
        is_number("SLURM_PROCID", world_rank) && is_number("SLURM_STEP_NUM_TASKS", world_size);
    bool of_hydra = getenv("PMI_FD") && getenv("MPI_LOCALNRANKS");
    return (is_number("OMPI_COMM_WORLD_SIZE", world_size) || of_hydra) && !of_slurm;
}

/* Ranks with another version or other settings would decide differently which collectives are fast
 * (H13), so they look for other names, and their keys have another value. */
static uint64_t common_to_all(const char *job)
{
    char text[512];
    snprintf(text, sizeof text, "%s %" PRIx64 " %s", library_version, common_settings(), job);
    return job_hash(text);
}

static uint64_t key_of_names(void)
{
    const char *namespace = getenv("PMIX_NAMESPACE");
    return common_to_all(namespace ? namespace : "");
}

static enum nodes_verdict verdict_of_names(void)
{
    static const struct name_service names = {publish_name, look_up_name, remove_name};
    char ranks[VERDICT_VALUE_BYTES];
    struct leader leader = {.names = &names,
                            .job = key_of_names(),
                            .rank = world_rank,
                            .world_size = world_size,
                            .nodes = world_size / (int)node.size,
                            .ranks = ranks,
                            .patience_ns = AGREEMENT_PATIENCE_NS};
    if (!launcher_serves_names())
        return NODES_NO_NAMES;
    return verdict_write_ranks(ranks, world_size, is_here) ? verdict_find(&leader) : NODES_NOT_ALL;
}

/* A name that is missing is an error, which must not end the program. Before MPI_Init returns, no
 * other thread uses these communicators. */
static enum nodes_verdict find_by_names(void)
{
    MPI_Comm parent, comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler handlers[2];
    host.Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return NODES_NOT_ALL;
    for (int i = 0; i < 2; i++) {
        host.Comm_get_errhandler(comms[i], &handlers[i]);
        host.Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    enum nodes_verdict verdict = verdict_of_names();
    for (int i = 0; i < 2; i++) {
        host.Comm_set_errhandler(comms[i], handlers[i]);
        host.Errhandler_free(&handlers[i]);
    }
    return verdict;
}

static enum nodes_verdict find_by_keys(void)
{
    return pmix_fence_all_have(common_to_all(""), world_size) ? NODES_ALL : NODES_NOT_ALL;
}

static enum nodes_verdict await_leader(int leader)
{
    struct sync_word *word = &node_member((uint32_t)node_member_of(leader))->nodes;
    struct sync_wait wait = SYNC_WAIT;
    uint32_t verdict;
    while (!(verdict = sync_load(word)))
        sync_wait(&wait, word, 0);
    return (enum nodes_verdict)verdict;
}

/* Find the verdict. It is the same on all ranks if it is NODES_ALL on one of them. A rank that
 * shares no memory has no leader. */
static enum nodes_verdict find_verdict(bool has_key)
{
    int leader = node.header ? node_leader() : world_rank;
    if (leader != world_rank)
        return await_leader(leader);
    enum nodes_verdict verdict = has_key ? find_by_keys() : find_by_names();
    if (node.header)
        sync_publish_ordered(&node_member(node.me)->nodes, verdict);
    return verdict;
}

/* Whether the ranks of every node share memory and none has early groups. A node with early groups
 * leaves some communicators to the host, which the ranks of other nodes would connect. */
static bool all_nodes_take_part(void)
{
    int mine = node.header && !node_setup_has_early_groups(), everybody = 0;
    enter_host();
    int result = host.Allreduce(&mine, &everybody, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    leave_host();
    return result == MPI_SUCCESS && everybody;
}

static enum reason duplicate_world(void)
{
    enter_host();
    int result = host.Comm_dup(MPI_COMM_WORLD, &all);
    if (result == MPI_SUCCESS)
        host.Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    leave_host();
    return result == MPI_SUCCESS ? REASON_NONE : REASON_NO_MEMORY;
}

static enum reason agree_with_nodes(bool has_key)
{
    switch (find_verdict(has_key)) {
    case NODES_ALL:
        return all_nodes_take_part() ? duplicate_world() : REASON_NODES_NOT_ALL;
    case NODES_NO_NAMES:
        return REASON_NODES_NO_NAMES;
    default:
        return REASON_NODES_NOT_ALL;
    }
}

void nodes_enter(void)
{
    if (config.nodes)
        pmix_fence_begins(common_to_all(""));
}

void nodes_agree(void)
{
    bool has_key = config.nodes && pmix_fence_ended();
    bool spans_nodes = node.ranks_here < world_size;
    if (!config.nodes || !(node.header || has_key) || !spans_nodes)
        return;
    why_not = agree_with_nodes(has_key);
    if (why_not == REASON_NONE)
        log_message(1, "collectives span the nodes of the job");
    else
        log_message(1, "collectives do not span nodes: %s; %s", stats_reasons[why_not],
                    stats_advice[why_not]);
}

void nodes_finalized(void)
{
    why_not = REASON_ONE_NODE_ONLY;
}
