/* Times calls that the library changes when a job starts, so that one job cannot compare it with
 * the host alone: messages, whose eager limit the host reads in MPI_Init, polls, and calls in which
 * the host sends on its own while ranks share processors. bench/between-jobs runs this program with
 * and without the library in turn.
 *
 * between_jobs MILLISECONDS [PATTERN ...]: prints a line with the name and the nanoseconds per call
 * for each cell of the patterns whose names begin with a PATTERN, or of all. All ranks take part;
 * the last one of an odd number makes no round trips. The time includes that senders write each
 * message before they send it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, TRIAL = 16 };

static int rank, ranks, right, left;
static char *out, *in;

static void message(int bytes)
{
    static int number;
    memset(out, number++, (size_t)bytes);
}

static void round_trip(int bytes)
{
    int peer = rank ^ 1;
    if (peer >= ranks)
        return;
    if (rank & 1)
        MPI_Recv(in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    message(bytes);
    MPI_Send(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    if (!(rank & 1))
        MPI_Recv(in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void begin_ring(int bytes, MPI_Request *request)
{
    message(bytes);
    MPI_Irecv(in, bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, bytes, MPI_BYTE, right, 0, MPI_COMM_WORLD, &request[1]);
}

static void ring(int bytes)
{
    MPI_Request request[2];
    begin_ring(bytes, request);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

static void testall_ring(int bytes)
{
    MPI_Request request[2];
    int done = 0;
    begin_ring(bytes, request);
    while (!done)
        MPI_Testall(2, request, &done, MPI_STATUSES_IGNORE);
}

/* About a microsecond. */
static void work(void)
{
    for (volatile int i = 0; i < 400; i++) {
    }
}

/* A ring whose messages travel while the ranks work and test. */
static void overlap(int bytes)
{
    MPI_Request request[2];
    int done = 0;
    begin_ring(bytes, request);
    for (int i = 0; i < 20; i++) {
        work();
        if (!done)
            MPI_Testall(2, request, &done, MPI_STATUSES_IGNORE);
    }
    if (!done)
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

/* The first rank collects a message of each other one, in the order of their arrival. */
static void probe(int bytes)
{
    if (rank) {
        message(bytes);
        MPI_Ssend(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < ranks; i++) {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        MPI_Recv(in, bytes, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void persistent(int bytes)
{
    static MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    static int last = -1;
    if (last != bytes) {
        if (last >= 0) {
            MPI_Request_free(&request[0]);
            MPI_Request_free(&request[1]);
        }
        MPI_Recv_init(in, bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, &request[0]);
        MPI_Send_init(out, bytes, MPI_BYTE, right, 0, MPI_COMM_WORLD, &request[1]);
        last = bytes;
    }
    message(bytes);
    MPI_Startall(2, request);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

static void iprobe(int bytes)
{
    int found;
    MPI_Iprobe(left, bytes + 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

static void work_and_iprobe(int bytes)
{
    work();
    iprobe(bytes);
}

static void ibarrier(int bytes)
{
    (void)bytes;
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ialltoall(int bytes)
{
    MPI_Request request;
    MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void dup_and_free(int bytes)
{
    (void)bytes;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
}

static void split_and_free(int bytes)
{
    (void)bytes;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    MPI_Comm_free(&comm);
}

static const struct {
    const char *name;
    void (*run)(int bytes);
    int bytes[10]; /* -1 ends the list, 0 is not shown */
} patterns[] = {
    {"round trip",
     round_trip,
     {8, 1 << 10, 2 << 10, 8 << 10, 32 << 10, 64 << 10, 256 << 10, MOST, -1}},
    {"ring", ring, {8, 1 << 10, 2 << 10, 8 << 10, 32 << 10, 64 << 10, 256 << 10, MOST, -1}},
    {"testall ring", testall_ring, {8, 1 << 10, 64 << 10, -1}},
    {"overlap", overlap, {8, 1 << 10, 64 << 10, -1}},
    {"probe", probe, {8, 8 << 10, 64 << 10, -1}},
    {"persistent", persistent, {8, 8 << 10, 64 << 10, -1}},
    {"iprobe", iprobe, {0, -1}},
    {"work and iprobe", work_and_iprobe, {0, -1}},
    {"ibarrier", ibarrier, {0, -1}},
    {"ialltoall", ialltoall, {256, -1}},
    {"dup and free", dup_and_free, {0, -1}},
    {"split and free", split_and_free, {0, -1}},
};

/* The time of n calls in ns, the same on all ranks. */
static double time_of(void (*run)(int), int bytes, long n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    for (long i = 0; i < n; i++)
        run(bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double took = (MPI_Wtime() - from) * 1e9;
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return took;
}

static void measure(const char *name, void (*run)(int), int bytes, double ms)
{
    long n = (long)(ms * 1e6 / time_of(run, bytes, TRIAL) * TRIAL);
    double took = time_of(run, bytes, n + 1) / (double)(n + 1);
    if (rank)
        return;
    if (bytes)
        printf("%s %d B\t%.0f\n", name, bytes, took);
    else
        printf("%s\t%.1f\n", name, took);
}

static int is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (!strncmp(name, argv[i], strlen(argv[i])))
            return 1;
    return argc < 3;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    right = (rank + 1) % ranks;
    left = (rank + ranks - 1) % ranks;
    double ms = argc > 1 ? atof(argv[1]) : 20;
    out = calloc((size_t)ranks, MOST);
    in = calloc((size_t)ranks, MOST);
    memset(in, 1, MOST);
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (const int *bytes = patterns[p].bytes; *bytes >= 0; bytes++)
            if (is_wanted(patterns[p].name, argc, argv))
                measure(patterns[p].name, patterns[p].run, *bytes, ms);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
