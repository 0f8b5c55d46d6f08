/* One-sided communication: plugin against host against the machine's floor, in one process.
 *
 * The program knows nothing of the plugin. It has two tables of MPI functions: the names it was
 * linked with, which are the plugin's if that is preloaded, and the host's own, looked up in the
 * host's library. Each cell runs them and its floor in turn, several rounds, and what counts is the
 * ratio of the times of one round: machines drift, neighbours in time drift together. Without the
 * plugin both tables are the host, and all ratios are 1.
 *
 * Rank 0 is the origin, rank 1 the target; further ranks wait in the host's barrier, except in the
 * cells in which all take part.
 */
#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS(X)    \
    X(Accumulate)       \
    X(Alloc_mem)        \
    X(Barrier)          \
    X(Compare_and_swap) \
    X(Fetch_and_op)     \
    X(Free_mem)         \
    X(Get)              \
    X(Put)              \
    X(Rput)             \
    X(Wait)             \
    X(Win_create)       \
    X(Win_fence)        \
    X(Win_flush)        \
    X(Win_free)         \
    X(Win_lock)         \
    X(Win_lock_all)     \
    X(Win_unlock)       \
    X(Win_unlock_all)

struct api {
#define X(name) __typeof__(&MPI_##name) name;
    FUNCTIONS(X)
#undef X
};

enum { PLUGIN, HOST, FLOOR, WAYS };
enum { WINDOW_BYTES = 16 << 20, ROUNDS = 11 };

static struct api api[2];
static int rank, size;

/* One way of doing things: its functions and its window. */
struct way {
    const struct api *mpi;
    MPI_Win win;
    char *memory;
};
static struct way way[WAYS];

static char *here;             /* the origin's buffer, WINDOW_BYTES */
static char *floor_target;     /* memory for the floor's stores */
static _Atomic unsigned *flag; /* a line a rank, shared, for the floor's barrier */
static MPI_Datatype every_second;

/* ---- cells: n repetitions of one thing ---- */

typedef void cell_fn(struct way *w, long n, size_t bytes);

static void put_flush(struct way *w, long n, size_t bytes)
{
    for (; n; n--) {
        w->mpi->Put(here, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, w->win);
        w->mpi->Win_flush(1, w->win);
    }
}

static void get_flush(struct way *w, long n, size_t bytes)
{
    for (; n; n--) {
        w->mpi->Get(here, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, w->win);
        w->mpi->Win_flush(1, w->win);
    }
}

static void put_long(struct way *w, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        w->mpi->Put(here, 1, MPI_LONG, 1, 0, 1, MPI_LONG, w->win);
        w->mpi->Win_flush(1, w->win);
    }
}

static void get_long(struct way *w, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        w->mpi->Get(here, 1, MPI_LONG, 1, 0, 1, MPI_LONG, w->win);
        w->mpi->Win_flush(1, w->win);
    }
}

static void fetch_and_op(struct way *w, long n, size_t bytes)
{
    long one = 1, old;
    (void)bytes;
    for (; n; n--) {
        w->mpi->Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, w->win);
        w->mpi->Win_flush(1, w->win);
    }
}

static void compare_and_swap(struct way *w, long n, size_t bytes)
{
    long new = 1, expected = 0, old;
    (void)bytes;
    for (; n; n--) {
        w->mpi->Compare_and_swap(&new, &expected, &old, MPI_LONG, 1, 0, w->win);
        w->mpi->Win_flush(1, w->win);
    }
}

static void accumulate(struct way *w, long n, size_t bytes)
{
    int count = (int)(bytes / sizeof(double));
    for (; n; n--) {
        w->mpi->Accumulate(here, count, MPI_DOUBLE, 1, 4096, count, MPI_DOUBLE, MPI_SUM, w->win);
        w->mpi->Win_flush(1, w->win);
    }
}

static void strided_put(struct way *w, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        w->mpi->Put(here, 1, every_second, 1, 0, 1, every_second, w->win);
        w->mpi->Win_flush(1, w->win);
    }
}

static void rput_wait(struct way *w, long n, size_t bytes)
{
    MPI_Request request;
    for (; n; n--) {
        w->mpi->Rput(here, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, w->win, &request);
        w->mpi->Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void lock_put_unlock(struct way *w, long n, size_t bytes)
{
    for (; n; n--) {
        w->mpi->Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w->win);
        w->mpi->Put(here, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, w->win);
        w->mpi->Win_unlock(1, w->win);
    }
}

static void fence(struct way *w, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--)
        w->mpi->Win_fence(0, w->win);
}

