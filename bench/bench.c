/* The benchmark's start: the two tables of functions, the flags of the floor, the options. */
#include "bench.h"
#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
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

/* ---- the floor of what makes ranks wait for each other ---- */

enum { LINE = 64, POLLS = 1000 }; /* unsigned words; a good deal more than a line of the cache */
static _Atomic unsigned *flag;    /* a line a rank, in shared memory */
static MPI_Win flag_window;

static void share_flags(void)
{
    MPI_Aint bytes = rank ? 0 : (MPI_Aint)(sizeof *flag * LINE) * size;
    int unit;
    void *mine;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &flag_window);
    MPI_Win_shared_query(flag_window, 0, &bytes, &unit, &flag);
    if (!rank)
        memset((void *)flag, 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

static bool behind(int r, unsigned round)
{
    return (int)(atomic_load_explicit(&flag[r * LINE], memory_order_acquire) - round) < 0;
}

/* Release and acquire are all that a barrier owes. */
void flag_barrier(int way, long n, size_t bytes)
{
    static unsigned round;
    (void)way, (void)bytes;
    for (; n; n--) {
        atomic_store_explicit(&flag[rank * LINE], ++round, memory_order_release);
        for (int r = 0; r < size; r++)
            for (int polls = 0; r != rank && behind(r, round); polls++)
                if (polls > POLLS)
                    sched_yield(); /* there may be more ranks than cores */
    }
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
    for (size_t p = 0; p < PARTS; p++) {
        if (chosen(parts[p])) {
            report_part(parts[p]);
            parts[p]->run();
        }
    }
    report_end();
    MPI_Win_free(&flag_window);
    MPI_Finalize();
    return 0;
}
