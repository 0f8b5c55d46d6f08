/* The main program: options, and the order of the parts. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

static const struct part *const parts[PARTS] = {&rma_part,  &coll_part,  &inter_part,
                                                &send_part, &bsend_part, &shmem_part};
static const char *part_name, *json_path;

static void usage(const char *wrong)
{
    if (!rank)
        fprintf(stderr,
                "bench: %s\n"
                "usage: mpiaccel-bench-ABI [option value ...], with two ranks at least\n"
                "  --part NAME       only this part: rma, coll, inter, send, bsend or shmem\n"
                "  --cells PATTERN   only cells whose names contain this shell pattern\n"
                "  --ms N            duration of a round of a cell [3]\n"
                "  --json FILE       also write the results to this file\n",
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
        usage("at least two ranks are needed");
    bool some = false;
    for (size_t p = 0; p < PARTS; p++)
        some |= chosen(parts[p]);
    if (!some)
        usage("unknown part");
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
    free_flags();
    MPI_Finalize();
    return 0;
}
