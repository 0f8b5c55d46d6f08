/* Julia, ctypes and the like call functions that they look up in the host's own library, so they
 * pass by this one. A program that frees objects in this way creates others, which get the same
 * handles. Fails if the library takes a new object for the freed one with the same handle (H24:
 * stale handles and mappings). Arguments: `some`, to free past the library on odd ranks only;
 * `connects`, to connect the ranks with each other, too. */
#define _GNU_SOURCE
#include "past_library.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* MANY: more than CHILD_UNUSED_MAX. */
enum { ROUNDS = 8, DISCARDED = 16, MANY = 70 };

static bool some, connects;

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

/* Communicators that get their teams by an exchange, which is in progress when some of them are
 * freed. */
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

/* ---- communicators that do not come from all ranks of a parent ---- */

/* The next communicator may get the handle of this one. */
static void discard_unused(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    FREE(MPI_Comm_free, MPI_Comm, &comm);
}

/* Duplicates of a communicator with fast collectives. The host allocates other memory, too, before
 * it creates the next communicator. */
static void discard_many_unused(MPI_Comm parent, int many)
{
    MPI_Comm comms[MANY];
    MPI_Barrier(parent);
    for (int i = 0; i < many; i++)
        MPI_Comm_dup(parent, &comms[i]);
    for (int i = 0; i < many; i++)
        FREE(MPI_Comm_free, MPI_Comm, &comms[i]);
}

static MPI_Comm of_group(void)
{
    MPI_Group world, group;
    MPI_Comm comm;
    int ranks[64];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < test_size; i++)
        ranks[i] = test_size - 1 - i;
    MPI_Group_incl(world, test_size, ranks, &group);
    discard_unused();
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return comm;
}

static MPI_Comm idup(bool with_info)
{
    MPI_Comm comm;
    MPI_Request request;
    discard_unused();
#if MPI_VERSION >= 4
    if (with_info)
        MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm, &request);
    else
#endif
        MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    (void)with_info;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return comm;
}

/* Between even and odd ranks. */
static MPI_Comm intercommunicator(MPI_Comm local)
{
    MPI_Comm between;
    discard_unused();
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, !(test_rank % 2), 0, &between);
    return between;
}

static MPI_Comm connected(MPI_Comm local)
{
    MPI_Comm between;
    char port[MPI_MAX_PORT_NAME] = "";
    if (test_rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    discard_many_unused(local, DISCARDED);
    if (test_rank % 2)
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, local, &between);
    else
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, local, &between);
    if (test_rank == 0)
        MPI_Close_port(port);
    return between;
}

static MPI_Comm merged(MPI_Comm creates(MPI_Comm local))
{
    MPI_Comm local, between, comm;
    int sum = -1, odd = test_rank % 2, value = 1 + odd;
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, 0, &local);
    between = creates(local);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, between);
    CHECK(sum == (test_size + odd) / 2 * (2 - odd), "%d", sum);
    discard_unused();
    MPI_Intercomm_merge(between, test_rank % 2, &comm);
    if (creates == connected)
        MPI_Comm_disconnect(&between);
    else
        MPI_Comm_free(&between);
    MPI_Comm_free(&local);
    return comm;
}

