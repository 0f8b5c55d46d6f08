/* Messages between the first two ranks. A round trip of new data, which both ranks write before it:
 * sends from memory of MPI_Alloc_mem (a send is not accelerated, but the copy that the receiver's
 * host makes is, see pmpi_wrap/process_vm_entry.h), and buffered sends from any memory. And
 * sequences of buffered messages to a receiver that makes no MPI call until all could have been
 * sent. (It must not wait until all have been sent: after some hundred messages Open MPI's
 * MPI_Bsend waits for the receiver.) */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 4 << 20, STREAM = 10000, ROOM = STREAM * ((16 << 10) + 1024) };

static const struct {
    int bytes;
    const char *name;
} sizes[] = {{8, "8 B"},           {64, "64 B"},           {1 << 10, "1 KiB"},
             {3 << 10, "3 KiB"},   {6 << 10, "6 KiB"},     {8 << 10, "8 KiB"},
             {12 << 10, "12 KiB"}, {16 << 10, "16 KiB"},   {24 << 10, "24 KiB"},
             {64 << 10, "64 KiB"}, {256 << 10, "256 KiB"}, {768 << 10, "768 KiB"},
             {MOST, "4 MiB"}};

static char *out[2], *in;

static void new_input(int way, long number, size_t bytes)
{
    memset(out[way == FLOOR ? HOST : way], (int)number, bytes);
}

static void receive(const struct api *mpi, int bytes)
{
    mpi->Recv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The last rank to send waits in MPI until its message has arrived: Open MPI's buffered sends need
 * their sender's progress. */
static void end_round_trip(const struct api *mpi)
{
    if (rank)
        mpi->Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        mpi->Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
}

/* `send` is MPI_Send or MPI_Bsend of this way. */
static void round_trips(int way, long n, size_t bytes, __typeof__(&MPI_Send) send)
{
    const struct api *mpi = &api[way];
    for (; n && rank < 2; n--) {
        if (rank)
            receive(mpi, (int)bytes);
        send(out[way], (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        if (!rank)
            receive(mpi, (int)bytes);
        end_round_trip(mpi);
    }
}

static void send_and_back(int way, long n, size_t bytes)
{
    round_trips(way, n, bytes, api[way].Send);
}

static void bsend_and_back(int way, long n, size_t bytes)
{
    round_trips(way, n, bytes, api[way].Bsend);
}

/* The floor: a flag each way, and one copy of the message each way. */
static void copy_and_back(int way, long n, size_t bytes)
{
    (void)way;
    for (; n; n--) {
        flag_message(0);
        if (rank == 1)
            copy_floor(in, out[HOST], bytes);
        flag_message(1);
        if (rank == 0)
            copy_floor(in, out[HOST], bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void be_late(size_t bytes)
{
    double until = now() + STREAM * 1e3 + (double)bytes / 4;
    while (now() < until) {
    }
}

/* n sequences; `bytes` is the size of one of them. */
static void stream(int way, long n, size_t bytes)
{
    const struct api *mpi = &api[way];
    for (; n > 0; n--) {
        for (int i = 0; i < STREAM && rank == 0; i++)
            mpi->Bsend(out[way], (int)(bytes / STREAM), MPI_BYTE, 1, 0, MPI_COMM_WORLD);
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

static void run_round_trips(const char *what, cell_fn *run, const char *suffix)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        char name[64];
        snprintf(name, sizeof name, "%s %s%s, round trip", what, sizes[s].name, suffix);
        if (!wanted(name))
            continue;
        int room = 4 * (sizes[s].bytes + 1024);
        void *buffer = calloc(1, (size_t)room);
        api[LIBRARY].Buffer_attach(buffer, room);
        struct cell c = {.name = name,
                         .run = run,
                         .floor = copy_and_back,
                         .bytes = (size_t)sizes[s].bytes,
                         .calls = 1,
                         .new_input = new_input};
        struct result r = measure(&c);
        report(&r);
        api[LIBRARY].Buffer_detach(&buffer, &room);
        free(buffer);
    }
}

static void run_stream(const char *bytes_name, size_t bytes)
{
    char name[64];
    snprintf(name, sizeof name, "bsend stream %s", bytes_name);
    if (!wanted(name))
        return;
    struct cell c = {.name = name, .run = stream, .bytes = STREAM * bytes};
    struct result r = measure(&c);
    report(&r);
}

static void run_sends(void)
{
    in = malloc(MOST);
    memset(in, 1, MOST);
    for (int way = LIBRARY; way <= HOST; way++) {
        api[way].Alloc_mem(MOST, MPI_INFO_NULL, &out[way]);
        memset(out[way], 1, MOST);
    }
    run_round_trips("send", send_and_back, " Alloc_mem");
    for (int way = LIBRARY; way <= HOST; way++)
        api[way].Free_mem(out[way]);
    free(in);
}

static void run_buffered_sends(void)
{
    int room_bytes;
    void *room = malloc(ROOM);
    memset(room, 0, ROOM);
    in = malloc(MOST);
    out[LIBRARY] = out[HOST] = malloc(MOST);
    memset(in, 1, MOST);
    memset(out[HOST], 1, MOST);
    run_round_trips("bsend", bsend_and_back, "");
    api[LIBRARY].Buffer_attach(room, ROOM);
    run_stream("64 B", 64);
    run_stream("1 KiB", 1 << 10);
    run_stream("16 KiB", 16 << 10);
    api[LIBRARY].Buffer_detach(&room, &room_bytes);
    free(room);
    free(in);
    free(out[HOST]);
}

const struct part send_part = {"send", run_sends};

const struct part bsend_part = {"bsend", run_buffered_sends};
