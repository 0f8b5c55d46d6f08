/* coll_fuzz: random programs of collectives, each determined by a seed, that check themselves
 * against a model.
 *
 *   coll_fuzz [--seed S] [--seeds N]       N programs from seed S on
 *
 *   --only LIST   only these calls: 3,7-9
 *   --print       print the calls of each rank
 *   --tame        only what every host is known to do right
 *   --deep        derived datatypes are nested deeper
 *   --progress F  write each rank's position to this file
 *
 * COLL_FUZZ_REFUSES=N in the environment: the OS refuses N percent of the copies between processes.
 *
 *  Prints a line `FAIL seed …` for each error, and at the end the number of programs. The exit
 *   status is 1 if a program has failed.
 */
#include "program.h"

int main(int argc, char **argv)
{
    long failed = 0, most = 0;
    MPI_Init(&argc, &argv);
    open_world();
    struct run run = {.seed = 1, .seeds = 1};
    for (int i = 1; i < argc; i++)
        if (!read_common_option(&run, argv, &i))
            give_up("%s is not known", argv[i]);
    const struct options options = {
        .only = run.only, .print = run.print, .tame = run.tame, .deep = run.deep};
    if (run.progress)
        open_progress(run.progress);
    basics_open();
    user_ops_open();
    for (uint64_t seed = run.seed; seed < run.seed + (uint64_t)run.seeds; seed++) {
        failures = 0;
        *progress = (struct progress){.seed = (int64_t)seed, .op = -1};
        play(seed, &options);
        failed += failures != 0;
    }
    user_ops_close();
    MPI_Allreduce(&failed, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("ran %ld programs, at most %ld failed on a rank\n", run.seeds, most);
    MPI_Finalize();
    return most ? 1 : 0;
}
