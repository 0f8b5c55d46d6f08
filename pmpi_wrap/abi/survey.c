/* Who is in a communicator, and whether they all share memory. */
#include "alloc/node.h"
#include "pmpi_wrap/abi/abi.h"

#include <dlfcn.h>
#include <stdlib.h>

/* World ranks of a group, as members of this node. */
static enum reason find_members(MPI_Group group, int size, int *members)
{
    enum reason reason = REASON_COUNT;
    MPI_Group world;
    int *ranks = malloc((size_t)size * sizeof *ranks);
    if (!ranks)
        return REASON_NO_MEMORY;
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    host.Comm_group(MPI_COMM_WORLD, &world);
    host.Group_translate_ranks(group, size, ranks, world, members);
    host.Group_free(&world);
    for (int i = 0; i < size; i++) {
        if (members[i] == MPI_UNDEFINED)
            reason = REASON_FOREIGN;
        else if ((members[i] = node_member_of(members[i])) < 0 && reason == REASON_COUNT)
            reason = REASON_ONE_NODE_ONLY;
    }
    free(ranks);
    return reason;
}

static enum reason members_of_comm(MPI_Comm comm, struct survey *s)
{
    MPI_Group group;
    s->members = malloc((size_t)s->size * sizeof *s->members);
    if (!s->members)
        return REASON_NO_MEMORY;
    host.Comm_group(comm, &group);
    enum reason reason = find_members(group, s->size, s->members);
    host.Group_free(&group);
    return reason;
}

enum reason survey_comm(MPI_Comm comm, int most, struct survey *s)
{
    int inter = 0;
    *s = (struct survey){0};
    if (inside_host())
        return REASON_INSIDE;
    if (!node.header && node.why_not == REASON_NOT_INITIALISED)
        return REASON_NOT_INITIALISED; /* sessions alone: nothing of ours is ready */
    if (comm == MPI_COMM_NULL || host.Comm_test_inter(comm, &inter))
        return REASON_ARGUMENTS;
    if (inter)
        return REASON_INTERCOMM;
    host.Comm_size(comm, &s->size);
    host.Comm_rank(comm, &s->rank);
    if (s->size == 1)
        return REASON_COUNT;
    if (s->size > most)
        return REASON_TOO_MANY_RANKS;
    return node.header ? members_of_comm(comm, s) : node.why_not;
}

enum reason survey_across(MPI_Comm comm, int most, struct survey *s)
{
    *s = (struct survey){0};
    host.Comm_size(comm, &s->size);
    host.Comm_rank(comm, &s->rank);
    host.Comm_remote_size(comm, &s->others);
    if (s->size > most || s->others > most)
        return REASON_TOO_MANY_RANKS;
    if (!node.header)
        return node.why_not;
    enum reason reason = members_of_comm(comm, s);
    int *others = malloc((size_t)s->others * sizeof *others);
    MPI_Group group;
    if (reason != REASON_COUNT || !others) {
        free(others);
        return reason != REASON_COUNT ? reason : REASON_NO_MEMORY;
    }
    free(s->members);
    s->members = others;
    host.Comm_remote_group(comm, &group);
    reason = find_members(group, s->others, others);
    host.Group_free(&group);
    return reason;
}

bool gpu_runtime_loaded(void)
{
    static const char *const runtimes[] = {"libcuda.so.1", "libamdhip64.so", "libze_loader.so.1"};
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
        if (runtime) {
            dlclose(runtime);
            return true;
        }
    }
    return false;
}
