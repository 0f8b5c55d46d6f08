/* All kinds of sends of one pair of ranks, mixed, are matched in the order of the sends, by
 * receives and probes with and without wildcards (H30: buffered sends). Some messages are sent
 * again unchanged. */
#include "bsend.h"

enum { MESSAGES = 400, BUFFERS = 4, ROUNDS = 3 };

static unsigned state;

static unsigned chance(unsigned n)
{
    state = state * 1103515245u + 12345u;
    return (state >> 16) % n;
}

static const int sizes[BUFFERS] = {64, 4096, 16 << 10, LONG};
static unsigned char *buffers[BUFFERS];

static void send_one(int i, MPI_Request *request)
{
    int b = (int)chance(BUFFERS), n = sizes[b];
    *request = MPI_REQUEST_NULL;
    switch (chance(8)) {
    case 0:
        MPI_Send(buffers[b], n, MPI_BYTE, 1, i, MPI_COMM_WORLD);
        break;
    case 1:
        MPI_Isend(buffers[b], n, MPI_BYTE, 1, i, MPI_COMM_WORLD, request);
        break;
    case 2:
        MPI_Ssend(buffers[b], n, MPI_BYTE, 1, i, MPI_COMM_WORLD);
        break;
    case 3:
        MPI_Issend(buffers[b], n, MPI_BYTE, 1, i, MPI_COMM_WORLD, request);
        break;
    case 4:
        MPI_Ibsend(buffers[b], n, MPI_BYTE, 1, i, MPI_COMM_WORLD, request);
        break;
    default:
        MPI_Bsend(buffers[b], n, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    }
}

static void receive_one(int i, unsigned char *in, unsigned kind)
{
    int b = (int)chance(BUFFERS), n = sizes[b], count;
    chance(8);
    MPI_Status status;
    switch (kind) {
    case 0:
        MPI_Recv(in, LONG, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        break;
    case 1:
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK(status.MPI_TAG == i, "probed %d for %d", status.MPI_TAG, i);
        MPI_Recv(in, LONG, MPI_BYTE, 0, i, MPI_COMM_WORLD, &status);
        break;
    case 2: {
        MPI_Message message;
        MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == n, "%d bytes probed, %d sent", count, n);
        MPI_Mrecv(in, count, MPI_BYTE, &message, &status);
        break;
    }
    default: {
        int flag = 0;
        while (!flag)
            MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        MPI_Recv(in, count, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    }
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(status.MPI_TAG == i, "received %d for %d", status.MPI_TAG, i);
    CHECK(count == n, "message %d: %d bytes for %d", i, count, n);
    CHECK(!wrong_bytes(in, n, (unsigned)b), "message %d", i);
}

int main(int argc, char **argv)
{
    static unsigned char in[LONG];
    static MPI_Request requests[MESSAGES];
    test_begin(&argc, &argv);
    for (int b = 0; b < BUFFERS; b++) {
        buffers[b] = malloc((size_t)sizes[b]);
        fill(buffers[b], sizes[b], (unsigned)b);
    }
    attach(room_for(MESSAGES, LONG));
    for (unsigned round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        state = 7 + round;
        for (int i = 0; i < MESSAGES && test_rank < 2; i++)
            if (test_rank == 0)
                send_one(i, &requests[i]);
            else
                receive_one(i, in, ((unsigned)i * 7 + round) % 4);
        if (test_rank == 0)
            MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    }
    detach();
    return test_end();
}
