/* A message that was sent before a synchronizing call is there after it: MPI_Iprobe, MPI_Improbe
 * and the calls that test requests find it at once, however late the receiver comes, as with the
 * hosts alone, on which programs rely (H33: messages after a collective). Then many messages at
 * once. */
#include "coll.h"

enum { ROUNDS = 60, LONGEST = 20000, MANY = 40, TAG = 7 };

static char out[LONGEST], in[LONGEST];
static int *ints;
static MPI_Win win;

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    MPI_Allreduce(ints, ints + test_size, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(void)
{
    MPI_Allgather(ints, 1, MPI_INT, ints + test_size, 1, MPI_INT, MPI_COMM_WORLD);
}

static void alltoall(void)
{
    MPI_Alltoall(ints, 1, MPI_INT, ints + test_size, 1, MPI_INT, MPI_COMM_WORLD);
}

static void fence(void)
{
    MPI_Win_fence(0, win);
}

static void (*const calls[])(void) = {barrier, allreduce, allgather, alltoall, fence};
static const char *const call_names[] = {"MPI_Barrier", "MPI_Allreduce", "MPI_Allgather",
                                         "MPI_Alltoall", "MPI_Win_fence"};
enum { CALLS = sizeof calls / sizeof *calls };

/* How the receiver looks for the message. */
enum { IPROBE, ANY_IPROBE, IMPROBE, TESTS, TEST = TESTS, TESTALL, TESTANY, TESTSOME, WAYS };

static bool find(int way, int bytes, int source, MPI_Request *request)
{
    MPI_Message message;
    int found = 0, index;
    switch (way) {
    case IPROBE:
        MPI_Iprobe(source, TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        break;
    case ANY_IPROBE:
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        break;
    case IMPROBE:
        MPI_Improbe(source, TAG, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
        if (found)
            MPI_Mrecv(in, bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        return found;
    case TEST:
        MPI_Test(request, &found, MPI_STATUS_IGNORE);
        break;
    case TESTALL:
        MPI_Testall(1, request, &found, MPI_STATUSES_IGNORE);
        break;
    case TESTANY:
        MPI_Testany(1, request, &index, &found, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Testsome(1, request, &found, &index, MPI_STATUSES_IGNORE);
    }
    return found;
}

/* Returns how often the message of the left neighbour was not found. Each rank is the last one in
 * every other round. */
static int missed(void (*call)(void), int way, int bytes)
{
    int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    int count = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request receive = MPI_REQUEST_NULL, send;
        double late = (round + test_rank) % 2 * 50e-6;
        if (way >= TESTS)
            MPI_Irecv(in, bytes, MPI_CHAR, left, TAG, MPI_COMM_WORLD, &receive);
        MPI_Isend(out, bytes, MPI_CHAR, right, TAG, MPI_COMM_WORLD, &send);
        for (double start = MPI_Wtime(); MPI_Wtime() - start < late;) {
        }
        call();
        bool found = find(way, bytes, left, &receive);
        count += !found;
        if (way >= TESTS)
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
        else if (way != IMPROBE || !found)
            MPI_Recv(in, bytes, MPI_CHAR, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    return count;
}

/* All send, synchronize, and receive as long as there is a message. */
static void receive_all(void (*call)(void), int number)
{
    MPI_Request sends[MANY * 16];
    int peers = test_size < 16 ? test_size : 16, sent = 0, received = 0, found;
    for (int i = 0; i < number; i++)
        for (int peer = 0; peer < peers; peer++)
            MPI_Isend(out, 8, MPI_CHAR, peer, TAG, MPI_COMM_WORLD, &sends[sent++]);
    call();
    for (;; received++) {
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &found, &status);
        if (!found)
            break;
        MPI_Recv(in, 8, MPI_CHAR, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK(received == number * test_size, "%d of %d messages were found", received,
          number * test_size);
    MPI_Waitall(sent, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {8, 2048, LONGEST};
    void *base;
    coll_begin(&argc, &argv);
    ints = calloc((size_t)test_size * 2, sizeof *ints);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    coll_warm(MPI_COMM_WORLD);
    for (int c = 0; c < CALLS; c++)
        for (int i = 0; i < 8; i++)
            calls[c]();
    for (int c = 0; c < CALLS; c++) {
        for (int way = 0; way < WAYS; way++)
            for (int l = 0; l < 3; l++) {
                int count = missed(calls[c], way, lengths[l]);
                CHECK(count == 0, "%s, way %d, %d bytes: missed in %d of %d rounds", call_names[c],
                      way, lengths[l], count, ROUNDS);
            }
        receive_all(calls[c], MANY / test_size);
    }
    free(ints);
    MPI_Win_free(&win);
    return test_end();
}
