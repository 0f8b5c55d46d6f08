/* Many windows at once, freed in another order than they were created. Fails if two windows share
 * any state. `shared`: windows of MPI_Win_allocate_shared; it fails if they take more memory than
 * the program uses. `huge`: one of 32 GiB, of which two pages are used; it fails if creating it
 * takes time for each page. */
#include "test.h"

#include <unistd.h>

enum { WINDOWS = 150 };

static long *part_of(MPI_Win win, int rank)
{
    MPI_Aint size;
    long *part;
    int unit;
    MPI_Win_shared_query(win, rank, &size, &unit, &part);
    return part;
}

/* Resident shared memory of this process. */
static long resident_kib(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%*s %*s %ld", &pages) == 1);
    fclose(statm);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void use_shared(void)
{
    MPI_Win win[WINDOWS];
    long before = resident_kib();
    for (int i = 0; i < WINDOWS; i++) {
        long *mine;
        MPI_Win_allocate_shared(sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win[i]);
        *mine = 1000 * test_rank + i;
    }
    long each = (resident_kib() - before) / WINDOWS;
    CHECK(each < 32, "%ld KiB for each window of %d bytes", each, 2 * (int)sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++) {
        int w = i * 7 % WINDOWS;
        CHECK(*part_of(win[w], test_next()) == 1000 * test_next() + w, "window %d: %ld", w,
              *part_of(win[w], test_next()));
        MPI_Win_free(&win[w]);
    }
}

static void use_huge(void)
{
    enum { GIB = 32, WORDS_PER_GIB = 1 << 27 };
    const size_t last = (size_t)GIB * WORDS_PER_GIB - 1;
    long *mine;
    MPI_Win win;
    double start = MPI_Wtime();
    MPI_Win_allocate_shared(test_rank ? 0 : (MPI_Aint)GIB << 30, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &mine, &win);
    double took = MPI_Wtime() - start;
    CHECK(took < 2, "%g s", took);
    if (!test_rank)
        mine[0] = mine[last] = 42;
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(part_of(win, 0)[0] == 42 && part_of(win, 0)[last] == 42);
    MPI_Win_free(&win);
}

static void use_created(void)
{
    MPI_Win win[WINDOWS];
    int *memory[WINDOWS], *all = window_memory(WINDOWS * sizeof(int));
    for (int i = 0; i < WINDOWS; i++) { /* half of them in one allocation */
        memory[i] = i % 2 ? &all[i] : window_memory(sizeof(int));
        win[i] = window_over(memory[i], sizeof(int), 1);
    }
    for (int i = 0; i < WINDOWS; i++) /* all are locked before any is unlocked */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_next(), 0, win[i]);
    for (int i = 0; i < WINDOWS; i++) {
        int value = 1000 * test_rank + i;
        MPI_Put(&value, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win[i]);
    }
    for (int i = 0; i < WINDOWS; i++)
        MPI_Win_unlock(test_next(), win[i]);
    for (int i = 0; i < WINDOWS; i++) {
        int w = i * 7 % WINDOWS; /* WINDOWS is not a multiple of 7 */
        MPI_Win_free(&win[w]);
        CHECK(*memory[w] == 1000 * test_previous() + w, "window %d: %d", w, *memory[w]);
        if (w % 2 == 0)
            MPI_Free_mem(memory[w]);
    }
    MPI_Free_mem(all);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    if (argc < 2)
        use_created();
    else if (!strcmp(argv[1], "shared"))
        use_shared();
    else
        use_huge();
    return test_end();
}
