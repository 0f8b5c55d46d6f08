/* More than 2 GiB in one operation, by an int count of a large datatype, and displacements beyond 2
 * GiB (H32: large counts). Skipped if the machine has too little memory. */
#include "test.h"

enum { MIB = 1 << 20, BLOCKS = 2060 };

static long available_mib(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %ld kB", &kib) == 1)
            break;
    fclose(file);
    return kib / 1024;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int enough = available_mib() > 4 * BLOCKS / 3, target = test_size - 1;
    MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!enough) {
        puts("not enough memory");
        return test_end();
    }
    size_t bytes = test_rank == target ? (size_t)BLOCKS * MIB : 0;
    char *memory = NULL, *block = malloc(MIB), byte = 0;
    if (bytes)
        MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
    MPI_Win win = window_over(memory, bytes, 1);
    MPI_Datatype mib, repeated;
    MPI_Type_contiguous(MIB, MPI_BYTE, &mib);
    MPI_Type_commit(&mib);
    MPI_Type_create_resized(mib, 0, 1, &repeated); /* the next element begins one byte later */
    MPI_Type_commit(&repeated);
    char *source = malloc(MIB + BLOCKS);
    for (int i = 0; i < MIB + BLOCKS; i++)
        source[i] = (char)(i ^ i >> 8 ^ i >> 13);
    MPI_Win_lock_all(0, win);
    if (test_rank == 0) {
        MPI_Put(source, BLOCKS, repeated, target, 0, BLOCKS, mib, win);
        MPI_Win_flush(target, win);
        MPI_Get(block, 1, mib, target, (MPI_Aint)(BLOCKS - 1) * MIB, 1, mib, win);
        MPI_Win_flush(target, win);
        CHECK(!memcmp(block, source + BLOCKS - 1, MIB));
        MPI_Get(&byte, 1, MPI_BYTE, target, (MPI_Aint)BLOCKS * MIB - 1, 1, MPI_BYTE, win);
        MPI_Win_flush(target, win);
        CHECK(byte == source[MIB + BLOCKS - 2]);
        CHECK_CLASS(MPI_Put(source, BLOCKS, repeated, target, 1, BLOCKS, mib, win),
                    MPI_ERR_RMA_RANGE);
        MPI_Win_flush(target, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < bytes / MIB; i += 100)
        CHECK(!memcmp(memory + i * MIB, source + i, MIB), "block %zu", i);
    MPI_Type_free(&mib);
    MPI_Type_free(&repeated);
    MPI_Win_free(&win);
    if (memory)
        MPI_Free_mem(memory);
    free(block);
    free(source);
    return test_end();
}
