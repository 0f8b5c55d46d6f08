/* Sends of long messages, half a round trip between the first two ranks: from memory of
 * MPI_Alloc_mem that is the plugin's, and from the host's, by the same call. The plugin does
 * nothing about a send, but it shortens the copy that the receiver's host makes (alloc/cma.h).
 *
 * "again" and "new" as in bsend.c.
 */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 4 << 20 };

static const struct {
    int bytes;
    const char *name;
} sizes[] = {{1 << 10, "1 KiB"},     {4 << 10, "4 KiB"}, {16 << 10, "16 KiB"}, {64 << 10, "64 KiB"},
             {256 << 10, "256 KiB"}, {1 << 20, "1 MiB"}, {MOST, "4 MiB"}};

static char *out[2], *in;

static void send(int way, long n, size_t bytes, bool new)
{
    const struct api *mpi = &api[way];
    for (long i = 0; i < n && rank < 2; i++)
        if (i % 2 == rank) {
            if (new)
                memset(out[way], (int)i, bytes);
            mpi->Send(out[way], (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        } else {
            mpi->Recv(in, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
}

static void send_again(int way, long n, size_t bytes)
{
    send(way, n, bytes, false);
}

static void send_new(int way, long n, size_t bytes)
{
    send(way, n, bytes, true);
}

static void run_cells(const char *what, cell_fn *cell)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        char name[48];
        snprintf(name, sizeof name, "%s %s Alloc_mem", what, sizes[s].name);
        if (!wanted(name))
            continue;
        struct cell c = {name, cell, NULL, (size_t)sizes[s].bytes, false};
        struct result r = measure(&c);
        report(&r);
    }
}

static void run(void)
{
    if (size < 2)
        return;
    in = malloc(MOST);
    memset(in, 1, MOST);
    for (int way = PLUGIN; way <= HOST; way++) {
        api[way].Alloc_mem(MOST, MPI_INFO_NULL, &out[way]);
        memset(out[way], 1, MOST);
    }
    run_cells("send again", send_again);
    run_cells("send new", send_new);
    for (int way = PLUGIN; way <= HOST; way++)
        api[way].Free_mem(out[way]);
    free(in);
}

static const struct goal goals[] = {
    {"send again 16 KiB Alloc_mem", 2, false, 1.5, 1.5},
    {"send new 16 KiB Alloc_mem", 2, false, 1, 1},
};

const struct part send_part = {"send", run, goals, sizeof goals / sizeof *goals};
