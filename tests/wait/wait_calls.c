/* Every kind of call that waits for another rank, in a random order, with random pauses in the
 * ranks that others wait for. No rank waits forever, and all receive what was sent.
 *
 *   wait_calls [threads] [ROUNDS]
 */
#include "test.h"

#include <pthread.h>
#include <time.h>

enum { LONG = 50000 }; /* doubles: longer than what hosts send at once */

static uint64_t state = 1;

/* The same on all ranks. */
static unsigned any(unsigned n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % n;
}

/* One rank keeps the others waiting: mostly not at all, sometimes asleep, sometimes busy. */
static void delay(void)
{
    unsigned late = any((unsigned)test_size), kind = any(8), us = any(3000);
    if ((int)late != test_rank || kind > 1)
        return;
    struct timespec time = {.tv_nsec = us * 1000L};
    if (kind == 0)
        nanosleep(&time, NULL);
    for (double until = MPI_Wtime() + us * 1e-6; kind == 1 && MPI_Wtime() < until;)
        ;
}

static double *in, *out;

static void fill(int count, int tag)
{
    for (int i = 0; i < count; i++)
        out[i] = test_rank * 1e6 + tag * 1e3 + i % 1000;
}

static void check(const double *data, int count, int from, int tag, const char *what)
{
    for (int i = 0; i < count; i += count / 7 + 1)
        CHECK(data[i] == from * 1e6 + tag * 1e3 + i % 1000, "%s: %d of %d from %d: %g", what, i,
              count, from, data[i]);
}

/* ---- point to point ---- */

static void ring(MPI_Comm comm, int count, int tag)
{
    fill(count, tag);
    MPI_Sendrecv(out, count, MPI_DOUBLE, test_next(), tag, in, count, MPI_DOUBLE, test_previous(),
                 tag, comm, MPI_STATUS_IGNORE);
    check(in, count, test_previous(), tag, "MPI_Sendrecv");
}

static void chain(MPI_Comm comm, int count, int tag)
{
    if (test_rank > 0) {
        MPI_Recv(in, count, MPI_DOUBLE, test_rank - 1, tag, comm, MPI_STATUS_IGNORE);
        check(in, count, test_rank - 1, tag, "MPI_Recv");
    }
    fill(count, tag);
    if (test_rank < test_size - 1 && tag % 2)
        MPI_Send(out, count, MPI_DOUBLE, test_rank + 1, tag, comm);
    else if (test_rank < test_size - 1)
        MPI_Ssend(out, count, MPI_DOUBLE, test_rank + 1, tag, comm);
}

/* All send to rank 0, which finds out what there is in one way or another. */
static void gather(MPI_Comm comm, int count, int tag)
{
    MPI_Status status;
    fill(count, tag);
    MPI_Request request = MPI_REQUEST_NULL;
    if (test_rank)
        MPI_Isend(out, count, MPI_DOUBLE, 0, tag, comm, &request);
    for (int i = 1; !test_rank && i < test_size; i++) {
        MPI_Message message = MPI_MESSAGE_NULL;
        int arrived = 0;
        if (tag % 3 == 0)
            MPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &message, &status);
        else if (tag % 3 == 1)
            MPI_Probe(MPI_ANY_SOURCE, tag, comm, &status);
        else
            while (!arrived)
                MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &arrived, &status);
        if (message != MPI_MESSAGE_NULL)
            MPI_Mrecv(in, count, MPI_DOUBLE, &message, &status);
        else
            MPI_Recv(in, count, MPI_DOUBLE, status.MPI_SOURCE, tag, comm, &status);
        check(in, count, status.MPI_SOURCE, tag, "MPI_Probe");
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* To all neighbours, completed by one of the calls that complete requests. */
static void neighbours(MPI_Comm comm, int tag)
{
    enum { COUNT = 20 };
    MPI_Request request[2 * 16];
    int n = 0, flag = 0, index;
    fill(COUNT, tag);
    for (int rank = 0; rank < test_size; rank++)
        MPI_Irecv(in + rank * COUNT, COUNT, MPI_DOUBLE, rank, tag, comm, &request[n++]);
    for (int rank = 0; rank < test_size; rank++)
        MPI_Isend(out, COUNT, MPI_DOUBLE, rank, tag, comm, &request[n++]);
    switch (tag % 5) {
    case 0:
        MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
        break;
    case 1:
        for (int i = 0; i < n; i++)
            MPI_Wait(&request[i], MPI_STATUS_IGNORE);
        break;
    case 2:
        while (!flag)
            MPI_Testall(n, request, &flag, MPI_STATUSES_IGNORE);
        break;
    case 3:
        for (int i = 0; i < n; i++)
            MPI_Waitany(n, request, &index, MPI_STATUS_IGNORE);
        break;
    default:
        for (int i = 0; i < n; i++)
            for (flag = 0; !flag;)
                MPI_Test(&request[i], &flag, MPI_STATUS_IGNORE);
    }
    for (int rank = 0; rank < test_size; rank++)
        check(in + rank * COUNT, COUNT, rank, tag, "neighbours");
}

