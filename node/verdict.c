#include "node/verdict.h"

#include "core/sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROBE   "probe"
#define BEGUN   "begun"
#define NODE    "node"
#define VERDICT "verdict"

enum { ATTEMPTS = 20 };

/* ---- names ---- */

/* PROBE and BEGUN are published before all leaders have read the session, so their names do not
 * contain it. */
static void name_of(const struct leader *l, char name[VERDICT_NAME_BYTES], const char *what,
                    int rank)
{
    bool early = !strcmp(what, PROBE) || !strcmp(what, BEGUN);
    snprintf(name, VERDICT_NAME_BYTES, "mpiaccel.%016" PRIx64 ".%d.%s.%d.%s", l->job, l->world_size,
             what, rank, early ? "" : l->session);
}

static bool name_is_there(const struct leader *l, const char *what, int rank,
                          char value[VERDICT_VALUE_BYTES])
{
    char name[VERDICT_NAME_BYTES];
    name_of(l, name, what, rank);
    return l->names->look_up(name, value);
}

/* Publish a name. Returns whether a look-up finds it afterwards. */
static bool publish(const struct leader *l, const char *what, int rank, const char *value)
{
    char name[VERDICT_NAME_BYTES], found[VERDICT_VALUE_BYTES];
    name_of(l, name, what, rank);
    l->names->publish(name, value);
    return l->names->look_up(name, found) && !strcmp(found, value);
}

/* The launcher serves the names of all nodes one after the other. So a rank that waits asks at
 * growing intervals, which are longer with more nodes, and sleeps meanwhile. No rank needs the
 * progress of this one before MPI_Init returns. */
struct pause {
    long ns, longest;
};

static struct pause first_pause(const struct leader *l)
{
    return (struct pause){.ns = 200000 + l->nodes * 20000, .longest = 5000000 + l->nodes * 100000};
}

static void pause_longer(struct pause *p)
{
    struct timespec time = {p->ns / 1000000000, p->ns % 1000000000};
    nanosleep(&time, NULL);
    p->ns += p->ns / 2;
    if (p->ns > p->longest)
        p->ns = p->longest;
}

static bool find_until(const struct leader *l, const char *what, int rank, uint64_t deadline,
                       char value[VERDICT_VALUE_BYTES])
{
    struct pause pause = first_pause(l);
    while (!name_is_there(l, what, rank, value)) {
        if (sync_now_ns() > deadline)
            return false;
        pause_longer(&pause);
    }
    return true;
}

/* ---- the ranks of a node ---- */

static int next_here(int rank, int world_size, bool (*is_here)(int rank))
{
    while (rank < world_size && !is_here(rank))
        rank++;
    return rank;
}

bool verdict_write_ranks(char text[VERDICT_VALUE_BYTES], int world_size, bool (*is_here)(int rank))
{
    size_t length = 0;
    for (int r = next_here(0, world_size, is_here); r < world_size;) {
        int step = next_here(r + 1, world_size, is_here) - r, number = 1, next;
        while ((next = r + number * step) < world_size && is_here(next))
            number++;
        length += (size_t)snprintf(text + length, VERDICT_VALUE_BYTES - length, "%s%d.%d.%d",
                                   length ? "_" : "", r, number, step);
        if (length >= VERDICT_VALUE_BYTES)
            return false;
        r = next_here(r + (number - 1) * step + 1, world_size, is_here);
    }
    return true;
}

/* Mark the ranks of a node. Returns how many were not marked before. */
static int mark_ranks(bool *known, int world_size, const char *text)
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

/* ---- rank 0 ---- */

/* Whether the nodes that have published their names have all ranks. */
static bool find_all_ranks(const struct leader *l)
{
    uint64_t deadline = sync_now_ns() + l->patience_ns;
    bool *known = calloc((size_t)l->world_size, sizeof *known);
    char ranks[VERDICT_VALUE_BYTES];
    int left = known ? l->world_size - mark_ranks(known, l->world_size, l->ranks) : l->world_size;
    int next = 0;
    while (known && left) {
        while (known[next])
            next++;
        if (!find_until(l, NODE, next, deadline, ranks))
            break;
        left -= mark_ranks(known, l->world_size, ranks);
        if (!known[next])
            break;
    }
    free(known);
    return !left;
}

static void remove_begun(const struct leader *l)
{
    char name[VERDICT_NAME_BYTES];
    name_of(l, name, BEGUN, 0);
    l->names->remove(name, l->session);
}

static bool publish_verdict(const struct leader *l, bool positive)
{
    struct pause pause = first_pause(l);
    for (int i = 0; i < ATTEMPTS; i++) {
        if (publish(l, VERDICT, 0, positive ? "all" : "some"))
            return true;
        if (!positive)
            remove_begun(l);
        pause_longer(&pause);
    }
    return false;
}

static enum nodes_verdict decide_for_all(struct leader *l)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(l->session, sizeof l->session, "%" PRIx64 ".%x",
             (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec,
             (unsigned)getpid());
    bool positive = publish(l, BEGUN, 0, l->session) && find_all_ranks(l);
    if (publish_verdict(l, positive) && positive)
        return NODES_ALL;
    if (positive)
        publish_verdict(l, false);
    return NODES_NOT_ALL;
}

/* ---- the other leaders ---- */

static enum nodes_verdict await_verdict(const struct leader *l)
{
    struct pause pause = first_pause(l);
    char value[VERDICT_VALUE_BYTES];
    uint64_t absent_since = 0;
    int absences = 0;
    while (!name_is_there(l, VERDICT, 0, value)) {
        if (name_is_there(l, BEGUN, 0, value))
            absences = 0;
        else if (!absences++)
            absent_since = sync_now_ns();
        else if (absences > ATTEMPTS && sync_now_ns() - absent_since > l->patience_ns)
            return NODES_NOT_ALL;
        pause_longer(&pause);
    }
    return strcmp(value, "all") ? NODES_NOT_ALL : NODES_ALL;
}

/* A verdict that is there before this node has published its name is negative, or one of an earlier
 * job. */
static enum nodes_verdict ask_rank_0(struct leader *l)
{
    char value[VERDICT_VALUE_BYTES];
    if (!find_until(l, BEGUN, 0, sync_now_ns() + l->patience_ns, l->session) ||
        name_is_there(l, VERDICT, 0, value))
        return NODES_NOT_ALL;
    publish(l, NODE, l->rank, l->ranks);
    return await_verdict(l);
}

enum nodes_verdict verdict_find(struct leader *l)
{
    if (!publish(l, PROBE, l->rank, "1"))
        return NODES_NO_NAMES;
    return l->rank ? ask_rank_0(l) : decide_for_all(l);
}
