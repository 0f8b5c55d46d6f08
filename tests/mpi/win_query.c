/* MPI_Win_shared_query on windows of MPI_Win_create, MPI_Win_allocate and MPI_Win_create_dynamic
 * (MPI-4.1, 12.2.3). Earlier hosts refuse such windows, with the library, too. From MPI-4.1 on an
 * answer is the memory of the rank, or a size of 0 if this rank cannot access it; dynamic windows
 * must not be queried. Fails if there is another answer, if an address is not that of the rank's
 * memory, or if loads and stores there are not consistent with operations on the window. The
 * arguments: `all`, there is an answer for each rank, as all windows but those over memory of
 * malloc() are accelerated; `node`, for each rank of the same node of two ranks, in windows of
 * MPI_Win_allocate. */
#include "test.h"

enum { ELEMENTS = 16, ROUNDS = 100 };

/* How the memory of a window is distributed. */
enum sizes { EACH, ALL_BUT_FIRST, NONE };

static bool implements_4_1, expect_all, expect_node;

static MPI_Aint bytes_of(enum sizes sizes, int rank)
{
    bool empty = sizes == NONE || (sizes == ALL_BUT_FIRST && rank == 0);
    return empty ? 0 : ELEMENTS * (MPI_Aint)sizeof(int) * (rank + 1);
}

static int unit_of(int rank)
{
    return 4 * (rank + 1);
}

/* Whether there must be an answer for this rank. */
static bool is_due(int rank, bool accelerated, bool allocated)
{
    bool near = rank / 2 == test_rank / 2;
    return accelerated && (expect_all || (expect_node && allocated && near));
}

static int *query(MPI_Win win, int rank, MPI_Aint *size, int *unit)
{
    int *there = NULL;
    *size = *unit = -1;
    CHECK(MPI_Win_shared_query(win, rank, size, unit, &there) == MPI_SUCCESS);
    return there;
}

/* The address of the memory of a rank, or NULL. */
static int *answer_for(MPI_Win win, enum sizes sizes, int rank, bool due)
{
    MPI_Aint size;
    int unit, *there = query(win, rank, &size, &unit);
    if (!size) {
        CHECK(!due || !bytes_of(sizes, rank), "no answer for %d", rank);
        return NULL;
    }
    CHECK(size == bytes_of(sizes, rank) && unit == unit_of(rank), "%ld, %d", (long)size, unit);
    CHECK(*there == 100 + rank, "%d instead of %d", *there, 100 + rank);
    return there;
}

/* The lowest rank that has memory and shares it with this one. */
static void check_lowest(MPI_Win win, enum sizes sizes, bool accelerated, bool allocated)
{
    MPI_Aint size;
    int unit, *there = query(win, MPI_PROC_NULL, &size, &unit), lowest = 0;
    while (lowest < test_size &&
           !(is_due(lowest, accelerated, allocated) && bytes_of(sizes, lowest)))
        lowest++;
    if (size) {
        int rank = *there - 100;
        CHECK(rank >= 0 && rank <= lowest && rank < test_size && size == bytes_of(sizes, rank) &&
                  unit == unit_of(rank),
              "%ld bytes, unit %d, of %d instead of %d", (long)size, unit, rank, lowest);
    } else {
        CHECK(lowest == test_size, "no answer");
    }
}

