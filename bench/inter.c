/* Collectives on intercommunicators: the lower half of the ranks, and the others. A separate part,
 * because the mean of the part coll is that of intracommunicators. */
#include "calls.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 128 << 10 };

static int root; /* root argument for the first rank of the lower half */

CALL(barrier, Barrier(comm))
CALL(bcast, Bcast(root == MPI_ROOT ? send : recv, n, MPI_DOUBLE, root, comm))
CALL(gather, Gather(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, root, comm))
CALL(scatter, Scatter(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, root, comm))
CALL(reduce, Reduce(send, recv, n, MPI_DOUBLE, MPI_SUM, root, comm))
CALL(allreduce, Allreduce(send, recv, n, MPI_DOUBLE, MPI_SUM, comm))
CALL(allgather, Allgather(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, comm))

static const struct {
    cell_fn *run;
    size_t bytes;
    const char *name;
} cells[] = {{barrier, 0, "inter barrier"},
             {bcast, 8, "inter bcast 8 B"},
             {bcast, LONGEST, "inter bcast 128 KiB"},
             {gather, 8, "inter gather 8 B"},
             {scatter, 8, "inter scatter 8 B"},
             {reduce, 8, "inter reduce 8 B"},
             {allreduce, 8, "inter allreduce 8 B"},
             {allreduce, 8 << 10, "inter allreduce 8 KiB"},
             {allgather, 1 << 10, "inter allgather 1 KiB"}};

/* Each way's first call must give the same result. */
static void compare(const struct cell *c, size_t room)
{
    char *found = malloc(room);
    memset(with[LIBRARY].recv, 0, room);
    c->run(LIBRARY, 1, c->bytes);
    memcpy(found, with[LIBRARY].recv, room);
    memset(with[HOST].recv, 0, room);
    c->run(HOST, 1, c->bytes);
    if (memcmp(found, with[HOST].recv, room))
        differ(c);
    free(found);
}

static void run_cell(size_t i, int memory, size_t room)
{
    char name[48];
    snprintf(name, sizeof name, "%s%s%s", cells[i].name, cells[i].bytes ? " " : "",
             cells[i].bytes ? memory_names[memory] : "");
    if (!wanted(name))
        return;
    struct cell c = {.name = name, .run = cells[i].run, .bytes = cells[i].bytes};
    compare(&c, room);
    struct result r = measure(&c);
    report(&r);
}

static void make_comm(int way)
{
    MPI_Comm mine;
    bool upper = rank >= size / 2;
    api[way].Comm_split(MPI_COMM_WORLD, upper, rank, &mine);
    api[way].Intercomm_create(mine, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, way, &with[way].comm);
    api[way].Comm_free(&mine);
    root = upper ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    for (int i = 0; i < 40; i++) /* set-up may take some calls */
        api[way].Barrier(with[way].comm);
}

static void run(void)
{
    size_t room = (size_t)size * LONGEST;
    double *buffers[MEMORIES][2][2]; /* memory, way, send or receive */
    for (int w = LIBRARY; w <= HOST; w++) {
        make_comm(w);
        for (int b = 0; b < 2; b++) {
            buffers[MALLOC][w][b] = malloc(room);
            api[w].Alloc_mem((MPI_Aint)room, MPI_INFO_NULL, &buffers[ALLOC_MEM][w][b]);
            for (int m = 0; m < MEMORIES; m++)
                for (size_t i = 0; i < room / sizeof(double); i++)
                    buffers[m][w][b][i] = (double)((i + (size_t)rank * 13) % 61);
        }
    }
    for (int m = 0; m < MEMORIES; m++) {
        use(buffers[m]);
        for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
            if (cells[i].bytes || m == MALLOC)
                run_cell(i, m, room);
    }
    for (int w = LIBRARY; w <= HOST; w++) {
        for (int b = 0; b < 2; b++) {
            free(buffers[MALLOC][w][b]);
            api[w].Free_mem(buffers[ALLOC_MEM][w][b]);
        }
        api[w].Comm_free(&with[w].comm);
    }
}

const struct part inter_part = {"inter", run};
