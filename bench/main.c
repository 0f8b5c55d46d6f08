/* Options, and the order of the parts. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

static const struct part *const parts[PARTS] = {&rma_part,  &coll_part,  &inter_part,
                                                &send_part, &bsend_part, &shmem_part};
static const char *part_name;

static void refuse(const char *what, const char *why)
{
    if (!rank)
        fprintf(stderr, "bench: %s%s\n", what, why);
    MPI_Finalize();
    exit(2);
}

static void refuse_cells(void)
{
    char what[200];
    snprintf(what, sizeof what, "no cell matches '%s' in part '%s'",
             cell_pattern ? cell_pattern : "*", part_name ? part_name : "*");
    refuse(what,
           "; cells are like 'bcast 8 B malloc, latency', and parts are rma, coll, inter, send, "
           "bsend and shmem");
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--ms"))
            round_ms = atof(value);
        else if (!strcmp(name, "--part"))
            part_name = value;
        else if (!strcmp(name, "--cells"))
            cell_pattern = value;
        else
            refuse(name, " is not an option of the benchmark");
    }
    if (!(round_ms > 0))
        refuse("--ms", " needs a number of milliseconds");
}

static bool chosen(const struct part *p)
{
    return (!part_name || !strcmp(part_name, p->name)) && (p != &shmem_part || shmem_is_here()) &&
           (p == &coll_part || has_flags());
}

__attribute__((visibility("default"))) int bench_main(void *mpi, int argc, char **argv);

/* The entry for rank.c; `mpi` is the handle of the host's library. */
int bench_main(void *mpi, int argc, char **argv)
{
    find_apis(mpi);
    /* Do not raise the host's eager limit, because the host is measured in the same process. */
    setenv("MPIACCEL_EAGER", "0", 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    read_options(argc, argv);
    if (size < 2)
        refuse("two ranks at least are needed", "; the launcher may belong to another MPI");
    share_flags();
    if (!has_flags() && part_name && strcmp(part_name, coll_part.name))
        refuse("the ranks are on several nodes", ", where only part coll is measured");
    int cells = 0;
    for (size_t p = 0; p < PARTS; p++)
        if (chosen(parts[p]))
            cells += count_cells(parts[p]);
    if (!cells)
        refuse_cells();
    report_begin(cells);
    describe_machine();
    for (size_t p = 0; p < PARTS; p++) {
        if (chosen(parts[p])) {
            report_part(parts[p]);
            parts[p]->run();
        }
    }
    free_flags();
    MPI_Finalize();
    return 0;
}
