/* Julia, ctypes and the like call functions that they look up in the host's own library, so they
 * pass by this one. A program that frees objects in this way creates others, which get the same
 * handles. Fails if the library takes a new object for the freed one with the same handle (H24:
 * stale handles and mappings). Argument: `some`, to free past the library on odd ranks only. */
#define _GNU_SOURCE
#include "test.h"

#include <dlfcn.h>
#include <link.h>

enum { ROUNDS = 8 };

static bool some;

/* ---- the host's functions ---- */

struct search {
    const char *name;
    void *found;
};

/* The host is the library named libmpi or libmpich, without a further word, or libmpi_abi. */
static int search_in(struct dl_phdr_info *info, size_t size, void *argument)
{
    static const char *const hosts[] = {"libmpi.so", "libmpich.so", "libmpi_abi.so"};
    struct search *s = argument;
    const char *slash = strrchr(info->dlpi_name, '/'), *file = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (!strncmp(file, hosts[i], strlen(hosts[i]))) {
            void *host = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
            s->found = host ? dlsym(host, s->name) : NULL;
        }
    return s->found != NULL;
}

static void *find(const char *name)
{
    struct search s = {name, NULL};
    dl_iterate_phdr(search_in, &s);
    CHECK(s.found, "%s not found", name);
    return s.found;
}

#define FREE(name, type, handle)                                                 \
    do {                                                                         \
        int (*past)(type *) = some && !(test_rank % 2) ? NULL : find(#name);     \
        CHECK((past ? past(handle) : name(handle)) == MPI_SUCCESS, "%s", #name); \
    } while (0)

/* ---- communicators ---- */

static void use_comm(MPI_Comm comm, int calls)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < calls; i++) {
        int x = rank == 0 ? 42 + i : 0, sum = -1;
        MPI_Bcast(&x, 1, MPI_INT, 0, comm);
        CHECK(x == 42 + i, "%d", x);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size * (size - 1) / 2, "%d", sum);
    }
}

/* Ranks in order or in reverse order. */
static MPI_Comm split(int round)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 ? -test_rank : test_rank, &comm);
    return comm;
}

/* `calls` decides how far the library has come with the communicator. */
static void communicators(int calls)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm = split(round);
        use_comm(comm, calls);
        if (round % 4 < 2)
            FREE(MPI_Comm_free, MPI_Comm, &comm);
        else
            FREE(MPI_Comm_disconnect, MPI_Comm, &comm);
    }
}

/* Get their teams by an exchange, which is in progress when some of them are freed. */
static void groups(int calls)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int round = 0; round < ROUNDS; round++) {
        int ranks[64];
        MPI_Comm comm;
        for (int i = 0; i < test_size; i++)
            ranks[i] = round % 2 ? test_size - 1 - i : i;
        MPI_Group_incl(world, test_size, ranks, &group);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
        MPI_Group_free(&group);
        use_comm(comm, calls);
        FREE(MPI_Comm_free, MPI_Comm, &comm);
    }
    MPI_Group_free(&world);
}

/* Freed before any collective call, and followed by communicators that do not come from all ranks of
 * a parent. */
static void unused(void)
{
    MPI_Group world, group;
    int ranks[64];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < test_size; i++)
        ranks[i] = test_size - 1 - i;
    MPI_Group_incl(world, test_size, ranks, &group);
    for (int round = 0; round < 3 * ROUNDS; round++) {
        MPI_Comm comm, merged, local = MPI_COMM_SELF;
        MPI_Request request;
        if (round % 3 == 2)
            MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, 0, &local);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        FREE(MPI_Comm_free, MPI_Comm, &comm);
        if (round % 3 == 0) {
            MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
        } else if (round % 3 == 1) {
            MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            int sum = -1, one = 1;
            MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, !(test_rank % 2), 0, &comm);
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
            CHECK(sum == (test_size + test_rank % 2) / 2, "%d", sum);
            MPI_Comm_dup(MPI_COMM_WORLD, &merged);
            FREE(MPI_Comm_free, MPI_Comm, &merged);
            MPI_Intercomm_merge(comm, test_rank % 2, &merged);
            MPI_Comm_free(&comm);
            MPI_Comm_free(&local);
            comm = merged;
        }
        use_comm(comm, 5);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* ---- datatypes ---- */

