/* MPI_Win_allocate_shared and MPI_Win_shared_query (MPI-4.0, 12.2.3): the memory is zero at first
 * and contiguous in rank order, or each part begins in a page of its own; parts without bytes have
 * the same addresses as with the host alone; all ranks load and store the memory, also beside
 * operations; and children of fork share it. */
#include "test.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 11 };

static MPI_Aint size_of(int rank, int round)
{
    static const MPI_Aint sizes[] = {0, 4, 13, 64, 4096, 4097, 100001, 3 << 20, 1, 0};
    bool nothing = round == 10 || (round == 4 && rank); /* 4: all on rank 0 */
    return nothing ? 0 : sizes[(rank * 3 + round) % 10];
}

static unsigned char byte_of(int rank, MPI_Aint i, int round)
{
    return (unsigned char)(rank * 31 + i * 7 + i / 251 + round);
}

/* The part of a rank, whose size must be this one, or with Open MPI whole pages if apart. */
static unsigned char *part_of(MPI_Win win, int rank, MPI_Aint expected, bool apart)
{
    unsigned char *part;
    MPI_Aint size;
    int unit;
    MPI_Win_shared_query(win, rank, &size, &unit, &part);
    CHECK(size == expected || (apart && size == (expected + 4095) / 4096 * 4096),
          "rank %d has %ld bytes, not %ld", rank, (long)size, (long)expected);
    /* In a window without any bytes, MPICH alone gives the caller's own unit. */
    CHECK(!expected || rank == MPI_PROC_NULL || unit == 1 + rank, "unit %d", unit);
    return part;
}

/* Whether parts without bytes have addresses: those of Open MPI, in contiguous windows. */
static bool empty_parts_have_addresses(bool apart)
{
    return test_size == 1 || (!apart && host_is("Open MPI"));
}

static void check_layout(MPI_Win win, unsigned char *mine, int round, bool apart)
{
    unsigned char *end = NULL, *base;
    int first = MPI_PROC_NULL, flag;
    for (int r = 0; r < test_size; r++) {
        MPI_Aint size = size_of(r, round);
        unsigned char *part = part_of(win, r, size, apart);
        CHECK(r != test_rank || part == mine, "%p, not %p", (void *)part, (void *)mine);
        CHECK(!part == !(size || empty_parts_have_addresses(apart)), "rank %d is at %p", r,
              (void *)part);
        if (!part)
            continue;
        if (size && first == MPI_PROC_NULL)
            first = r;
        CHECK(apart || !end || part == end, "the part of rank %d does not follow", r);
        end = part + size;
    }
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == mine, "MPI_WIN_BASE is %p, not %p", (void *)base, (void *)mine);
    unsigned char *lowest =
        part_of(win, MPI_PROC_NULL, first == MPI_PROC_NULL ? 0 : size_of(first, round), apart);
    for (int r = 0; apart && r < test_size; r++)
        CHECK(!size_of(r, round) || (part_of(win, r, size_of(r, round), true) - lowest) % 4096 == 0,
              "the part of rank %d shares a page", r);
    CHECK(first == MPI_PROC_NULL ? !lowest
                                 : lowest == part_of(win, first, size_of(first, round), apart));
}

/* Each rank writes its own part by stores, and reads all others. */
static void load_and_store(MPI_Win win, unsigned char *mine, int round, bool apart)
{
    for (MPI_Aint i = 0; i < size_of(test_rank, round); i++) {
        CHECK(!mine[i], "byte %ld is %d at first", (long)i, mine[i]);
        mine[i] = byte_of(test_rank, i, round);
    }
    MPI_Win_fence(0, win);
    for (int r = 0; r < test_size; r++) {
        const unsigned char *part = part_of(win, r, size_of(r, round), apart);
        for (MPI_Aint i = 0; i < size_of(r, round); i++)
            CHECK(part[i] == byte_of(r, i, round), "byte %ld of rank %d is %d", (long)i, r,
                  part[i]);
    }
    MPI_Win_fence(0, win);
}

/* A put to the next rank is seen by the loads of all. */
static void put(MPI_Win win, int round, bool apart)
{
    int next = test_next();
    MPI_Aint size = size_of(next, round);
    unsigned char *data = malloc((size_t)size + 1);
    for (MPI_Aint i = 0; i < size; i++)
        data[i] = byte_of(next, i, round + 100);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    if (size)
        MPI_Put(data, (int)(size / (1 + next)), MPI_BYTE, next, 0, (int)(size / (1 + next)),
                MPI_BYTE, win);
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Win_sync(win);
    for (int r = 0; r < test_size; r++) {
        const unsigned char *part = part_of(win, r, size_of(r, round), apart);
        for (MPI_Aint i = 0; i < size_of(r, round) / (1 + r); i++)
            CHECK(part[i] == byte_of(r, i, round + 100), "byte %ld of rank %d", (long)i, r);
    }
    MPI_Win_unlock_all(win);
    free(data);
}

static void use(int round, bool apart)
{
    unsigned char *mine = NULL;
    int *flavor, flag;
    MPI_Info info;
    MPI_Win win;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
    MPI_Win_allocate_shared(size_of(test_rank, round), 1 + test_rank, info, MPI_COMM_WORLD, &mine,
                            &win);
    MPI_Info_free(&info);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_SHARED);
    check_layout(win, mine, round, apart);
    MPI_Win_fence(0, win);
    load_and_store(win, mine, round, apart);
    put(win, round, apart);
    MPI_Win_free(&win);
}

/* Counters that all ranks increment by atomics of C and by MPI_Accumulate in turn. */
static void count_together(void)
{
    enum { TIMES = 100 };
    _Atomic int *mine, *counter;
    MPI_Aint size;
    MPI_Win win;
    int unit, one = 1;
    MPI_Win_allocate_shared(test_rank ? 0 : sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                            &mine, &win);
    MPI_Win_shared_query(win, 0, &size, &unit, &counter);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; i++)
        atomic_fetch_add(counter, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++)
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(*counter == 2 * TIMES * test_size, "%d", *counter);
    MPI_Win_free(&win);
}

static void query_wrong_rank(void)
{
    void *base;
    MPI_Aint size;
    MPI_Win win;
    int unit, error, class;
    MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    error = MPI_Win_shared_query(win, test_size, &size, &unit, &base);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_RANK, "class %d", class);
    MPI_Win_free(&win);
}

/* A child of each rank reads all parts, and writes into its parent's part and that of the next. */
static void fork_child(void)
{
    _Atomic int *mine, *part;
    MPI_Aint size;
    MPI_Win win, other;
    int unit, status;
    MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &part,
                            &other);
    MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                            &win);
    MPI_Win_free(&other);
    mine[0] = mine[1] = 100 + test_rank;
    MPI_Barrier(MPI_COMM_WORLD);
    pid_t child = fork();
    if (!child) {
        for (int r = 0; r < test_size; r++) {
            MPI_Win_shared_query(win, r, &size, &unit, &part);
            if (part[0] != 100 + r)
                _exit(1 + r);
        }
        mine[1]++;
        MPI_Win_shared_query(win, test_next(), &size, &unit, &part);
        part[1]++;
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with 0x%x", status);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mine[1] == 102 + test_rank, "children have written %d", mine[1] - 100 - test_rank);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        use(round, false);
        use(round, true);
    }
    count_together();
    query_wrong_rank();
    fork_child();
    return test_end();
}
