/* While a window is created, one rank gets no memory, in each of the library's requests in turn:
 * all ranks get the window, and it works (H13: the same decision on all ranks). A rank that stayed
 * away from the exchange would make the others wait; one that lost its part of a fast window would
 * write into the host's window instead. */
#define _GNU_SOURCE
#include "starve.h"

enum { COUNT = 64 };

enum kind { CREATE, ALLOCATE, KINDS };

static MPI_Win create(enum kind kind, MPI_Comm comm, int *heap, int **memory)
{
    MPI_Win win;
    MPI_Aint bytes = COUNT * sizeof(int);
    *memory = heap;
    if (kind == CREATE)
        MPI_Win_create(heap, bytes, sizeof(int), MPI_INFO_NULL, comm, &win);
    else
        MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, comm, memory, &win);
    return win;
}

/* Each rank puts its number to all ranks. */
static void use(MPI_Comm comm, MPI_Win win, int *memory)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    memset(memory, 0, COUNT * sizeof *memory);
    MPI_Win_fence(0, win);
    for (int to = 0; to < size; to++) {
        int one = 1, value = 100 + rank;
        MPI_Put(&value, 1, MPI_INT, to, rank, 1, MPI_INT, win);
        MPI_Accumulate(&one, 1, MPI_INT, to, COUNT - 1, 1, MPI_INT, MPI_SUM, win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int from = 0; from < size; from++)
        CHECK(memory[from] == 100 + from, "%d from %d", memory[from], from);
    CHECK(memory[COUNT - 1] == size, "%d of %d", memory[COUNT - 1], size);
}

/* A window counts as a collective call of its communicator only if each rank can count it. If the
 * ranks counted differently, one would set up the team in another call than the others. */
static void count_on(MPI_Comm comm, int *heap)
{
    int *memory, one = 1, size, sum;
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < 4; i++) {
        MPI_Win win = create(CREATE, comm, heap, &memory);
        use(comm, win, memory);
        MPI_Win_free(&win);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size, "%d", sum);
    }
}

/* Refuse the last rank's request number `first` and the following ones up to `last`. Returns
 * whether it made so many. */
static bool create_without(enum kind kind, MPI_Comm comm, int *heap, int first, int last)
{
    int *memory, rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    bool starves = rank == size - 1;
    if (starves)
        starve(first, last);
    MPI_Win win = create(kind, comm, heap, &memory);
    int more = starve_requests >= first;
    starve_end();
    use(comm, win, memory);
    MPI_Win_free(&win);
    MPI_Bcast(&more, 1, MPI_INT, size - 1, comm);
    return more;
}

/* On a communicator that has made no collective call. */
static bool create_on_new(enum kind kind, MPI_Comm comm, int *heap, int first, int last)
{
    MPI_Comm new;
    MPI_Comm_dup(comm, &new);
    bool more = create_without(kind, new, heap, first, last);
    count_on(new, heap);
    MPI_Comm_free(&new);
    return more;
}

typedef bool attempt(enum kind kind, MPI_Comm comm, int *heap, int first, int last);

/* `attempt`: create_without() or create_on_new(). */
static void try_on(MPI_Comm comm, attempt *attempt, enum kind first_kind, int least)
{
    int *heap = window_memory(COUNT * sizeof *heap);
    for (enum kind kind = first_kind; kind < KINDS; kind++) {
        int first = 1;
        while (attempt(kind, comm, heap, first, first) | attempt(kind, comm, heap, first, INT_MAX))
            first++;
        CHECK(!starve_high || first > least, "%d requests", first - 1);
    }
    MPI_Free_mem(heap);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    starve_open();
    MPI_Comm team, self;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int least = size > 8 ? 2 : 1; /* the offers of a few ranks are on the stack */
    try_on(MPI_COMM_WORLD, create_on_new, CREATE, least);
    MPI_Comm_dup(MPI_COMM_WORLD, &team);
    for (int i = 0; i < 40; i++) {
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, team);
    }
    try_on(team, create_without, CREATE, least);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    try_on(self, create_without, ALLOCATE,
           2); /* Open MPI 4.1 may refuse MPI_Win_create on one rank */
    MPI_Comm_free(&team);
    MPI_Comm_free(&self);
    return test_end();
}