/* A store by the previous rank is in this rank's memory, and MPI_Put of this rank is there. */
static void check_stores(MPI_Win win, const int *memory, int *next)
{
    int value = 3000 + test_rank;
    MPI_Win_fence(0, win);
    next[1] = 2000 + test_rank;
    MPI_Put(&value, 1, MPI_INT, test_next(), 3, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    const int *there = &next[3 * (test_next() + 1)]; /* in displacement units */
    CHECK(memory[1] == 2000 + test_previous(), "%d", memory[1]);
    CHECK(*there == value, "%d", *there);
}

/* A lock protects loads and stores, too: it is acquired when MPI_Win_lock returns. */
static void check_lock(MPI_Win win, int *first, bool owner)
{
    int one = 1;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        if (i % 4)
            first[2]++;
        else
            MPI_Accumulate(&one, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    CHECK(!owner || first[2] == ROUNDS * test_size, "%d", first[2]);
    MPI_Win_unlock(0, win);
}

/* `accelerated`, `allocated`: the window is accelerated with the library; MPI_Win_allocate made it.
 */
static void check(MPI_Win win, int *memory, enum sizes sizes, bool accelerated, bool allocated)
{
    MPI_Aint size;
    int unit, *there, *next = NULL, *first = NULL;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (bytes_of(sizes, test_rank))
        *memory = 100 + test_rank;
    MPI_Win_fence(0, win);
    for (int rank = 0; rank < test_size; rank++) {
        if (!implements_4_1) {
            CHECK_CLASS(MPI_Win_shared_query(win, rank, &size, &unit, &there), MPI_ERR_RMA_FLAVOR);
            continue;
        }
        there = answer_for(win, sizes, rank, is_due(rank, accelerated, allocated));
        first = rank == 0 ? there : first;
        next = rank == test_next() ? there : next;
    }
    if (implements_4_1) {
        check_lowest(win, sizes, accelerated, allocated);
        CHECK_CLASS(MPI_Win_shared_query(win, test_size, &size, &unit, &there), MPI_ERR_RANK);
    }
    MPI_Win_fence(0, win);
    if (expect_all && accelerated && implements_4_1 && sizes == EACH) {
        check_stores(win, memory, next);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        check_lock(win, first, test_rank == 0);
    }
    MPI_Win_free(&win);
}

static void check_created(enum sizes sizes, bool shared)
{
    MPI_Aint bytes = bytes_of(sizes, test_rank);
    size_t room = ELEMENTS * sizeof(int) * (size_t)test_size;
    int *memory = shared ? window_memory(room) : calloc(1, room);
    MPI_Win win;
    MPI_Win_create(bytes ? memory : NULL, bytes, unit_of(test_rank), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    check(win, memory, sizes, shared || sizes == NONE, false);
    if (shared)
        MPI_Free_mem(memory);
    else
        free(memory);
}

static void check_allocated(enum sizes sizes)
{
    int *memory;
    MPI_Win win;
    MPI_Win_allocate(bytes_of(sizes, test_rank), unit_of(test_rank), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &memory, &win);
    check(win, memory, sizes, true, true);
}

/* A window of one rank is accelerated over any memory. */
static void check_alone(void)
{
    int memory[ELEMENTS] = {7}, unit;
    MPI_Aint size;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    CHECK(!implements_4_1 || (query(win, 0, &size, &unit) == memory && size == sizeof memory));
    CHECK(!implements_4_1 || query(win, MPI_PROC_NULL, &size, &unit) == memory);
    MPI_Win_free(&win);
}

static void check_dynamic(void)
{
    MPI_Aint size;
    int unit, *there, *memory = window_memory(64);
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_attach(win, memory, 64);
    int class = class_of(MPI_Win_shared_query(win, test_rank, &size, &unit, &there));
    CHECK(class == MPI_ERR_RMA_FLAVOR || (implements_4_1 && !class && !size), "%d", class);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    int version, subversion;
    test_begin(&argc, &argv);
    MPI_Get_version(&version, &subversion);
    implements_4_1 = version > 4 || (version == 4 && subversion >= 1);
    expect_all = argc > 1 && !strcmp(argv[1], "all");
    expect_node = argc > 1 && !strcmp(argv[1], "node");
    for (enum sizes sizes = EACH; sizes <= NONE; sizes++)
        for (int again = 0; again < 2; again++) {
            check_created(sizes, true);
            check_allocated(sizes);
        }
    check_created(EACH, false);
    check_dynamic();
    if (expect_all)
        check_alone();
    return test_end();
}
