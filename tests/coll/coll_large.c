/* Data beyond 2 GiB (H32: large counts): with an extent of which few bytes are touched; with the
 * argument `moved`, that many bytes, if the machine has the memory. */
#define _GNU_SOURCE
#include "coll.h"

#include <sys/mman.h>
#include <unistd.h>

enum { FAR = 1 << 30, BLOCKS = 5, SKIPPED = 77 };

/* Memory that is not allocated until it is touched. */
static char *room(size_t bytes)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* 100 bytes every GiB. */
static void spread(MPI_Comm comm)
{
    enum { N = 100 };
    size_t bytes = (size_t)FAR * BLOCKS;
    char *memory = room(bytes), *other = room(bytes);
    MPI_Datatype hundred, far;
    CHECK(memory && other);
    MPI_Type_contiguous(N, MPI_BYTE, &hundred);
    MPI_Type_create_resized(hundred, 0, FAR, &far);
    MPI_Type_commit(&far);
    for (int root = 0; root < test_size; root++) {
        coll_turn++;
        for (int b = 0; b < BLOCKS && test_rank == root; b++)
            coll_fill(memory + (size_t)b * FAR, N, root, b);
        MPI_Bcast(memory, BLOCKS, far, root, comm);
        for (int b = 0; b < BLOCKS; b++)
            coll_expect("bcast", memory + (size_t)b * FAR, N, root, b);
    }
    coll_turn++;
    for (int r = 0; r < test_size; r++)
        coll_fill(memory + (size_t)r * FAR, N, test_rank, r);
    MPI_Alltoall(memory, 1, far, other, 1, far, comm);
    for (int r = 0; r < test_size; r++)
        coll_expect("alltoall", other + (size_t)r * FAR, N, r, test_rank);
    coll_turn++;
    coll_fill(memory, N, test_rank, 0);
    MPI_Allgather(memory, 1, far, other, 1, far, comm);
    for (int r = 0; r < test_size; r++)
        coll_expect("allgather", other + (size_t)r * FAR, N, r, 0);
    /* displacements are in extents */
    int counts[16], displs[16];
    for (int r = 0; r < test_size; r++)
        counts[r] = 1, displs[r] = BLOCKS - 1 - r;
    coll_turn++;
    coll_fill(memory, N, test_rank, 0);
    MPI_Allgatherv(memory, 1, far, other, counts, displs, far, comm);
    for (int r = 0; r < test_size; r++)
        coll_expect("allgatherv", other + (size_t)displs[r] * FAR, N, r, 0);
    MPI_Type_free(&far);
    MPI_Type_free(&hundred);
    munmap(memory, bytes);
    munmap(other, bytes);
}

static long available_mib(void)
{
    long kib = 0;
    char line[200];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib / 1024;
}

static void moved(MPI_Comm comm)
{
    enum { MIB = 1 << 20, MIBS = 2050 };
    size_t bytes = (size_t)MIBS * MIB;
    char *memory = room(bytes);
    MPI_Datatype mib;
    CHECK(memory != NULL);
    MPI_Type_contiguous(MIB, MPI_BYTE, &mib);
    MPI_Type_commit(&mib);
    for (size_t i = 0; i < bytes && test_rank == 0; i += 4096) /* one marked byte per page */
        memory[i + i / 4096 % 4096] = coll_byte(0, 0, i);
    MPI_Bcast(memory, MIBS, mib, 0, comm);
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i += 4096)
        wrong += memory[i + i / 4096 % 4096] != coll_byte(0, 0, i);
    CHECK(!wrong, "%zu of %zu pages", wrong, bytes / 4096);
    MPI_Type_free(&mib);
    munmap(memory, bytes);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    bool all = argc > 1;
    int enough = available_mib() > 6 * 1024;
    MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!all)
        spread(MPI_COMM_WORLD);
    else if (enough)
        moved(MPI_COMM_WORLD);
    int status = test_end();
    return all && !enough ? SKIPPED : status;
}
