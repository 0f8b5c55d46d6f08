#include "pmpi_wrap/abi/nodes/agreement.h"

#include "core/config.h"
#include "core/log.h"
#include "node/job.h"
#include "node/node.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME_MAX_BYTES = 96, RANKS_MAX_BYTES = 200 }; /* MPICH's port names have 256 bytes */

static bool agreed;
static MPI_Comm all;

bool nodes_have_agreed(void)
{
    return agreed;
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
    int leader = 0;
    while (leader < world_rank && !is_here(leader))
        leader++;
    return leader;
}

/* ---- names ---- */

static void name_of(char name[NAME_MAX_BYTES], const char *what, int rank)
{
    const char *namespace = getenv("PMIX_NAMESPACE");
    snprintf(name, NAME_MAX_BYTES, "mpiaccel.%016" PRIx64 ".%d.%s.%d",
             job_hash(namespace ? namespace : ""), world_size, what, rank);
}

static bool publish_name(const char *what, int rank, const char *value)
{
    char name[NAME_MAX_BYTES];
    name_of(name, what, rank);
    return host.Publish_name(name, MPI_INFO_NULL, value) == MPI_SUCCESS;
}

/* Look a name up until it is there or the time has come; 0 means without a limit. The launcher
 * serves the names of all nodes, so a rank that waits asks at growing intervals and sleeps
 * meanwhile. No rank needs the progress of this one before MPI_Init returns. */
static bool look_up(const char *what, int rank, uint64_t deadline, char value[MPI_MAX_PORT_NAME])
{
    struct timespec pause = {0, 200000};
    char name[NAME_MAX_BYTES];
    name_of(name, what, rank);
    while (host.Lookup_name(name, MPI_INFO_NULL, value) != MPI_SUCCESS) {
        if (deadline && sync_now_ns() > deadline)
            return false;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 5000000)
            pause.tv_nsec += pause.tv_nsec / 2;
    }
    return true;
}

/* ---- the ranks of a node ---- */

/* Write the ranks of this node as "FIRST.NUMBER.STEP", joined by "_". False: too long. */
static bool write_ranks(char text[RANKS_MAX_BYTES])
{
    size_t length = 0;
    for (int r = node_leader(); r < world_size;) {
        int step = 1, number = 1, next;
        while (r + step < world_size && !is_here(r + step))
            step++;
        while ((next = r + number * step) < world_size && is_here(next))
            number++;
        int last = r + (number - 1) * step;
        length += (size_t)snprintf(text + length, RANKS_MAX_BYTES - length, "%s%d.%d.%d",
                                   length ? "_" : "", r, number, step);
        if (length >= RANKS_MAX_BYTES)
            return false;
        for (r = last + 1; r < world_size && !is_here(r); r++)
            ;
    }
    return true;
}

/* Mark the ranks of a node. Returns how many were not marked before. */
static int mark_ranks(bool *known, const char *text)
{
    int first, number, step, length, marked = 0;
    for (; sscanf(text, "%d.%d.%d%n", &first, &number, &step, &length) == 3; text++) {
        for (int i = 0, r = first; i < number && r >= 0 && r < world_size; i++, r += step) {
            marked += !known[r];
            known[r] = true;
        }
        text += length;
        if (*text != '_')
            break;
    }
    return marked;
}

/* ---- the agreement ---- */

/* Whether the nodes that have published their names have all ranks. */
static bool hear_all(const char *own_ranks)
{
    uint64_t deadline = sync_now_ns() + AGREEMENT_PATIENCE_NS;
    bool *known = calloc((size_t)world_size, sizeof *known);
    char ranks[MPI_MAX_PORT_NAME];
    int left = known ? world_size - mark_ranks(known, own_ranks) : world_size, next = 0;
    while (known && left) {
        while (known[next])
            next++;
        if (!look_up("node", next, deadline, ranks))
            break;
        left -= mark_ranks(known, ranks);
        if (!known[next])
            break;
    }
    free(known);
    return !left;
}

static bool decide_for_all(const char *own_ranks)
{
    if (!publish_name("begun", 0, "1"))
        return false;
    bool good = hear_all(own_ranks);
    return publish_name("verdict", 0, good ? "all" : "some") && good;
}

static bool ask_leader(const char *own_ranks)
{
    char value[MPI_MAX_PORT_NAME];
    if (!look_up("begun", 0, sync_now_ns() + AGREEMENT_PATIENCE_NS, value) ||
        !publish_name("node", world_rank, own_ranks))
        return false;
    look_up("verdict", 0, 0, value);
    return !strcmp(value, "all");
}

static void lead_nodes(void)
{
    char ranks[RANKS_MAX_BYTES];
    bool good = write_ranks(ranks) && (world_rank == 0 ? decide_for_all(ranks) : ask_leader(ranks));
    sync_publish_ordered(&node_member(node.me)->nodes, good ? NODES_ALL : NODES_ONE);
}

static bool await_leader(int leader)
{
    struct sync_word *word = &node_member((uint32_t)node_member_of(leader))->nodes;
    struct sync_wait wait = SYNC_WAIT;
    uint32_t verdict;
    while (!(verdict = sync_load(word)))
        sync_wait(&wait, word, 0);
    return verdict == NODES_ALL;
}

static void create_comm_of_leaders(void)
{
    enter_host();
    agreed = host.Comm_dup(MPI_COMM_WORLD, &all) == MPI_SUCCESS;
    if (agreed)
        host.Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    leave_host();
}

/* A name that is missing is an error, which must not end the program. Before MPI_Init returns, no
 * other thread uses these communicators. */
static void with_errors_returned(void (*function)(void))
{
    MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler handlers[2];
    for (int i = 0; i < 2; i++) {
        host.Comm_get_errhandler(comms[i], &handlers[i]);
        host.Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    function();
    for (int i = 0; i < 2; i++) {
        host.Comm_set_errhandler(comms[i], handlers[i]);
        host.Errhandler_free(&handlers[i]);
    }
}

static bool takes_part(void)
{
    MPI_Comm parent;
    host.Comm_get_parent(&parent);
    return config.nodes && node.header && parent == MPI_COMM_NULL && !getenv("SLURM_PROCID");
}

static bool spans_nodes(void)
{
    for (int r = 0; r < world_size; r++)
        if (!is_here(r))
            return true;
    return false;
}

void nodes_agree(void)
{
    if (!takes_part() || !spans_nodes())
        return;
    int leader = node_leader();
    if (leader == world_rank)
        with_errors_returned(lead_nodes);
    if (await_leader(leader))
        create_comm_of_leaders();
    log_message(1, agreed ? "collectives span the nodes of the job"
                          : "collectives do not span nodes: the library is not on all of them, or "
                            "the launcher has no names");
}

void nodes_close(void)
{
    if (agreed)
        host.Comm_free(&all);
    agreed = false;
}
