/* The benchmark's start: the two tables of functions, the flags of the floor, the options. */
#include "bench.h"
#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct api api[2];
int rank, size;

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

/* ---- ranks that wait for each other without MPI ---- */

enum { POLLS = 1000 };

/* One per rank, in shared memory. The owner writes it; `arrived` publishes `returned`, and rank 0's
 * `go` publishes `deadline`. */
static struct flags {
    _Alignas(
        256) _Atomic unsigned barrier; /* more than a cache line apart: prefetchers fetch pairs */
    _Alignas(256) _Atomic unsigned arrived;
    double returned;
    _Alignas(256) _Atomic unsigned go;
    double deadline;
} * flags;
static MPI_Win flags_window;
static bool oversubscribed;

static void share_flags(void)
{
    MPI_Aint bytes = rank ? 0 : (MPI_Aint)sizeof *flags * (size + 1);
    int unit;
    void *mine;
    cpu_set_t mine_allowed, allowed;
    sched_getaffinity(0, sizeof mine_allowed, &mine_allowed);
    api[HOST].Allreduce(&mine_allowed, &allowed, sizeof allowed, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    oversubscribed = size > CPU_COUNT(&allowed);
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &flags_window);
    MPI_Win_shared_query(flags_window, 0, &bytes, &unit, &mine);
    flags = (struct flags *)(((uintptr_t)mine + 255) / 256 * 256);
    if (!rank)
        memset((void *)flags, 0, sizeof *flags * (size_t)size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The other ranks may be waiting for a processor, or in the host for this rank's progress. */
static void wait_until(_Atomic unsigned *flag, unsigned round)
{
    for (int polls = 0; (int)(atomic_load_explicit(flag, memory_order_acquire) - round) < 0;
         polls++)
        if (polls > POLLS) {
            int found;
            sched_yield();
            if (polls % POLLS == 0)
                api[HOST].Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
        }
}

/* Release and acquire are all that a barrier owes. */
void flag_barrier(int way, long n, size_t bytes)
{
    static unsigned round;
    (void)way, (void)bytes;
    for (; n; n--) {
        atomic_store_explicit(&flags[rank].barrier, ++round, memory_order_release);
        for (int r = 0; r < size; r++)
            if (r != rank)
                wait_until(&flags[r].barrier, round);
    }
}

double common_deadline(double returned, double *last)
{
    static unsigned round;
    bool late = false;
    struct flags *mine = &flags[rank];
    mine->returned = returned;
    atomic_store_explicit(&mine->arrived, ++round, memory_order_release);
    if (rank == 0) {
        *last = 0;
        for (int r = 0; r < size; r++) {
            wait_until(&flags[r].arrived, round);
            double took = fabs(flags[r].returned);
            late |= flags[r].returned < 0;
            *last = took > *last ? took : *last;
        }
        if (late)
            *last = -*last;
        mine->deadline = now() + (oversubscribed ? 20e3 : 3e3);
        atomic_store_explicit(&mine->go, round, memory_order_release);
    } else {
        wait_until(&flags[0].go, round);
    }
    return flags[0].deadline;
}

/* ---- options ---- */

static const struct part *const parts[PARTS] = {&rma_part,  &coll_part,  &inter_part,
                                                &send_part, &bsend_part, &shmem_part};
static const char *part_name, *json_path;

static void usage(const char *wrong)
{
    if (!rank)
        fprintf(
            stderr,
            "bench: %s\n"
            "usage: mpiaccel-bench-ABI [option value ...], with two ranks at least\n"
            "  --part NAME       only this part: rma, coll, inter, send, bsend or shmem\n"
            "  --cells PATTERN   only cells with this in their names; *, ? and [] are the shell's\n"
            "  --ms N            what a round of a cell should take [3]\n"
            "  --json FILE       write what was measured there too\n",
            wrong);
    MPI_Finalize();
    exit(2);
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!value)
            usage("an option has no value");
        if (!strcmp(name, "--ms"))
            round_ms = atof(value);
        else if (!strcmp(name, "--part"))
            part_name = value;
        else if (!strcmp(name, "--cells"))
            cell_pattern = value;
        else if (!strcmp(name, "--json"))
            json_path = value;
        else
            usage(name);
    }
}

static bool chosen(const struct part *p)
{
    return (!part_name || !strcmp(part_name, p->name)) && (p != &shmem_part || shmem_is_here());
}

int main(int argc, char **argv)
{
    find_apis();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    read_options(argc, argv);
    if (size < 2)
        usage("one rank is not enough");
    bool some = false;
    for (size_t p = 0; p < PARTS; p++)
        some |= chosen(parts[p]);
    if (!some)
        usage("there is no such part");
    share_flags();
    report_begin(json_path);
    describe_machine();
    for (size_t p = 0; p < PARTS; p++) {
        if (chosen(parts[p])) {
            report_part(parts[p]);
            parts[p]->run();
        }
    }
    report_end();
    MPI_Win_free(&flags_window);
    MPI_Finalize();
    return 0;
}
