/* As many communicators alive at once as the argument says, all used in turn, on the same ranks or
 * on overlapping pairs of ranks; freed in another order than they were created, the last ones
 * never. Fails if a communicator takes much memory (H14: setting up a communicator). */
#include "kinds.h"
#include "use.h"

int main(int argc, char **argv)
{
    enum { ALLOWED_KIB = 64, LEFT = 7 };
    coll_begin(&argc, &argv);
    int many = argc > 1 ? atoi(argv[1]) : 300;
    MPI_Comm *comms = malloc((size_t)many * sizeof *comms);
    kinds_all(MPI_COMM_WORLD, 1, "world");
    struct use before = measure();
    for (int i = 0; i < many; i++)
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 3 ? test_rank : -test_rank, &comms[i]);
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < many; i++)
            kinds_all(comms[i], i + turn, "one of many");
    struct use after = measure();
    long grown = after.resident - before.resident, files = after.file_kib - before.file_kib;
    CHECK(grown < (long)many * ALLOWED_KIB, "resident: %ld KiB for %d", grown, many);
    CHECK(files < (long)many * ALLOWED_KIB * test_size, "files: %ld KiB for %d", files, many);
    CHECK(after.descriptors - before.descriptors < 20, "%ld descriptors, then %ld",
          before.descriptors, after.descriptors);
    int freed = many - LEFT - (many - LEFT) % 7 - 1; /* not a multiple of 7 */
    for (int i = 0; i < freed; i++)
        MPI_Comm_free(&comms[i * 7 % freed]);
    for (int i = freed; i < many; i++)
        kinds_all(comms[i], i, "one of the last");
    free(comms);
    return test_end();
}
