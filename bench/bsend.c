/* Buffered sends: half a round trip between the first two ranks, and streams of so many messages to
 * a receiver that does not call MPI before they could all have been sent. (It must not wait until
 * they have: from some hundred messages on Open MPI's MPI_Bsend waits for the receiver.)
 *
 * Of data that are the same each time ("again"), and that were written before each message ("new"),
 * which is another thing altogether: see HACKING.md. The floor is a send of the same data and one
 * copy of that size in the same processor's cache.
 */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, STREAM = 10000, ROOM = STREAM * ((16 << 10) + 1024) + 16 * MOST };

static const struct {
    int bytes;
    const char *name;
} sizes[] = {
    {8, "8 B"},           {64, "64 B"},         {1 << 10, "1 KiB"},     {4 << 10, "4 KiB"},
    {16 << 10, "16 KiB"}, {64 << 10, "64 KiB"}, {256 << 10, "256 KiB"}, {1 << 20, "1 MiB"}};

static char *again, *new, *in, *scratch;

static void receive(const struct api *mpi, int bytes)
{
    mpi->Recv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* n halves of round trips; the odd one is rank 0's. */
static bool is_mine(long i)
{
    return i % 2 == rank;
}

static void bsend_again(int way, long n, size_t bytes)
{
    const struct api *mpi = &api[way];
    for (long i = 0; i < n && rank < 2; i++)
        if (is_mine(i))
            mpi->Bsend(again, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            receive(mpi, (int)bytes);
}

static void bsend_new(int way, long n, size_t bytes)
{
    const struct api *mpi = &api[way];
    for (long i = 0; i < n && rank < 2; i++)
        if (is_mine(i)) {
            memset(new, (int)i, bytes);
            mpi->Bsend(new, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        } else {
            receive(mpi, (int)bytes);
        }
}

static void send_again(int way, long n, size_t bytes)
{
    (void)way;
    for (long i = 0; i < n && rank < 2; i++)
        if (is_mine(i)) {
            memcpy(scratch, again, bytes);
            api[HOST].Send(again, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        } else {
            receive(&api[HOST], (int)bytes);
        }
}

static void send_new(int way, long n, size_t bytes)
{
    (void)way;
    for (long i = 0; i < n && rank < 2; i++)
        if (is_mine(i)) {
            memset(new, (int)i, bytes);
            memcpy(scratch, new, bytes);
            api[HOST].Send(new, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        } else {
            receive(&api[HOST], (int)bytes);
        }
}

static void be_late(size_t bytes)
{
    double until = now() + STREAM * 1e3 + (double)bytes / 4;
    while (now() < until) {
    }
}

/* n streams; the bytes are those of one. */
static void stream(int way, long n, size_t bytes)
{
    const struct api *mpi = &api[way];
    for (; n > 0; n--) {
        for (int i = 0; i < STREAM && rank == 0; i++)
            mpi->Bsend(again, (int)(bytes / STREAM), MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (rank == 1)
            be_late(bytes);
        for (int i = 0; i < STREAM && rank == 1; i++)
            receive(mpi, (int)(bytes / STREAM));
        if (rank == 0)
            mpi->Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            mpi->Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static void run_cell(const char *what, const char *bytes_name, int bytes, cell_fn *run,
                     cell_fn *floor)
{
    char name[48];
    snprintf(name, sizeof name, "%s %s", what, bytes_name);
    if (!wanted(name))
        return;
    struct cell c = {name, run, floor, (size_t)bytes, false};
    struct result r = measure(&c);
    report(&r);
}

static void run(void)
{
    if (size < 2)
        return;
    again = malloc(MOST);
    new = malloc(MOST);
    in = malloc(MOST);
    scratch = malloc(MOST);
    void *room = malloc(ROOM);
    int room_bytes;
    memset(again, 1, MOST);
    memset(new, 1, MOST);
    memset(room, 0, ROOM);
    api[PLUGIN].Buffer_attach(room, ROOM);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        run_cell("bsend again", sizes[s].name, sizes[s].bytes, bsend_again, send_again);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        run_cell("bsend new", sizes[s].name, sizes[s].bytes, bsend_new, send_new);
    run_cell("bsend stream", "64 B", STREAM * 64, stream, NULL);
    run_cell("bsend stream", "1 KiB", STREAM << 10, stream, NULL);
    run_cell("bsend stream", "16 KiB", STREAM * (16 << 10), stream, NULL);
    api[PLUGIN].Buffer_detach(&room, &room_bytes);
    free(room);
    free(scratch);
    free(in);
    free(new);
    free(again);
}

static const struct goal goals[] = {
    {"bsend again 8 B", 2, false, 1, 1},         {"bsend again 4 KiB", 2, false, 1, 1},
    {"bsend again 16 KiB", 2, false, 2, 2},      {"bsend again 64 KiB", 2, false, 1.5, 1.5},
    {"bsend again 256 KiB", 2, false, 1.3, 2},   {"bsend again 16 KiB", 2, true, 1.15, 1.15},
    {"bsend again 64 KiB", 2, true, 1.15, 1.15}, {"bsend again 256 KiB", 2, true, 1.15, 1.15},
    {"bsend new 16 KiB", 2, false, 1, 1},        {"bsend new 64 KiB", 2, false, 1, 1},
    {"bsend new 256 KiB", 2, false, 1, 1},       {"bsend stream 64 B", 2, false, 1, 1},
    {"bsend stream 1 KiB", 2, false, 1, 1},      {"bsend stream 16 KiB", 2, false, 1, 1},
};

const struct part bsend_part = {"bsend", run, goals, sizeof goals / sizeof *goals};
