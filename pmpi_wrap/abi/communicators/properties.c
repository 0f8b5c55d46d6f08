/* Who is in a communicator, and whether they all share memory. */
#include "alloc/node.h"
#include "pmpi_wrap/abi/abi.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

enum { CHUNK = 128 };

/* Whether all of a group are members of this node, and which member `rank` is. Takes no memory: a
 * rank that had none would decide otherwise than the others. */
static enum reason find_members(MPI_Group group, int size, int rank, int *member)
{
    enum reason reason = REASON_COUNT;
    int ranks[CHUNK], found[CHUNK];
    MPI_Group world;
    host.Comm_group(MPI_COMM_WORLD, &world);
    for (int first = 0; first < size; first += CHUNK) {
        int some = size - first < CHUNK ? size - first : CHUNK;
        for (int i = 0; i < some; i++)
            ranks[i] = first + i;
        host.Group_translate_ranks(group, some, ranks, world, found);
        for (int i = 0; i < some; i++) {
            if (found[i] == MPI_UNDEFINED)
                reason = REASON_FOREIGN;
            else if ((found[i] = node_member_of(found[i])) < 0 && reason == REASON_COUNT)
                reason = REASON_ONE_NODE_ONLY;
            if (first + i == rank)
                *member = found[i];
        }
    }
    host.Group_free(&world);
    return reason;
}

static enum reason members_of_comm(MPI_Comm comm, struct comm_properties *s)
{
    MPI_Group group;
    host.Comm_group(comm, &group);
    int next = s->rank + 1 < s->size ? s->rank + 1 : 0;
    enum reason reason = find_members(group, s->size, next, &s->neighbour);
    host.Group_free(&group);
    return reason;
}

enum reason comm_properties_of(MPI_Comm comm, int most, struct comm_properties *s)
{
    int inter = 0;
    *s = (struct comm_properties){0};
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

enum reason intercomm_properties_of(MPI_Comm comm, int most, struct comm_properties *s)
{
    *s = (struct comm_properties){0};
    host.Comm_size(comm, &s->size);
    host.Comm_rank(comm, &s->rank);
    host.Comm_remote_size(comm, &s->others);
    if (s->size > most || s->others > most)
        return REASON_TOO_MANY_RANKS;
    if (!node.header)
        return node.why_not;
    enum reason reason = members_of_comm(comm, s);
    MPI_Group group;
    if (reason != REASON_COUNT)
        return reason;
    host.Comm_remote_group(comm, &group);
    reason = find_members(group, s->others, s->rank % s->others, &s->neighbour);
    host.Group_free(&group);
    return reason;
}

/* How many objects have been loaded ever. */
static int note_loads(struct dl_phdr_info *object, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = object->dlpi_adds;
    return 1;
}

/* What gives out memory of a GPU. Not libze_loader.so: hwloc's plugin, and so any MPI, loads that
 * on machines without a GPU; it is nothing without one of Intel's drivers, which it loads when
 * asked. */
static int find_runtime(struct dl_phdr_info *object, size_t size, void *context)
{
    static const char *const runtimes[] = {"libcuda.so", "libamdhip64.so", "libze_intel_"};
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash ? slash + 1 : object->dlpi_name;
    bool *found = context;
    (void)size;
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        *found |= !strncmp(name, runtimes[i], strlen(runtimes[i]));
    return *found;
}

/* Every window asks, so the names are looked at only when there is a new object. (To ask dlopen()
 * with RTLD_NOLOAD for a name that is not loaded costs a search of the disk, 20 us each.) */
bool gpu_runtime_loaded(void)
{
    static _Atomic unsigned long long looked;
    static _Atomic bool found;
    unsigned long long loads = 0;
    dl_iterate_phdr(note_loads, &loads);
    if (looked == loads)
        return found;
    bool now = false;
    dl_iterate_phdr(find_runtime, &now);
    found = now;
    looked = loads; /* after `found`: another thread may be asking */
    return now;
}
