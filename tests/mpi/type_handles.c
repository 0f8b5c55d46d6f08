/* A host reuses the handle of a freed datatype, even of one that a delete function has used while
 * the host was freeing it. Fails if the library uses the layout of the freed datatype for the new
 * one, or does not free the memory of its typemaps. */
#include "test.h"

#include <unistd.h>

enum { ROOM = 64 };

static int *memory, values[ROOM];
static MPI_Win win;

static long resident_kib(void)
{
    long pages = 0, unused;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%ld %ld", &unused, &pages) == 2);
    fclose(statm);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

/* Put 4 integers, every `stride`-th, and check that exactly these have arrived. */
static void use(MPI_Datatype type, int stride, const char *what)
{
    memset(memory, 0, ROOM * sizeof *memory);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_next(), 0, win);
    MPI_Put(values, 4, MPI_INT, test_next(), 0, 1, type, win);
    MPI_Win_unlock(test_next(), win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0, n = 0; i < ROOM; i++) {
        bool written = i % stride == 0 && n < 4;
        CHECK(memory[i] == (written ? values[n] : 0), "%s, stride %d: element %d is %d", what,
              stride, i, memory[i]);
        n += written;
    }
}

static MPI_Datatype make(int stride)
{
    MPI_Datatype type;
    if (stride == 1)
        MPI_Type_contiguous(4, MPI_INT, &type);
    else
        MPI_Type_vector(4, 1, stride, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static int delete (MPI_Datatype type, int key, void *value, void *state)
{
    (void)key, (void)state;
    int *stride = value;
    use(type, *stride, "being freed");
    return MPI_SUCCESS;
}

/* `used`: also before it is freed. If not, Open MPI has already discarded how it was made. */
static void use_in_delete_function(int key, int stride, bool used)
{
    MPI_Datatype type = make(stride);
    if (used)
        use(type, stride, "with an attribute");
    MPI_Type_set_attr(type, key, &stride);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    enum { WARM = 1000, CYCLES = 20000 };
    test_begin(&argc, &argv);
    memory = window_memory(ROOM * sizeof *memory);
    win = window_over(memory, ROOM * sizeof *memory, sizeof *memory);
    for (int i = 0; i < ROOM; i++)
        values[i] = i + 1;
    MPI_Datatype type, dup;
    int key;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete, &key, NULL);
    for (int round = 0; round < 200; round++) {
        int stride = 1 + round * 5 % 9;
        type = make(stride);
        use(type, stride, "new");
        MPI_Type_free(&type);
    }
    for (int i = 0; i < 40; i++)
        use_in_delete_function(key, 1 + i * 5 % 9, i % 3 || host_is("Open MPI"));
    MPI_Type_free_keyval(&key);
    /* A duplicate outlives the original. */
    type = make(3);
    use(type, 3, "original");
    MPI_Type_dup(type, &dup);
    MPI_Type_free(&type);
    type = make(7);
    use(dup, 3, "copy");
    use(type, 7, "beside the copy");
    MPI_Type_free(&dup);
    use(type, 7, "after the copy");
    MPI_Type_free(&type);

    long before = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win);
    for (int i = 0; i < WARM + CYCLES; i++) {
        if (i == WARM)
            before = resident_kib();
        type = make(1 + i % 9);
        MPI_Put(values, 4, MPI_INT, test_rank, 0, 1, type, win);
        MPI_Type_free(&type);
    }
    MPI_Win_unlock(test_rank, win);
    CHECK(resident_kib() - before < 2500, "%ld KiB, then %ld", before, resident_kib());
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