static void datatypes(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Datatype type;
        int count = round % 2 ? 8 : 4, value[8] = {0};
        MPI_Type_contiguous(count, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < count; i++)
            value[i] = test_rank ? 0 : i + 1;
        MPI_Bcast(value, 1, type, 0, MPI_COMM_WORLD);
        for (int i = 0; i < 8; i++)
            CHECK(value[i] == (i < count ? i + 1 : 0), "element %d is %d", i, value[i]);
        FREE(MPI_Type_free, MPI_Datatype, &type);
    }
}

/* The host keeps a datatype while another one or a message needs it. */
static void needed_datatypes(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Datatype inner, outer;
        MPI_Request request;
        int count = round % 2 ? 3 : 2, value[6] = {0}, received[6] = {0};
        MPI_Type_contiguous(count, MPI_INT, &inner);
        MPI_Type_commit(&inner);
        MPI_Bcast(value, 1, inner, 0, MPI_COMM_WORLD);
        MPI_Type_contiguous(2, inner, &outer);
        MPI_Type_commit(&outer);
        MPI_Irecv(received, 2, inner, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
        FREE(MPI_Type_free, MPI_Datatype, &inner);
        for (int i = 0; i < 2 * count; i++)
            value[i] = test_rank ? 0 : i + 1;
        MPI_Bcast(value, 1, outer, 0, MPI_COMM_WORLD);
        CHECK(value[2 * count - 1] == 2 * count, "%d", value[2 * count - 1]);
        MPI_Send(value, 2 * count, MPI_INT, (test_rank + 1) % test_size, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(received[2 * count - 1] == 2 * count, "%d", received[2 * count - 1]);
        FREE(MPI_Type_free, MPI_Datatype, &outer);
    }
}

/* ---- windows ---- */

enum { WINDOW_BYTES = 4 << 20, WINDOWS = 40 };

/* Bytes of memory that this process uses. */
static long used_bytes(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%*d %ld", &pages) == 1, "statm");
    if (f)
        fclose(f);
    return pages * 4096;
}

static void windows(void)
{
    long before = used_bytes(), used;
    int next = (test_rank + 1) % test_size;
    for (int round = 0; round < WINDOWS; round++) {
        MPI_Win win;
        int *memory, got = -1, element = 3 + round;
        MPI_Win_allocate(WINDOW_BYTES + 64 * round, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                         &memory, &win);
        memset(memory, 1, WINDOW_BYTES);
        memory[element] = 10 * round + test_rank;
        MPI_Win_fence(0, win);
        MPI_Get(&got, 1, MPI_INT, next, element, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(got == 10 * round + next, "round %d: %d", round, got);
        FREE(MPI_Win_free, MPI_Win, &win);
    }
    used = used_bytes() - before;
    CHECK(used < WINDOWS / 2 * WINDOW_BYTES, "%ld bytes of windows are not returned", used);
}

/* Windows of the host alternate with fast ones. */
static void unlike_windows(void)
{
    int *shared, *private = calloc(64, sizeof *private);
    MPI_Alloc_mem(64 * sizeof *shared, MPI_INFO_NULL, &shared);
    for (int round = 0; round < ROUNDS; round++) {
        int *memory = round % 2 ? private : shared;
        MPI_Win win;
        memset(memory, 0, 64 * sizeof *memory);
        MPI_Win_create(memory, 64 * sizeof *memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_fence(0, win);
        MPI_Put(&round, 1, MPI_INT, (test_rank + 1) % test_size, 8, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(memory[8] == round, "%d", memory[8]);
        FREE(MPI_Win_free, MPI_Win, &win);
    }
    MPI_Free_mem(shared);
    free(private);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    some = argc > 1 && !strcmp(argv[1], "some");
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int calls = 0; calls <= 5; calls++) {
        communicators(calls);
        groups(calls);
    }
    unused();
    datatypes();
    needed_datatypes();
    windows();
    unlike_windows();
    return test_end();
}