/* Returns a socket that is connected with that of another rank. */
static int connected_socket(int peer)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *address = (struct sockaddr *)&at;
    socklen_t length = sizeof at;
    int end = socket(AF_INET, SOCK_STREAM, 0), accepted;
    if (test_rank > peer) {
        MPI_Recv(&at.sin_port, 2, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(connect(end, address, length) == 0);
        return end;
    }
    CHECK(bind(end, address, length) == 0 && listen(end, 1) == 0);
    getsockname(end, address, &length);
    MPI_Send(&at.sin_port, 2, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    accepted = accept(end, NULL, NULL);
    close(end);
    return accepted;
}

/* The even ranks and the odd ones: not the ranks of the communicators whose handles these get. */
static void halves(MPI_Comm parent, int many)
{
    MPI_Comm comms[MANY];
    for (int i = 0; i < many; i++)
        MPI_Comm_split(parent, test_rank % 2, 0, &comms[i]);
    for (int i = 0; i < many; i++) {
        use_comm(comms[i], 2);
        MPI_Comm_free(&comms[i]);
    }
}

/* The parent has no team, so its children get none from it. */
static void halves_of_unused(void)
{
    MPI_Comm parent = idup(false);
    discard_many_unused(MPI_COMM_WORLD, DISCARDED);
    halves(parent, DISCARDED);
    MPI_Comm_free(&parent);
}

/* Ranks 0 and 1, 2 and 3. */
static void join(void)
{
    MPI_Comm pair, between;
    int end = connected_socket(test_rank ^ 1), got = -1;
    MPI_Comm_split(MPI_COMM_WORLD, test_rank / 2, 0, &pair);
    discard_many_unused(pair, DISCARDED);
    MPI_Comm_join(end, &between);
    MPI_Allreduce(&test_rank, &got, 1, MPI_INT, MPI_SUM, between);
    CHECK(got == (test_rank ^ 1), "%d", got);
    MPI_Comm_disconnect(&between);
    MPI_Comm_free(&pair);
    close(end);
}

static void unused(void)
{
    for (int round = 0; round < 4 * ROUNDS; round++) {
        MPI_Comm comm = round % 4 == 0   ? of_group()
                        : round % 4 == 1 ? merged(intercommunicator)
                                         : idup(round % 4 == 2);
        use_comm(comm, 5);
        MPI_Comm_free(&comm);
    }
    halves_of_unused();
    discard_many_unused(MPI_COMM_WORLD, MANY);
    halves(MPI_COMM_WORLD, MANY);
    for (int round = 0; connects && round < ROUNDS; round++) {
        MPI_Comm comm = merged(connected);
        use_comm(comm, 5);
        MPI_Comm_free(&comm);
        join();
    }
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

/* ---- persistent requests ---- */

enum { NEW = 1, OLD, ELEMENTS = 1 << 17 };

/* Persistent buffered sends of long messages: some hosts send these so late that the library sends
 * them instead. */
static void discard_buffered(const int *data)
{
    MPI_Request request;
    MPI_Bsend_init(data, ELEMENTS, MPI_INT, test_next(), OLD, MPI_COMM_WORLD, &request);
    FREE(MPI_Request_free, MPI_Request, &request);
}

static void start(MPI_Request *request)
{
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Request_free(request);
}

static void start_collective(const int *data)
{
#if MPI_VERSION >= 4
    MPI_Request request;
    discard_buffered(data);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    start(&request);
#endif
    (void)data;
}

/* If a request that is started has taken the place of the freed one, its message is sent. */
static void requests(void)
{
    int *data = calloc(ELEMENTS, sizeof *data), size = 4 * ELEMENTS * (int)sizeof *data;
    void *buffer = malloc((size_t)size);
    MPI_Buffer_attach(buffer, size);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request, receive;
        int flag, got = -1;
        discard_buffered(data);
        MPI_Recv_init(&got, 1, MPI_INT, test_previous(), NEW, MPI_COMM_WORLD, &receive);
        MPI_Start(&receive);
        discard_buffered(data);
        MPI_Send_init(&round, 1, MPI_INT, test_next(), NEW, MPI_COMM_WORLD, &request);
        start(&request);
        discard_buffered(data);
        MPI_Send_init(&round, 1, MPI_INT, MPI_PROC_NULL, NEW, MPI_COMM_WORLD, &request);
        start(&request);
        start_collective(data);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        MPI_Request_free(&receive);
        CHECK(got == round, "%d", got);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iprobe(MPI_ANY_SOURCE, OLD, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag, "round %d: a message of a request that has been freed", round);
    }
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
    free(data);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    some = argc > 1 && !strcmp(argv[1], "some");
    connects = argc > 1 && !strcmp(argv[1], "connects");
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int calls = 0; calls <= 5; calls++) {
        communicators(calls);
        groups(calls);
    }
    unused();
    requests();
    datatypes();
    needed_datatypes();
    windows();
    unlike_windows();
    return test_end();
}
