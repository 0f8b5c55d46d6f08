/* A rank waits in each collective, small and large, while all other ranks need it inside the host:
 * they enter only after they have received its messages. Hangs if a wait does not drive the host's
 * progress (H9: host progress while waiting). */
#include "progress.h"

enum { SMALL = 8, ELEMENTS = 200 << 10 };

static MPI_Comm reversed; /* in which world rank 0 is the last */
static double *out, *in, *incoming;
static int n;

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(void)
{
    MPI_Bcast(in, n, MPI_DOUBLE, 1, MPI_COMM_WORLD);
}

static void gather(void)
{
    MPI_Gather(out, n / test_size, MPI_DOUBLE, in, n / test_size, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void scatter(void)
{
    MPI_Scatter(out, n / test_size, MPI_DOUBLE, in, n / test_size, MPI_DOUBLE, 1, MPI_COMM_WORLD);
}

static void allgather(void)
{
    MPI_Allgather(out, n / test_size, MPI_DOUBLE, in, n / test_size, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoall(void)
{
    MPI_Alltoall(out, n / test_size, MPI_DOUBLE, in, n / test_size, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoall_in_place(void)
{
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, in, n / test_size, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void reduce(void)
{
    MPI_Reduce(out, in, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(void)
{
    MPI_Allreduce(out, in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter(void)
{
    MPI_Reduce_scatter_block(out, in, n / test_size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(void)
{
    MPI_Scan(out, in, n, MPI_DOUBLE, MPI_SUM, reversed);
}

static void exscan(void)
{
    MPI_Exscan(out, in, n, MPI_DOUBLE, MPI_SUM, reversed);
}

/* Rank 0 is needed in both directions: for a message from it, for a collective that it has started,
 * and for a message to it. */
static void others_first(void)
{
    progress_complete(0, 1);
    if (test_rank == 1)
        MPI_Send(large, LARGE, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

static void one(void (*call)(void), const char *name)
{
    MPI_Request requests[2], message;
    memset(large, test_rank == 0, LARGE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0) {
        MPI_Irecv(incoming, LARGE, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &message);
        progress_begin(1, requests);
        double begin = MPI_Wtime();
        call();
        CHECK(MPI_Wtime() - begin < 20, "%s", name);
        progress_end(requests);
        MPI_Wait(&message, MPI_STATUS_IGNORE);
    } else {
        others_first();
        call();
    }
}

int main(int argc, char **argv)
{
    static const struct {
        void (*call)(void);
        const char *name;
    } cases[] = {{barrier, "barrier"},
                 {bcast, "bcast"},
                 {gather, "gather"},
                 {scatter, "scatter"},
                 {allgather, "allgather"},
                 {alltoall, "alltoall"},
                 {alltoall_in_place, "alltoall in place"},
                 {reduce, "reduce"},
                 {allreduce, "allreduce"},
                 {reduce_scatter, "reduce_scatter"},
                 {scan, "scan"},
                 {exscan, "exscan"}};
    test_begin(&argc, &argv);
    large = malloc(LARGE);
    incoming = malloc(LARGE);
    out = calloc(ELEMENTS, sizeof *out);
    in = calloc(ELEMENTS, sizeof *in);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &reversed);
    for (int i = 0; i < 8; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(reversed);
    }
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name))
            continue;
        n = SMALL;
        one(cases[i].call, cases[i].name);
        n = ELEMENTS;
        one(cases[i].call, cases[i].name);
    }
    MPI_Comm_free(&reversed);
    free(large);
    free(incoming);
    free(out);
    free(in);
    return test_end();
}
