/* Calls in which the host sends messages of its own, without a call of the program: steps of
 * communicators, files, nonblocking collectives and windows, and the answers to long messages.
 * Nobody wakes a rank that sleeps when such a message comes (pmpi_wrap/host_wait.h). And loops
 * around calls that poll, in which a program may do more than wait.
 *
 *   wait_steps MILLISECONDS|awake|asleep [NAME]...
 *
 * Measures the time of each call, or of those that are named, in repetitions for so many
 * milliseconds. With `awake`, one rank after the other is late, and the others do not sleep while
 * they wait for it; with `asleep`, they do.
 */
#include "oversubscribe.h"

#include <time.h>
#include <unistd.h>

enum { BYTES = 256, LONG = 1 << 20, CALLS_MAX = 10000 };

static char *in, *out, path[100];
static MPI_Comm grid;
static MPI_Group everybody;
static MPI_File file;
static MPI_Win win;
static double value = 1;

static void wait_for(MPI_Request request)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- communicators ---- */

static void comm_dup(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
}

static void comm_split(void)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, 0, &comm);
    MPI_Comm_free(&comm);
}

static void comm_create_group(void)
{
    MPI_Comm comm;
    MPI_Comm_create_group(MPI_COMM_WORLD, everybody, 0, &comm);
    MPI_Comm_free(&comm);
}

/* ---- files ---- */

static void open_file(void)
{
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
}

static void file_open(void)
{
    open_file();
    MPI_File_close(&file);
}

