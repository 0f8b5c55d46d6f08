/* One-sided communication: rank 0 is the origin, rank 1 the target; further ranks wait in the host,
 * except in cells of all ranks. */
#include "bench.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_BYTES = 16 << 20 };

static MPI_Win win[2];     /* a window for each way, of the current kind */
static MPI_Aint begin[2];  /* displacement of its memory at rank 1: an address if it is dynamic */
static char *local;        /* the origin's buffer, WINDOW_BYTES */
static char *floor_target; /* memory for the floor's stores */
static MPI_Datatype every_second;

/* ---- cells ---- */

static void put_flush(int way, long n, size_t bytes)
{
    for (; n; n--) {
        api[way].Put(local, (int)bytes, MPI_BYTE, 1, begin[way], (int)bytes, MPI_BYTE, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void get_flush(int way, long n, size_t bytes)
{
    for (; n; n--) {
        api[way].Get(local, (int)bytes, MPI_BYTE, 1, begin[way], (int)bytes, MPI_BYTE, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void put_long(int way, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        api[way].Put(local, 1, MPI_LONG, 1, begin[way], 1, MPI_LONG, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void get_long(int way, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        api[way].Get(local, 1, MPI_LONG, 1, begin[way], 1, MPI_LONG, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void fetch_and_op(int way, long n, size_t bytes)
{
    long one = 1, old;
    (void)bytes;
    for (; n; n--) {
        api[way].Fetch_and_op(&one, &old, MPI_LONG, 1, begin[way], MPI_SUM, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void compare_and_swap(int way, long n, size_t bytes)
{
    long new = 1, expected = 0, old;
    (void)bytes;
    for (; n; n--) {
        api[way].Compare_and_swap(&new, &expected, &old, MPI_LONG, 1, begin[way], win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void accumulate(int way, long n, size_t bytes)
{
    int count = (int)(bytes / sizeof(double));
    for (; n; n--) {
        api[way].Accumulate(local, count, MPI_DOUBLE, 1, begin[way] + 4096, count, MPI_DOUBLE,
                            MPI_SUM, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void accumulate_chars(int way, long n, size_t bytes)
{
    for (; n; n--) {
        api[way].Accumulate(local, (int)bytes, MPI_CHAR, 1, begin[way] + 8192, (int)bytes, MPI_CHAR,
                            MPI_SUM, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void get_accumulate(int way, long n, size_t bytes)
{
    int count = (int)(bytes / sizeof(double));
    for (; n; n--) {
        api[way].Get_accumulate(local, count, MPI_DOUBLE, local + WINDOW_BYTES / 2, count,
                                MPI_DOUBLE, 1, begin[way] + 4096, count, MPI_DOUBLE, MPI_SUM,
                                win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void strided_put(int way, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        api[way].Put(local, 1, every_second, 1, begin[way], 1, every_second, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void rput_wait(int way, long n, size_t bytes)
{
    MPI_Request request;
    for (; n; n--) {
        api[way].Rput(local, (int)bytes, MPI_BYTE, 1, begin[way], (int)bytes, MPI_BYTE, win[way],
                      &request);
        api[way].Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void lock_put_unlock(int way, long n, size_t bytes)
{
    for (; n; n--) {
        api[way].Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win[way]);
        api[way].Put(local, (int)bytes, MPI_BYTE, 1, begin[way], (int)bytes, MPI_BYTE, win[way]);
        api[way].Win_unlock(1, win[way]);
    }
}

static void fence(int way, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--)
        api[way].Win_fence(0, win[way]);
}

static void create_and_free(int way, long n, void *memory, size_t bytes)
{
    MPI_Win w;
    for (; n; n--) {
        api[way].Win_create(memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
        api[way].Win_free(&w);
    }
}

static void create_free(int way, long n, size_t bytes)
{
    void *memory;
    api[way].Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
    create_and_free(way, n, memory, bytes);
    api[way].Free_mem(memory);
}

static void create_free_malloc(int way, long n, size_t bytes)
{
    create_and_free(way, n, local, bytes);
}

static void allocate_free(int way, long n, size_t bytes)
{
    MPI_Win w;
    void *memory;
    for (; n; n--) {
        api[way].Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &w);
        api[way].Win_free(&w);
    }
}

static void allocate_shared_free(int way, long n, size_t bytes)
{
    MPI_Win w;
    void *memory;
    for (; n; n--) {
        api[way].Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                                     &w);
        api[way].Win_free(&w);
    }
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
        copy_floor(floor_target, local, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void copy_back(int way, long n, size_t bytes)
{
    (void)way;
    for (; n; n--) {
        copy_floor(local, floor_target, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

/* ---- the tables ---- */

/* In an epoch of MPI_Win_lock_all. */
static const struct cell locked_cells[] = {
    {.name = "put 8 B + flush", .run = put_long, .floor = store_fence, .bytes = 8, .alone = true},
    {.name = "get 8 B + flush", .run = get_long, .floor = load, .bytes = 8, .alone = true},
    {.name = "fetch_and_op + flush",
     .run = fetch_and_op,
     .floor = add_fence,
     .bytes = 8,
     .alone = true},
    {.name = "accumulate 1 double + flush", .run = accumulate, .bytes = 8, .alone = true},
    {.name = "accumulate 1024 doubles + flush", .run = accumulate, .bytes = 8192, .alone = true},
    {.name = "accumulate 8 chars + flush", .run = accumulate_chars, .bytes = 8, .alone = true},
    {.name = "get_accumulate 1 double + flush", .run = get_accumulate, .bytes = 8, .alone = true},
    {.name = "get_accumulate 1024 doubles + flush",
     .run = get_accumulate,
     .bytes = 8192,
     .alone = true},
    {.name = "fetch_and_op after that + flush",
     .run = fetch_and_op,
     .floor = add_fence,
     .bytes = 8,
     .alone = true},
    {.name = "strided put, 64 of 128 doubles", .run = strided_put, .bytes = 512, .alone = true},
    {.name = "Rput 8 B + Wait", .run = rput_wait, .bytes = 8, .alone = true},
    {.name = "put 1 KiB + flush", .run = put_flush, .floor = copy, .bytes = 1 << 10, .alone = true},
    {.name = "put 8 KiB + flush", .run = put_flush, .floor = copy, .bytes = 8 << 10, .alone = true},
    {.name = "put 64 KiB + flush",
     .run = put_flush,
     .floor = copy,
     .bytes = 64 << 10,
     .alone = true},
    {.name = "put 512 KiB + flush",
     .run = put_flush,
     .floor = copy,
     .bytes = 512 << 10,
     .alone = true},
    {.name = "put 1 MiB + flush", .run = put_flush, .floor = copy, .bytes = 1 << 20, .alone = true},
    {.name = "put 2 MiB + flush", .run = put_flush, .floor = copy, .bytes = 2 << 20, .alone = true},
    {.name = "put 4 MiB + flush", .run = put_flush, .floor = copy, .bytes = 4 << 20, .alone = true},
    {.name = "put 8 MiB + flush", .run = put_flush, .floor = copy, .bytes = 8 << 20, .alone = true},
    {.name = "put 16 MiB + flush",
     .run = put_flush,
     .floor = copy,
     .bytes = 16 << 20,
     .alone = true},
    {.name = "get 64 KiB + flush",
     .run = get_flush,
     .floor = copy_back,
     .bytes = 64 << 10,
     .alone = true},
    {.name = "get 1 MiB + flush",
     .run = get_flush,
     .floor = copy_back,
     .bytes = 1 << 20,
     .alone = true},
    {.name = "get 4 MiB + flush",
     .run = get_flush,
     .floor = copy_back,
     .bytes = 4 << 20,
     .alone = true},
    {.name = "get 16 MiB + flush",
     .run = get_flush,
     .floor = copy_back,
     .bytes = 16 << 20,
     .alone = true},
};

/* Not on windows of MPI_Win_allocate: there Open MPI 4.1.4 crashes. */
static const struct cell created_cells[] = {
    {.name = "compare_and_swap + flush",
     .run = compare_and_swap,
     .floor = add_fence,
     .bytes = 8,
     .alone = true},
};

static const struct cell cells[] = {
    {.name = "lock exclusive, put 8 B, unlock", .run = lock_put_unlock, .bytes = 8, .alone = true},
    {.name = "fence", .run = fence, .floor = flag_barrier},
};

/* Without a window. */
static const struct cell other_cells[] = {
    {.name = "Alloc_mem + Free_mem 1 KiB", .run = alloc_free, .bytes = 1 << 10, .alone = true},
    {.name = "Alloc_mem + Free_mem 1 MiB", .run = alloc_free, .bytes = 1 << 20, .alone = true},
    {.name = "Win_create + Win_free", .run = create_free, .bytes = 1 << 10},
    {.name = "Win_create + Win_free, malloc", .run = create_free_malloc, .bytes = 1 << 10},
    {.name = "Win_allocate + Win_free", .run = allocate_free, .bytes = 1 << 10},
};

static const struct cell shared_cells[] = {
    {.name = "Win_allocate_shared + Win_free", .run = allocate_shared_free, .bytes = 1 << 10},
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
            api[way].Fetch_and_op(&one, &old, MPI_LONG, 1, begin[way], MPI_SUM, win[way]);
        else
            api[way].Put(&one, 1, MPI_LONG, 1, begin[way], 1, MPI_LONG, win[way]);
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
    for (int w = LIBRARY; w <= HOST; w++)
        r.ns[w] = asleep(w, atomic);
    r.ratio = r.ns[HOST] / r.ns[LIBRARY];
    report(&r);
}

/* The kind of window is part of the name. */
static void run_cells(const struct cell *list, size_t count, const char *kind)
{
    for (const struct cell *c = list; c < list + count; c++) {
        char name[64];
        struct cell named = *c;
        snprintf(name, sizeof name, "%s%s%s", c->name, *kind ? ", " : "", kind);
        named.name = name;
        if (!wanted(name))
            continue;
        struct result r = measure(&named);
        report(&r);
    }
}

static void run_on_windows(const char *kind)
{
    for (int w = LIBRARY; w <= HOST; w++)
        api[w].Win_lock_all(0, win[w]);
    run_cells(locked_cells, sizeof locked_cells / sizeof *locked_cells, kind);
    for (int w = LIBRARY; w <= HOST; w++)
        api[w].Win_unlock_all(win[w]);
    run_cells(cells, sizeof cells / sizeof *cells, kind);
}

/* With Open MPI alone, windows of MPI_Win_allocate are faster than those of MPI_Win_create. */
static void run_on_allocated_windows(void)
{
    void *memory;
    for (int w = LIBRARY; w <= HOST; w++) {
        api[w].Win_allocate(WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win[w]);
        memset(memory, 0, WINDOW_BYTES);
    }
    run_on_windows("Win_allocate");
    for (int w = LIBRARY; w <= HOST; w++)
        api[w].Win_free(&win[w]);
}

/* Some MPIs take the ranks of a machine for ranks of several nodes, and refuse such windows. */
static bool host_shares_windows(void)
{
    void *memory;
    MPI_Win shared;
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int good = !api[HOST].Win_allocate_shared(WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                                              &memory, &shared);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
    if (good)
        api[HOST].Win_free(&shared);
    return good;
}

static void run_on_shared_windows(void)
{
    void *memory;
    if (!host_shares_windows())
        return;
    for (int w = LIBRARY; w <= HOST; w++) {
        api[w].Win_allocate_shared(WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                                   &win[w]);
        memset(memory, 0, WINDOW_BYTES);
    }
    run_on_windows("Win_allocate_shared");
    for (int w = LIBRARY; w <= HOST; w++)
        api[w].Win_free(&win[w]);
    run_cells(shared_cells, sizeof shared_cells / sizeof *shared_cells, "");
}

/* The attached memory is in the shared heap. */
static void run_on_dynamic_windows(void)
{
    void *memory[2];
    for (int w = LIBRARY; w <= HOST; w++) {
        api[w].Alloc_mem(WINDOW_BYTES, MPI_INFO_NULL, &memory[w]);
        memset(memory[w], 0, WINDOW_BYTES);
        api[w].Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win[w]);
        api[w].Win_attach(win[w], memory[w], WINDOW_BYTES);
        MPI_Get_address(memory[w], &begin[w]);
    }
    MPI_Bcast(begin, 2, MPI_AINT, 1, MPI_COMM_WORLD);
    run_on_windows("Win_create_dynamic");
    for (int w = LIBRARY; w <= HOST; w++) {
        begin[w] = 0;
        api[w].Win_detach(win[w], memory[w]);
        api[w].Win_free(&win[w]);
        api[w].Free_mem(memory[w]);
    }
}

static void run_on_created_windows(void)
{
    void *memory[2];
    for (int w = LIBRARY; w <= HOST; w++) {
        api[w].Alloc_mem(WINDOW_BYTES, MPI_INFO_NULL, &memory[w]);
        memset(memory[w], 0, WINDOW_BYTES);
        api[w].Win_create(memory[w], WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[w]);
    }
    run_on_windows("Win_create");
    for (int w = LIBRARY; w <= HOST; w++)
        api[w].Win_lock_all(0, win[w]);
    run_cells(created_cells, sizeof created_cells / sizeof *created_cells, "Win_create");
    for (int w = LIBRARY; w <= HOST; w++)
        api[w].Win_unlock_all(win[w]);
    run_asleep("target asleep: lock, put, unlock", false);
    run_asleep("target asleep: lock, fop, unlock", true);
    for (int w = LIBRARY; w <= HOST; w++) {
        api[w].Win_free(&win[w]);
        api[w].Free_mem(memory[w]);
    }
}

static void run(void)
{
    local = malloc(WINDOW_BYTES);
    floor_target = malloc(WINDOW_BYTES);
    memset(local, 0, WINDOW_BYTES);
    memset(floor_target, 0, WINDOW_BYTES);
    MPI_Type_vector(64, 1, 2, MPI_DOUBLE, &every_second);
    MPI_Type_commit(&every_second);
    run_on_allocated_windows();
    run_on_shared_windows();
    run_on_dynamic_windows();
    run_on_created_windows();
    run_cells(other_cells, sizeof other_cells / sizeof *other_cells, "");
    MPI_Type_free(&every_second);
    free(local);
    free(floor_target);
}

const struct part rma_part = {"rma", run};
