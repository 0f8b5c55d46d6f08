/* rma_fuzz: random one-sided programs, each determined by a seed, that check themselves against a
 * model.
 *
 *   rma_fuzz [--seed S] [--seeds N]       N programs from seed S on
 *   rma_fuzz --stress …                   ranks race for the same elements instead
 *
 *   --epochs N    only the first N epochs of each program
 *   --ops N       only its first N operations
 *   --only LIST   only these operations: 3,7-9
 *   --print       print the actions of each rank
 *   --tame        only what every host is known to do right
 *   --deep        derived datatypes are nested deeper
 *   --dynamic     only dynamic windows; most ranks attach pieces of shared memory, others private
 *   --digest      print a digest of the data that each rank has read, to compare runs
 *   --progress F  write each rank's position to this file
 *
 *  Prints a line `FAIL seed …` for each error, and at the end the number of programs. The exit
 *   status is 1 if a program has failed.
 */
#include "play.h"

/* ---- which ranks ---- */

enum { WORLD, SAME, REVERSED, HALVES, ALONE, COMM_COUNT };
static MPI_Comm comms[COMM_COUNT];

static void make_comms(void)
{
    comms[WORLD] = MPI_COMM_WORLD;
    comms[ALONE] = MPI_COMM_SELF;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[SAME]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[REVERSED]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comms[HALVES]);
    for (int i = 0; i < COMM_COUNT; i++)
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
}

static int pick_comm(uint64_t seed)
{
    static const int share[] = {WORLD, WORLD, WORLD,    WORLD,    WORLD,  SAME,
                                SAME,  SAME,  REVERSED, REVERSED, HALVES, ALONE};
    struct rng r = rng_for(seed, 999);
    return share[below(&r, 12)];
}

/* ---- the run ---- */

static struct options parse(int argc, char **argv, struct run *run, bool *races)
{
    struct options options = {.epochs = -1, .ops = -1};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (read_common_option(run, argv, &i))
            continue;
        if (!strcmp(name, "--digest"))
            options.digest = true;
        else if (!strcmp(name, "--dynamic"))
            options.manner.dynamic = true;
        else if (!strcmp(name, "--stress"))
            *races = true;
        else if (++i && !strcmp(name, "--epochs"))
            options.epochs = atoi(value);
        else if (!strcmp(name, "--ops"))
            options.ops = atoi(value);
        else
            give_up("%s is not known", name);
    }
    options.only = run->only;
    options.print = run->print;
    options.manner.tame = run->tame;
    options.manner.deep = run->deep;
    return options;
}

int main(int argc, char **argv)
{
    long counts[3] = {0}, sums[3]; /* programs, failed on this rank, not possible on this host */
    MPI_Init(&argc, &argv);
    open_world();
    struct run run = {.seed = 1, .seeds = 1};
    bool races = false;
    struct options options = parse(argc, argv, &run, &races);
    if (run.progress)
        open_progress(run.progress);
    basics_open();
    make_comms();
    for (uint64_t seed = run.seed; seed < run.seed + (uint64_t)run.seeds; seed++) {
        int comm = races ? WORLD : pick_comm(seed);
        failures = 0;
        *progress = (struct progress){.seed = (int64_t)seed, .op = -1};
        /* Groups that run concurrently have programs of their own. */
        uint64_t own = comm == HALVES  ? seed + (uint64_t)(world_rank % 2) * 1000003
                       : comm == ALONE ? seed + (uint64_t)world_rank * 1000003
                                       : seed;
        options.turns = comm == ALONE ? world_size : comm == HALVES ? 2 : 1;
        options.turn = world_rank % options.turns;
        bool done = true;
        if (races)
            stress(own, comms[comm]);
        else
            done = play(own, comms[comm], &options);
        counts[0]++;
        counts[1] += failures != 0;
        counts[2] += !done;
    }
    MPI_Reduce(counts, sums, 3, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("ran %ld programs, at most %ld failed on a rank, %ld not possible on this host\n",
               sums[0], sums[1], sums[2]);
    MPI_Bcast(sums, 3, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Comm_free(&comms[SAME]);
    MPI_Comm_free(&comms[REVERSED]);
    MPI_Comm_free(&comms[HALVES]);
    MPI_Finalize();
    return sums[1] ? 1 : 0;
}
