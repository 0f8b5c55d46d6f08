/* One-sided communication: rank 0 is the origin, rank 1 the target; further ranks wait in the host,
 * except in the cells in which all take part.
 */
#include "bench.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_BYTES = 16 << 20 };

static MPI_Win win[2];     /* a window for each way, over MPI_Alloc_mem memory */
static char *here;         /* the origin's buffer, WINDOW_BYTES */
static char *floor_target; /* memory for the floor's stores */
static MPI_Datatype every_second;

/* ---- cells ---- */

static void put_flush(int way, long n, size_t bytes)
{
    for (; n; n--) {
        api[way].Put(here, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void get_flush(int way, long n, size_t bytes)
{
    for (; n; n--) {
        api[way].Get(here, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void put_long(int way, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        api[way].Put(here, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void get_long(int way, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        api[way].Get(here, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void fetch_and_op(int way, long n, size_t bytes)
{
    long one = 1, old;
    (void)bytes;
    for (; n; n--) {
        api[way].Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void compare_and_swap(int way, long n, size_t bytes)
{
    long new = 1, expected = 0, old;
    (void)bytes;
    for (; n; n--) {
        api[way].Compare_and_swap(&new, &expected, &old, MPI_LONG, 1, 0, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void accumulate(int way, long n, size_t bytes)
{
    int count = (int)(bytes / sizeof(double));
    for (; n; n--) {
        api[way].Accumulate(here, count, MPI_DOUBLE, 1, 4096, count, MPI_DOUBLE, MPI_SUM, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void strided_put(int way, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        api[way].Put(here, 1, every_second, 1, 0, 1, every_second, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void rput_wait(int way, long n, size_t bytes)
{
    MPI_Request request;
    for (; n; n--) {
        api[way].Rput(here, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win[way], &request);
        api[way].Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void lock_put_unlock(int way, long n, size_t bytes)
{
    for (; n; n--) {
        api[way].Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win[way]);
        api[way].Put(here, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win[way]);
        api[way].Win_unlock(1, win[way]);
    }
}

static void fence(int way, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--)
        api[way].Win_fence(0, win[way]);
}

static void alloc_free(int way, long n, size_t bytes)
{
    void *memory;
    for (; n; n--) {
        api[way].Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
        api[way].Free_mem(memory);
    }
}

/* ---- floors: what the machine needs for it ---- */

static void store_fence(int way, long n, size_t bytes)
{
    volatile long *target = (volatile long *)floor_target;
    (void)way, (void)bytes;
    for (; n; n--) {
        *target = n;
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void load(int way, long n, size_t bytes)
{
    volatile long *target = (volatile long *)floor_target;
    (void)way, (void)bytes;
    for (; n; n--)
        (void)*target;
}

static void add_fence(int way, long n, size_t bytes)
{
    _Atomic long *target = (_Atomic long *)floor_target;
    (void)way, (void)bytes;
    for (; n; n--) {
        atomic_fetch_add(target, 1);
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void copy(int way, long n, size_t bytes)
{
    (void)way;
    for (; n; n--) {
        memcpy(floor_target, here, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void copy_back(int way, long n, size_t bytes)
{
    (void)way;
    for (; n; n--) {
        memcpy(here, floor_target, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

/* ---- the tables ---- */

/* In an epoch of MPI_Win_lock_all. */
static const struct cell locked_cells[] = {
    {"put 8 B + flush", put_long, store_fence, 8, true},
    {"get 8 B + flush", get_long, load, 8, true},
    {"fetch_and_op + flush", fetch_and_op, add_fence, 8, true},
    {"compare_and_swap + flush", compare_and_swap, add_fence, 8, true},
    {"accumulate 1 double + flush", accumulate, NULL, 8, true},
    {"accumulate 1024 doubles + flush", accumulate, NULL, 8192, true},
    {"fetch_and_op after that + flush", fetch_and_op, add_fence, 8, true},
    {"strided put, 64 of 128 doubles", strided_put, NULL, 512, true},
    {"Rput 8 B + Wait", rput_wait, NULL, 8, true},
    {"put 1 KiB + flush", put_flush, copy, 1 << 10, true},
    {"put 8 KiB + flush", put_flush, copy, 8 << 10, true},
    {"put 64 KiB + flush", put_flush, copy, 64 << 10, true},
    {"put 512 KiB + flush", put_flush, copy, 512 << 10, true},
    {"put 1 MiB + flush", put_flush, copy, 1 << 20, true},
    {"put 2 MiB + flush", put_flush, copy, 2 << 20, true},
    {"put 4 MiB + flush", put_flush, copy, 4 << 20, true},
    {"put 8 MiB + flush", put_flush, copy, 8 << 20, true},
    {"put 16 MiB + flush", put_flush, copy, 16 << 20, true},
    {"get 64 KiB + flush", get_flush, copy_back, 64 << 10, true},
    {"get 1 MiB + flush", get_flush, copy_back, 1 << 20, true},
    {"get 4 MiB + flush", get_flush, copy_back, 4 << 20, true},
    {"get 16 MiB + flush", get_flush, copy_back, 16 << 20, true},
};

static const struct cell cells[] = {
    {"lock exclusive, put 8 B, unlock", lock_put_unlock, NULL, 8, true},
    {"Alloc_mem + Free_mem 1 KiB", alloc_free, NULL, 1 << 10, true},
    {"Alloc_mem + Free_mem 1 MiB", alloc_free, NULL, 1 << 20, true},
    {"fence", fence, flag_barrier, 0, false},
};

/* ---- a target that does not call MPI ---- */

static double asleep(int way, bool atomic)
{
    const double seconds = 0.5;
    long one = 1, old;
    double took = 0;
    api[HOST].Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        usleep((useconds_t)(seconds * 1e6));
    if (rank == 0) {
        usleep(50000);
        double start = now();
        api[way].Win_lock(MPI_LOCK_SHARED, 1, 0, win[way]);
        if (atomic)
            api[way].Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, win[way]);
        else
            api[way].Put(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win[way]);
        api[way].Win_unlock(1, win[way]);
        took = now() - start;
    }
    return slowest(took);
}

static void run_asleep(const char *name, bool atomic)
{
    struct result r = {.rounds = 1};
    if (!wanted(name))
        return;
    snprintf(r.name, sizeof r.name, "%s", name);
    for (int w = PLUGIN; w <= HOST; w++)
        r.ns[w] = asleep(w, atomic);
    r.ratio = r.ns[HOST] / r.ns[PLUGIN];
    report(&r);
}

static void run_cells(const struct cell *list, size_t count)
{
    for (const struct cell *c = list; c < list + count; c++) {
        if (!wanted(c->name))
            continue;
        struct result r = measure(c);
        report(&r);
    }
}

static void run(void)
{
    void *memory[2];
    for (int w = PLUGIN; w <= HOST; w++) {
        api[w].Alloc_mem(WINDOW_BYTES, MPI_INFO_NULL, &memory[w]);
        memset(memory[w], 0, WINDOW_BYTES);
        api[w].Win_create(memory[w], WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[w]);
    }
    here = malloc(WINDOW_BYTES);
    floor_target = malloc(WINDOW_BYTES);
    memset(here, 0, WINDOW_BYTES);
    memset(floor_target, 0, WINDOW_BYTES);
    MPI_Type_vector(64, 1, 2, MPI_DOUBLE, &every_second);
    MPI_Type_commit(&every_second);

    for (int w = PLUGIN; w <= HOST; w++)
        api[w].Win_lock_all(0, win[w]);
    run_cells(locked_cells, sizeof locked_cells / sizeof *locked_cells);
    for (int w = PLUGIN; w <= HOST; w++)
        api[w].Win_unlock_all(win[w]);
    run_cells(cells, sizeof cells / sizeof *cells);
    run_asleep("target asleep: lock, put, unlock", false);
    run_asleep("target asleep: lock, fop, unlock", true);

    for (int w = PLUGIN; w <= HOST; w++) {
        api[w].Win_free(&win[w]);
        api[w].Free_mem(memory[w]);
    }
    MPI_Type_free(&every_second);
    free(here);
    free(floor_target);
}

const struct part rma_part = {"rma", run, NULL, 0};