static void file_read(void)
{
    MPI_File_read_at_all(file, 0, in, test_rank ? 0 : BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void file_write(void)
{
    MPI_File_write_at_all(file, (MPI_Offset)test_rank * BYTES, out, BYTES, MPI_BYTE,
                          MPI_STATUS_IGNORE);
}

/* ---- collectives ---- */

static void ialltoall(void)
{
    MPI_Request request;
    MPI_Ialltoall(out, BYTES, MPI_BYTE, in, BYTES, MPI_BYTE, MPI_COMM_WORLD, &request);
    wait_for(request);
}

static void iallreduce(void)
{
    MPI_Request request;
    MPI_Iallreduce(out, in, BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, &request);
    wait_for(request);
}

static void ibcast(void)
{
    MPI_Request request;
    MPI_Ibcast(in, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    wait_for(request);
}

static void ibarrier(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_for(request);
}

static void neighbor_alltoall(void)
{
    MPI_Neighbor_alltoall(out, BYTES, MPI_BYTE, in, BYTES, MPI_BYTE, grid);
}

/* ---- windows ---- */

static void put_fence(void)
{
    MPI_Put(&value, 1, MPI_DOUBLE, test_next(), 0, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
}

static void lock_accumulate(void)
{
    MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win);
    MPI_Accumulate(&value, 1, MPI_DOUBLE, test_next(), 0, 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_unlock(test_next(), win);
}

/* ---- long messages ---- */

static void sendrecv_long(void)
{
    MPI_Sendrecv(out, LONG, MPI_BYTE, test_next(), 1, in, LONG, MPI_BYTE, test_previous(), 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ssend_chain(void)
{
    if (test_rank)
        MPI_Recv(in, BYTES, MPI_BYTE, test_rank - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ssend(out, BYTES, MPI_BYTE, test_next(), 2, MPI_COMM_WORLD);
    if (!test_rank)
        MPI_Recv(in, BYTES, MPI_BYTE, test_previous(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A receive whose sender is a call of the program. */
static void recv(void)
{
    int from = test_size - 1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (test_rank < from)
        MPI_Recv(in, BYTES, MPI_BYTE, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int to = 0; test_rank == from && to < from; to++) {
        MPI_Isend(out, BYTES, MPI_BYTE, to, 3, MPI_COMM_WORLD, &request);
        wait_for(request);
    }
}

/* The same with loops around calls that poll, between which a program may have work to do. */
static void test_loop(void)
{
    int from = test_size - 1, found = test_rank == from;
    if (test_rank == from)
        recv();
    MPI_Request request = MPI_REQUEST_NULL;
    if (test_rank < from)
        MPI_Irecv(in, BYTES, MPI_BYTE, from, 3, MPI_COMM_WORLD, &request);
    while (!found)
        MPI_Test(&request, &found, MPI_STATUS_IGNORE);
}

static void iprobe_loop(void)
{
    int from = test_size - 1, found = test_rank == from;
    while (!found)
        MPI_Iprobe(from, 3, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    recv();
}

static const struct call {
    const char *name;
    void (*call)(void);
} calls[] = {
    {"comm_dup", comm_dup},
    {"comm_split", comm_split},
    {"comm_create_group", comm_create_group},
    {"file_open", file_open},
    {"file_read", file_read},
    {"file_write", file_write},
    {"ialltoall", ialltoall},
    {"iallreduce", iallreduce},
    {"ibcast", ibcast},
    {"ibarrier", ibarrier},
    {"neighbor_alltoall", neighbor_alltoall},
    {"put_fence", put_fence},
    {"lock_accumulate", lock_accumulate},
    {"sendrecv_long", sendrecv_long},
    {"ssend_chain", ssend_chain},
    {"recv", recv},
    {"test_loop", test_loop},
    {"iprobe_loop", iprobe_loop},
};

/* ---- measuring ---- */

static double seconds_of(void (*call)(void), int count)
{
    ibarrier();
    double start = MPI_Wtime();
    for (int i = 0; i < count; i++)
        call();
    ibarrier();
    return MPI_Wtime() - start;
}

static void measure(const char *name, void (*call)(void), double seconds)
{
    int count = 3;
    double first = seconds_of(call, count) / count;
    count = first * CALLS_MAX < seconds ? CALLS_MAX : (int)(seconds / first) + 1;
    MPI_Request request;
    MPI_Ibcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    wait_for(request);
    double each = seconds_of(call, count) / count;
    if (test_rank == 0)
        printf("%-18s %10.1f us\n", name, 1e6 * each);
}

/* ---- sleeping ---- */

/* For ten times as long as ranks yield before they may sleep. If this rank computed instead, the
 * others would mostly wait for the processor. */
static void be_late(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static bool last_rank_sends(const struct call *call)
{
    return call->call == recv || call->call == test_loop || call->call == iprobe_loop;
}

static void observe(const struct call *call, bool may_sleep)
{
    enum { ROUNDS = 8, FEW = 3 };
    long before = 0, slept = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int late = last_rank_sends(call) ? test_size - 1 : round % test_size;
        call->call();
        before = sleeps();
        if (test_rank == late)
            be_late();
        call->call();
        slept += test_rank == late ? 0 : sleeps() - before;
    }
    if (may_sleep && test_rank < test_size - 1)
        CHECK(slept > ROUNDS * FEW, "%s: %ld sleeps", call->name, slept);
    else if (!may_sleep)
        CHECK(slept < ROUNDS * FEW, "%s: %ld sleeps", call->name, slept);
}

/* ---- the program ---- */

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], name))
            return true;
    return argc <= 2;
}

static void one(const struct call *call, const char *how)
{
    bool fences = call->call == put_fence;
    bool accesses = call->call == file_read || call->call == file_write;
    if (fences)
        MPI_Win_fence(0, win);
    if (accesses)
        open_file();
    if (how[0] == 'a')
        observe(call, !strcmp(how, "asleep"));
    else
        measure(call->name, call->call, atof(how) * 1e-3);
    if (accesses)
        MPI_File_close(&file);
    if (fences)
        MPI_Win_fence(0, win);
}

int main(int argc, char **argv)
{
    share_processors();
    test_begin(&argc, &argv);
    in = calloc(1, LONG);
    out = calloc(1, LONG);
    snprintf(path, sizeof path, "/tmp/wait_steps.%ld", (long)getpid());
    MPI_Comm_group(MPI_COMM_WORLD, &everybody);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &test_size, &(int){1}, 0, &grid);
    MPI_Win_create(in, LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (wanted(calls[i].name, argc, argv))
            one(&calls[i], argc > 1 ? argv[1] : "10");
    if (test_rank == 0)
        unlink(path);
    MPI_Win_free(&win);
    MPI_Comm_free(&grid);
    MPI_Group_free(&everybody);
    return test_end();
}
