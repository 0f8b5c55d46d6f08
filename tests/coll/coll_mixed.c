/* Nonblocking, persistent and neighbourhood collectives, and messages with any tag, are in progress
 * on a communicator while blocking collectives of all kinds run on it. Fails if communication of
 * the library's set-up matches the program's. */
#include "kinds.h"

enum { TIMES = 20, LARGE = 40000 };

static MPI_Comm ring;
static int left, right, *large, *large_sum;

static void neighbours(int mark)
{
    int mine = mark + test_rank, theirs[2] = {-1, -1};
    MPI_Neighbor_allgather(&mine, 1, MPI_INT, theirs, 1, MPI_INT, ring);
    kinds_expect(theirs[0], mark + left, "from the left", "a ring");
    kinds_expect(theirs[1], mark + right, "from the right", "a ring");
    int two[] = {mark + 10 * test_rank, mark + 10 * test_rank + 1};
    MPI_Neighbor_alltoall(two, 1, MPI_INT, theirs, 1, MPI_INT, ring);
    if (test_size > 2) {
        kinds_expect(theirs[0], mark + 10 * left + 1, "alltoall from the left", "a ring");
        kinds_expect(theirs[1], mark + 10 * right, "alltoall from the right", "a ring");
    }
}

static void nonblocking(int mark)
{
    enum { MESSAGE, BCAST, SUM, LARGE_SUM, BARRIER, ALL };
    MPI_Request requests[ALL], sent;
    int message = -1, value = test_rank == mark % test_size ? mark : -1, mine = test_rank, sum = 0;
    for (int i = 0; i < LARGE; i++)
        large[i] = i + mark + test_rank;
    MPI_Irecv(&message, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, ring, &requests[MESSAGE]);
    MPI_Ibcast(&value, 1, MPI_INT, mark % test_size, ring, &requests[BCAST]);
    kinds_move(ring, mark, "a ring, after an ibcast");
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, ring, &requests[SUM]);
    MPI_Iallreduce(large, large_sum, LARGE, MPI_INT, MPI_SUM, ring, &requests[LARGE_SUM]);
    kinds_combine(ring, mark, "a ring, after an iallreduce");
    neighbours(mark);
    MPI_Ibarrier(ring, &requests[BARRIER]);
    kinds_all(ring, mark + 1, "a ring, after an ibarrier");
    MPI_Isend(&mark, 1, MPI_INT, right, mark, ring, &sent);
    kinds_move(ring, mark + 2, "a ring, after a message");
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Waitall(ALL, requests, MPI_STATUSES_IGNORE);
    kinds_expect(message, mark, "message", "a ring");
    kinds_expect(value, mark, "ibcast", "a ring");
    kinds_expect(sum, test_size * (test_size - 1) / 2, "iallreduce", "a ring");
    int wrong = 0;
    for (int i = 0; i < LARGE; i++)
        wrong += large_sum[i] != test_size * (i + mark) + test_size * (test_size - 1) / 2;
    CHECK(!wrong, "%d of a large iallreduce", wrong);
}

#if MPI_VERSION >= 4
static void persistent(void)
{
    MPI_Request bcast, sum;
    int value, mine, total;
    MPI_Bcast_init(&value, 1, MPI_INT, 0, ring, MPI_INFO_NULL, &bcast);
    kinds_all(ring, 3, "a ring, with a persistent bcast");
    MPI_Allreduce_init(&mine, &total, 1, MPI_INT, MPI_SUM, ring, MPI_INFO_NULL, &sum);
    for (int i = 0; i < 4; i++) {
        value = test_rank ? -1 : i;
        mine = i;
        MPI_Start(&bcast);
        kinds_all(ring, i, "a ring, started");
        MPI_Start(&sum);
        kinds_all(ring, i + 1, "a ring, started twice");
        MPI_Wait(&sum, MPI_STATUS_IGNORE);
        MPI_Wait(&bcast, MPI_STATUS_IGNORE);
        kinds_expect(value, i, "persistent bcast", "a ring");
        kinds_expect(total, i * test_size, "persistent allreduce", "a ring");
    }
    MPI_Request_free(&bcast);
    MPI_Request_free(&sum);
}
#else
static void persistent(void)
{
}
#endif

/* Alternate between nonblocking and blocking calls on a new communicator, from the first call on:
 * the host must receive its calls in the same order on all ranks. */
static void in_turn(void)
{
    enum { CALLS = 24 };
    MPI_Comm comm;
    MPI_Request requests[CALLS];
    int sums[CALLS], values[CALLS], mine = test_rank + 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < CALLS; i++) {
        int value = test_rank == i % test_size ? i : -1;
        values[i] = test_rank == 0 ? i : -1;
        if (i % 2)
            MPI_Iallreduce(&mine, &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
        else
            MPI_Ibcast(&values[i], 1, MPI_INT, 0, comm, &requests[i]);
        MPI_Bcast(&value, 1, MPI_INT, i % test_size, comm);
        kinds_expect(value, i, "bcast", "a new one");
    }
    MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < CALLS; i++)
        kinds_expect(i % 2 ? sums[i] : values[i], i % 2 ? test_size * (test_size + 1) / 2 : i,
                     "a nonblocking one", "a new one");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    in_turn();
    large = malloc(LARGE * sizeof *large);
    large_sum = malloc(LARGE * sizeof *large);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &test_size, (int[]){1}, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &left, &right);
    for (int i = 0; i < TIMES; i++)
        nonblocking(i);
    persistent();
    MPI_Comm_free(&ring);
    free(large);
    free(large_sum);
    return test_end();
}
