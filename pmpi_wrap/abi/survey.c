/* Who is in a communicator, and whether they all share memory. */
#include "alloc/node.h"
#include "pmpi_wrap/abi/abi.h"

#include <dlfcn.h>
#include <stdlib.h>

/* World ranks of the communicator's group, as members of this node. */
static enum reason find_members(MPI_Comm comm, struct survey *s)
{
    enum reason reason = REASON_COUNT;
    MPI_Group group, world;
    int *ranks = malloc((size_t)s->size * sizeof *ranks);
    s->members = malloc((size_t)s->size * sizeof *s->members);
    if (!ranks || !s->members) {
        free(ranks);
        return REASON_NO_MEMORY;
    }
    for (int i = 0; i < s->size; i++)
        ranks[i] = i;
    host.Comm_group(comm, &group);
    host.Comm_group(MPI_COMM_WORLD, &world);
    host.Group_translate_ranks(group, s->size, ranks, world, s->members);
    host.Group_free(&group);
    host.Group_free(&world);
    for (int i = 0; i < s->size; i++) {
        if (s->members[i] == MPI_UNDEFINED)
            reason = REASON_FOREIGN;
        else if ((s->members[i] = node_member_of(s->members[i])) < 0 && reason == REASON_COUNT)
            reason = REASON_ONE_NODE_ONLY;
    }
    free(ranks);
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
    return node.header ? find_members(comm, s) : node.why_not;
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
