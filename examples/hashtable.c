/* A distributed hash table, as a user would write it: every rank owns a part of the slots. An
 * insertion claims a free slot with compare-and-swap, a lookup reads. A counter on rank 0 counts
 * insertions.
 *
 *  usage: hashtable [keys per rank]
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    int key, value; /* key 0: free */
};

static int rank, size;
static long slots; /* per rank */
static MPI_Win table, counter;

static unsigned long hash(int key)
{
    unsigned long h = (unsigned long)key;
    h ^= h >> 31;
    h *= 0x7fb5d329728ea185ul;
    h ^= h >> 27;
    h *= 0x81dadef4bc2dd44dul;
    return h ^ h >> 33;
}

static void insert(int key, int value)
{
    const int free_slot = 0;
    const long one = 1;
    for (unsigned long at = hash(key);; at++) {
        int owner = (int)(at / (unsigned long)slots % (unsigned long)size);
        MPI_Aint disp = (MPI_Aint)(at % (unsigned long)slots) * (MPI_Aint)sizeof(struct slot);
        int found;
        MPI_Compare_and_swap(&key, &free_slot, &found, MPI_INT, owner, disp, table);
        MPI_Win_flush(owner, table);
        if (found != free_slot && found != key)
            continue;
        disp += (MPI_Aint)offsetof(struct slot, value);
        MPI_Put(&value, 1, MPI_INT, owner, disp, 1, MPI_INT, table);
        MPI_Win_flush(owner, table);
        break;
    }
    long before;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, counter);
    MPI_Win_flush(0, counter);
}

static int look_up(int key)
{
    for (unsigned long at = hash(key);; at++) {
        int owner = (int)(at / (unsigned long)slots % (unsigned long)size);
        MPI_Aint disp = (MPI_Aint)(at % (unsigned long)slots) * (MPI_Aint)sizeof(struct slot);
        struct slot found;
        MPI_Get(&found, 2, MPI_INT, owner, disp, 2, MPI_INT, table);
        MPI_Win_flush(owner, table);
        if (found.key == key)
            return found.value;
        if (found.key == 0)
            return -1;
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long keys = argc > 1 ? atol(argv[1]) : 100000;
    slots = 2 * keys;

    struct slot *mine;
    long *count;
    MPI_Aint bytes = (MPI_Aint)sizeof *mine * slots;
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &mine);
    memset(mine, 0, (size_t)bytes);
    MPI_Win_create(mine, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &table);
    MPI_Alloc_mem(sizeof *count, MPI_INFO_NULL, &count);
    *count = 0;
    MPI_Win_create(count, sizeof *count, sizeof *count, MPI_INFO_NULL, MPI_COMM_WORLD, &counter);
    MPI_Win_lock_all(0, table);
    MPI_Win_lock_all(0, counter);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int k = 0; k < keys; k++)
        insert(1 + rank + k * size, 3 * (1 + rank + k * size));
    MPI_Barrier(MPI_COMM_WORLD);
    long wrong = 0, sum = 0, total, all_wrong;
    for (int k = 0; k < keys; k++) {
        int key = 1 + (rank + 1) % size + k * size, value = look_up(key);
        wrong += value != 3 * key;
        sum += value;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double took = MPI_Wtime() - start;

    MPI_Win_unlock_all(table);
    MPI_Win_unlock_all(counter);
    MPI_Reduce(&sum, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("result %ld of %ld keys, %ld wrong, sum %ld\nseconds %.3f\n", *count, keys * size,
               all_wrong, total, took);
    MPI_Win_free(&table);
    MPI_Win_free(&counter);
    MPI_Free_mem(mine);
    MPI_Free_mem(count);
    MPI_Finalize();
    return 0;
}