static void persistent(MPI_Comm comm, int count, int tag)
{
    MPI_Request request[2];
    fill(count, tag);
    MPI_Send_init(out, count, MPI_DOUBLE, test_next(), tag, comm, &request[0]);
    MPI_Recv_init(in, count, MPI_DOUBLE, test_previous(), tag, comm, &request[1]);
    MPI_Startall(2, request);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    check(in, count, test_previous(), tag, "MPI_Start");
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

static void buffered(MPI_Comm comm, int count, int tag)
{
    fill(count, tag);
    MPI_Bsend(out, count, MPI_DOUBLE, test_next(), tag, comm);
    MPI_Recv(in, count, MPI_DOUBLE, test_previous(), tag, comm, MPI_STATUS_IGNORE);
    check(in, count, test_previous(), tag, "MPI_Bsend");
}

/* ---- all together ---- */

static void collective(MPI_Comm comm, int count, int tag)
{
    MPI_Request request;
    fill(count, tag);
    for (int i = 0; i < count; i++)
        in[i] = test_rank == 0 ? out[i] : -1;
    if (tag % 3 == 0)
        MPI_Bcast(in, count, MPI_DOUBLE, 0, comm);
    else {
        MPI_Ibcast(in, count, MPI_DOUBLE, 0, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check(in, count, 0, tag, "MPI_Bcast");
    MPI_Barrier(comm);
}

/* On communicators that are new, and of this rank alone. */
static void communicator(MPI_Comm comm)
{
    static MPI_Comm alone = MPI_COMM_NULL;
    MPI_Comm copy;
    int sum = 0, sent = test_rank, received = -1;
    if (alone == MPI_COMM_NULL)
        MPI_Comm_dup(MPI_COMM_SELF, &alone);
    MPI_Barrier(alone);
    MPI_Sendrecv(&sent, 1, MPI_INT, 0, 1, &received, 1, MPI_INT, 0, 1, alone, MPI_STATUS_IGNORE);
    CHECK(received == sent, "alone: %d", received);
    MPI_Comm_dup(comm, &copy);
    MPI_Allreduce(&test_rank, &sum, 1, MPI_INT, MPI_SUM, copy);
    CHECK(sum == test_size * (test_size - 1) / 2, "%d", sum);
    MPI_Allreduce(&test_rank, &sum, 1, MPI_INT, MPI_SUM, copy);
    MPI_Sendrecv(&sent, 1, MPI_INT, test_next(), 1, &received, 1, MPI_INT, test_previous(), 1, copy,
                 MPI_STATUS_IGNORE);
    CHECK(received == test_previous(), "new: %d", received);
    MPI_Comm_free(&copy);
}

/* ---- windows, over memory of the program and of MPI ---- */

static void window(MPI_Win win, const double *memory, int tag)
{
    double value = test_rank * 1e6 + tag;
    switch (tag % 3) {
    case 0:
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_DOUBLE, test_next(), 0, 1, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
        break;
    case 1:
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_next(), 0, win);
        MPI_Put(&value, 1, MPI_DOUBLE, test_next(), 0, 1, MPI_DOUBLE, win);
        MPI_Win_unlock(test_next(), win);
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    default: {
        MPI_Group all, group;
        int ranks[2] = {test_previous(), test_next()};
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, test_size > 2 ? 2 : 1, ranks, &group);
        MPI_Win_post(group, 0, win);
        MPI_Win_start(group, 0, win);
        MPI_Put(&value, 1, MPI_DOUBLE, test_next(), 0, 1, MPI_DOUBLE, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        MPI_Group_free(&group);
        MPI_Group_free(&all);
    }
    }
    MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win);
    CHECK(*memory == test_previous() * 1e6 + tag, "window: %g", *memory);
    MPI_Win_unlock(test_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- the test ---- */

static MPI_Comm comm;
static MPI_Win win[2];
static double *memory[2];
static int rounds = 60;

static void one(int round)
{
    int count = any(4) ? 1 + (int)any(100) : LONG;
    delay();
    switch (any(9)) {
    case 0:
        ring(comm, count, round);
        break;
    case 1:
        chain(comm, count, round);
        break;
    case 2:
        gather(comm, count, round);
        break;
    case 3:
        neighbours(comm, round);
        break;
    case 4:
        persistent(comm, count, round);
        break;
    case 5:
        buffered(comm, count, round);
        break;
    case 6:
        collective(comm, count, round);
        break;
    case 7:
        communicator(comm);
        break;
    default:
        window(win[round % 2], memory[round % 2], round);
    }
}

/* Another thread exchanges messages all the time. */
static void *exchange(void *other)
{
    for (int i = 0, from = -1; i < 20 * rounds; i++) {
        MPI_Sendrecv(&test_rank, 1, MPI_INT, test_next(), i, &from, 1, MPI_INT, test_previous(), i,
                     *(MPI_Comm *)other, MPI_STATUS_IGNORE);
        CHECK(from == test_previous(), "thread: %d", from);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = MPI_THREAD_SINGLE;
    bool threads = argc > 1 && !strcmp(argv[1], "threads");
    MPI_Comm other;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    if (argc > 1 + threads)
        rounds = atoi(argv[1 + threads]);
    size_t room = (LONG + 1000) * sizeof(double), buffered_bytes = 4 * room;
    in = malloc(room);
    out = malloc(room);
    void *buffer = malloc(buffered_bytes);
    MPI_Buffer_attach(buffer, (int)buffered_bytes);
    memory[0] = window_memory(sizeof(double));
    memory[1] = calloc(1, sizeof(double));
    for (int i = 0; i < 2; i++)
        MPI_Win_create(memory[i], sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                       &win[i]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (threads && provided == MPI_THREAD_MULTIPLE)
        pthread_create(&thread, NULL, exchange, &other);
    for (int round = 0; round < rounds; round++)
        one(round);
    if (threads && provided == MPI_THREAD_MULTIPLE)
        pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++)
        MPI_Win_free(&win[i]);
    MPI_Free_mem(memory[0]);
    free(memory[1]);
    MPI_Comm_free(&other);
    MPI_Comm_free(&comm);
    int bytes;
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
    free(in);
    free(out);
    return test_end();
}