static void alloc_free(struct way *w, long n, size_t bytes)
{
    void *memory;
    for (; n; n--) {
        w->mpi->Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
        w->mpi->Free_mem(memory);
    }
}

/* ---- floors: what the machine needs for it ---- */

static void store_fence(struct way *w, long n, size_t bytes)
{
    volatile long *target = (volatile long *)floor_target;
    (void)w, (void)bytes;
    for (; n; n--) {
        *target = n;
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void load(struct way *w, long n, size_t bytes)
{
    volatile long *target = (volatile long *)floor_target;
    (void)w, (void)bytes;
    for (; n; n--)
        (void)*target;
}

static void add_fence(struct way *w, long n, size_t bytes)
{
    _Atomic long *target = (_Atomic long *)floor_target;
    (void)w, (void)bytes;
    for (; n; n--) {
        atomic_fetch_add(target, 1);
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void copy(struct way *w, long n, size_t bytes)
{
    (void)w;
    for (; n; n--) {
        memcpy(floor_target, here, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void copy_back(struct way *w, long n, size_t bytes)
{
    (void)w;
    for (; n; n--) {
        memcpy(here, floor_target, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void flag_barrier(struct way *w, long n, size_t bytes)
{
    static unsigned round;
    (void)w, (void)bytes;
    for (; n; n--) {
        atomic_store(&flag[rank * 64], ++round);
        for (int r = 0; r < size; r++)
            while ((int)(atomic_load(&flag[r * 64]) - round) < 0)
                ;
    }
}

/* ---- the table ---- */

enum sort { LOCKED_ALL, NO_EPOCH, TOGETHER };

struct cell {
    const char *name;
    cell_fn *run;
    cell_fn *floor; /* NULL: none */
    enum sort sort;
    size_t bytes;
};

static const struct cell cells[] = {
    {"put 8 B + flush", put_long, store_fence, LOCKED_ALL, 8},
    {"get 8 B + flush", get_long, load, LOCKED_ALL, 8},
    {"fetch_and_op + flush", fetch_and_op, add_fence, LOCKED_ALL, 8},
    {"compare_and_swap + flush", compare_and_swap, add_fence, LOCKED_ALL, 8},
    {"accumulate 1 double + flush", accumulate, NULL, LOCKED_ALL, 8},
    {"accumulate 1024 doubles + flush", accumulate, NULL, LOCKED_ALL, 8192},
    {"fetch_and_op after that + flush", fetch_and_op, add_fence, LOCKED_ALL, 8},
    {"strided put, 64 of 128 doubles", strided_put, NULL, LOCKED_ALL, 512},
    {"Rput 8 B + Wait", rput_wait, NULL, LOCKED_ALL, 8},
    {"put 1 KiB + flush", put_flush, copy, LOCKED_ALL, 1 << 10},
    {"put 8 KiB + flush", put_flush, copy, LOCKED_ALL, 8 << 10},
    {"put 64 KiB + flush", put_flush, copy, LOCKED_ALL, 64 << 10},
    {"put 512 KiB + flush", put_flush, copy, LOCKED_ALL, 512 << 10},
    {"put 1 MiB + flush", put_flush, copy, LOCKED_ALL, 1 << 20},
    {"put 2 MiB + flush", put_flush, copy, LOCKED_ALL, 2 << 20},
    {"put 4 MiB + flush", put_flush, copy, LOCKED_ALL, 4 << 20},
    {"put 8 MiB + flush", put_flush, copy, LOCKED_ALL, 8 << 20},
    {"put 16 MiB + flush", put_flush, copy, LOCKED_ALL, 16 << 20},
    {"get 64 KiB + flush", get_flush, copy_back, LOCKED_ALL, 64 << 10},
    {"get 1 MiB + flush", get_flush, copy_back, LOCKED_ALL, 1 << 20},
    {"get 4 MiB + flush", get_flush, copy_back, LOCKED_ALL, 4 << 20},
    {"get 16 MiB + flush", get_flush, copy_back, LOCKED_ALL, 16 << 20},
    {"lock exclusive, put 8 B, unlock", lock_put_unlock, NULL, NO_EPOCH, 8},
    {"Alloc_mem + Free_mem 1 KiB", alloc_free, NULL, NO_EPOCH, 1 << 10},
    {"Alloc_mem + Free_mem 1 MiB", alloc_free, NULL, NO_EPOCH, 1 << 20},
    {"fence", fence, flag_barrier, TOGETHER, 0},
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns a repetition */
static double time_of(cell_fn *run, struct way *w, long n, size_t bytes)
{
    double start = now();
    run(w, n, bytes);
    return (now() - start) / (double)n;
}

/* Repetitions that take about `ms` milliseconds; the same on all ranks. */
static long repetitions(cell_fn *run, struct way *w, size_t bytes, enum sort sort, double ms)
{
    long n = 1;
    for (;;) {
        double total = rank == 0 || sort == TOGETHER ? time_of(run, w, n, bytes) * (double)n : 0;
        long next = total > ms * 2.5e5 ? (long)((double)n * ms * 1e6 / total) + 1 : -1;
        MPI_Bcast(&next, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        if (next > 0 || n > 100000000)
            return next > 0 ? next : n;
        n *= 4;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct result {
    double ns[WAYS];               /* medians */
    double ratio, lowest, highest; /* host / plugin: median and range of the rounds */
    double above_floor;            /* plugin / floor, median */
};

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, ascending);
    return values[ROUNDS / 2];
}

static struct result run_cell(const struct cell *c, double ms)
{
    double ns[WAYS][ROUNDS] = {{0}}, ratio[ROUNDS], above[ROUNDS];
    long n[WAYS] = {0};
    bool active = rank == 0 || c->sort == TOGETHER;
    cell_fn *run[WAYS] = {c->run, c->run, c->floor};
    for (int w = 0; w < WAYS; w++)
        if (run[w])
            n[w] = repetitions(run[w], &way[w], c->bytes, c->sort, ms);
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < WAYS; k++) {
            int w = round % 2 ? WAYS - 1 - k : k;
            api[HOST].Barrier(MPI_COMM_WORLD);
            if (run[w] && active)
                ns[w][round] = time_of(run[w], &way[w], n[w], c->bytes);
        }
        ratio[round] = ns[HOST][round] / ns[PLUGIN][round];
        above[round] = ns[PLUGIN][round] / ns[FLOOR][round];
    }
    struct result r;
    r.ratio = median(ratio);
    r.lowest = ratio[0];
    r.highest = ratio[ROUNDS - 1];
    r.above_floor = median(above);
    for (int w = 0; w < WAYS; w++)
        r.ns[w] = median(ns[w]);
    return r;
}

/* ---- a target that does not call MPI ---- */

static double asleep(struct way *w, bool atomic)
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
        w->mpi->Win_lock(MPI_LOCK_SHARED, 1, 0, w->win);
        if (atomic)
            w->mpi->Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, w->win);
        else
            w->mpi->Put(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, w->win);
        w->mpi->Win_unlock(1, w->win);
        took = now() - start;
    }
    api[HOST].Barrier(MPI_COMM_WORLD);
    return took;
}

/* ---- setting up ---- */

static int note_library(struct dl_phdr_info *object, size_t length, void *context)
{
    (void)length;
    char *path = context;
    const char *base = strrchr(object->dlpi_name, '/');
    base = base ? base + 1 : object->dlpi_name;
    if (!strncmp(base, "libmpi.so", 9) || !strncmp(base, "libmpich.so", 11)) {
        snprintf(path, 4096, "%s", object->dlpi_name);
        return 1;
    }
    return 0;
}

static void find_apis(void)
{
    char path[4096] = "";
    dl_iterate_phdr(note_library, path);
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        fprintf(stderr, "bench: the MPI library is not a shared object\n");
        exit(2);
    }
#define X(name)                    \
    api[PLUGIN].name = MPI_##name; \
    api[HOST].name = (__typeof__(api[HOST].name))dlsym(library, "PMPI_" #name);
    FUNCTIONS(X)
#undef X
}

static void set_up(void)
{
    for (int w = PLUGIN; w <= HOST; w++) {
        way[w].mpi = &api[w];
        api[w].Alloc_mem(WINDOW_BYTES, MPI_INFO_NULL, &way[w].memory);
        memset(way[w].memory, 0, WINDOW_BYTES);
        api[w].Win_create(way[w].memory, WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                          &way[w].win);
    }
    here = malloc(WINDOW_BYTES);
    floor_target = malloc(WINDOW_BYTES);
    memset(here, 0, WINDOW_BYTES);
    memset(floor_target, 0, WINDOW_BYTES);
    MPI_Type_vector(64, 1, 2, MPI_DOUBLE, &every_second);
    MPI_Type_commit(&every_second);

    MPI_Aint bytes;
    int unit;
    MPI_Win shared;
    void *mine;
    MPI_Win_allocate_shared(rank ? 0 : size * 256, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                            &shared);
    MPI_Win_shared_query(shared, 0, &bytes, &unit, &flag);
    if (!rank)
        memset((void *)flag, 0, (size_t)size * 256);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void lock_all(bool lock)
{
    for (int w = PLUGIN; w <= HOST; w++)
        lock ? api[w].Win_lock_all(0, way[w].win) : api[w].Win_unlock_all(way[w].win);
}

static void print_row(const struct cell *c, const struct result *r, FILE *json, const char *comma)
{
    printf("%-34s %11.1f %12.1f %8.2f %7.2f..%-7.2f", c->name, r->ns[PLUGIN], r->ns[HOST], r->ratio,
           r->lowest, r->highest);
    if (c->floor)
        printf(" %11.1f %6.2f\n", r->ns[FLOOR], r->above_floor);
    else
        printf(" %11s %6s\n", "-", "-");
    fflush(stdout);
    if (json) {
        fprintf(json,
                "%s{\"cell\":\"%s\",\"plugin_ns\":%.2f,\"host_ns\":%.2f,\"ratio\":%.3f,"
                "\"ratio_low\":%.3f,\"ratio_high\":%.3f",
                comma, c->name, r->ns[PLUGIN], r->ns[HOST], r->ratio, r->lowest, r->highest);
        if (c->floor)
            fprintf(json, ",\"floor_ns\":%.2f,\"above_floor\":%.3f", r->ns[FLOOR], r->above_floor);
        fputc('}', json);
    }
}

int main(int argc, char **argv)
{
    double ms = 3;
    const char *only = NULL, *json_path = NULL;
    find_apis();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--ms"))
            ms = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--only"))
            only = argv[i + 1];
        else if (!strcmp(argv[i], "--json"))
            json_path = argv[i + 1];
    }
    if (size < 2) {
        fprintf(stderr, "bench: needs at least two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    set_up();
    FILE *json = !rank && json_path ? fopen(json_path, "w") : NULL;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = 0;
    for (char *tab = version; (tab = strchr(tab, '\t'));)
        *tab = ' '; /* JSON has no tabs in a text */
    if (!rank) {
        bool preloaded = (void *)api[PLUGIN].Put != (void *)api[HOST].Put;
        printf("%s, %d ranks, %s; ns, medians of %d rounds\n", version, size,
               preloaded ? "with the plugin" : "WITHOUT the plugin", ROUNDS);
        printf("%-34s %11s %12s %8s %16s %11s %6s\n", "", "plugin", "host", "ratio", "(range)",
               "floor", "above");
    }
    if (json)
        fprintf(json, "{\"host\":\"%s\",\"ranks\":%d,\"cells\":[", version, size);
    const char *comma = "";
    bool locked = false;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        const struct cell *c = &cells[i];
        if (only && !strstr(c->name, only))
            continue;
        bool wants_lock = c->sort == LOCKED_ALL;
        if (wants_lock != locked)
            lock_all(locked = wants_lock);
        struct result r = run_cell(c, ms);
        if (!rank)
            print_row(c, &r, json, comma);
        comma = ",\n";
    }
    if (locked)
        lock_all(false);
    if (!only || strstr("target asleep", only)) {
        for (int atomic = 0; atomic < 2; atomic++) {
            double plugin = asleep(&way[PLUGIN], atomic), host = asleep(&way[HOST], atomic);
            const char *name =
                atomic ? "target asleep: lock, fop, unlock" : "target asleep: lock, put, unlock";
            if (!rank)
                printf("%-34s %11.0f %12.0f %8.0f\n", name, plugin, host, host / plugin);
            if (json)
                fprintf(json, "%s{\"cell\":\"%s\",\"plugin_ns\":%.0f,\"host_ns\":%.0f}", comma,
                        name, plugin, host);
            comma = ",\n";
        }
    }
    if (json) {
        fprintf(json, "]}\n");
        fclose(json);
    }
    for (int w = PLUGIN; w <= HOST; w++)
        api[w].Win_free(&way[w].win);
    MPI_Finalize();
    return 0;
}
