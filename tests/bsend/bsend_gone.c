/* MPI_Buffer_detach waits for the messages to be received, and for no further call of the
 * receivers: they have received all messages while the sender was outside MPI, as fast as possible,
 * so that their acknowledgements found the queue full, and make no MPI call until the sender has
 * returned from MPI_Buffer_detach. A third rank then receives one message, at first the first
 * message that is ever sent to it. */
#include "bsend.h"

#include <stdlib.h>

enum { MESSAGES = 150, ROUNDS = 4 };

static pid_t process[3];
static bool third;

/* Send all messages from one buffer; each from a buffer of its own, parts of which lie between
 * others; by calls that do not wait; or by a persistent request. */
enum kind { SAME, OWN, STRIDED, IMMEDIATE, PERSISTENT, KINDS };

static void send_one(enum kind kind, unsigned char *out, int bytes, int i, MPI_Datatype strided)
{
    MPI_Request request = MPI_REQUEST_NULL;
    unsigned char *from = kind == SAME ? out : out + 2 * (size_t)bytes * (size_t)i;
    if (kind == IMMEDIATE)
        MPI_Ibsend(from, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request);
    else if (kind == PERSISTENT) {
        MPI_Bsend_init(from, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
    } else if (kind == STRIDED)
        MPI_Bsend(from, 1, strided, 1, i, MPI_COMM_WORLD);
    else
        MPI_Bsend(from, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (kind == PERSISTENT)
        MPI_Request_free(&request);
}

static void run(enum kind kind, int bytes)
{
    size_t all = 2 * (size_t)bytes * MESSAGES;
    unsigned char *out = malloc(all), *in = malloc(all), seed = (unsigned char)(kind + 1);
    MPI_Datatype strided;
    MPI_Type_vector(bytes / 64, 64, 128, MPI_BYTE, &strided);
    MPI_Type_commit(&strided);
    for (size_t i = 0; i < all; i++)
        out[i] = (unsigned char)(seed + i / 128 % 7);
    for (int round = 0; round < ROUNDS; round++) {
        attach(room_for(MESSAGES + 1, bytes));
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == 0) {
            for (int i = 0; i < MESSAGES; i++)
                send_one(kind, out, bytes, i, strided);
            if (third)
                MPI_Bsend(out, bytes, MPI_BYTE, 2, 0, MPI_COMM_WORLD);
            for (int r = 1; r <= 1 + third; r++)
                MPI_Recv(NULL, 0, MPI_BYTE, r, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE); /* the messages have left */
            sleep_until_woken();
            double start = seconds();
            detach();
            CHECK(seconds() - start < SLEEP_S / 4.0, "kind %d, %d bytes: detaching took %.1f s",
                  (int)kind, bytes, seconds() - start);
            for (int r = 1; r <= 1 + third; r++)
                kill(process[r], SIGUSR1);
        } else if (test_rank == 1) {
            MPI_Probe(0, MESSAGES - 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            for (int i = 0; i < MESSAGES; i++)
                MPI_Recv(in + i * (size_t)bytes, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            kill(process[third ? 2 : 0], SIGUSR1);
            sleep_until_woken();
            detach();
            for (int i = 0; i < MESSAGES; i++)
                for (int b = 0; b < bytes; b += 64) {
                    size_t at =
                        kind == SAME ? (size_t)b : 2 * (size_t)bytes * (size_t)i + (size_t)b;
                    if (kind == STRIDED)
                        at += (size_t)b;
                    unsigned char got = in[i * (size_t)bytes + (size_t)b];
                    CHECK(got == out[at], "kind %d, message %d, byte %d", (int)kind, i, b);
                }
        } else if (test_rank == 2) {
            MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            sleep_until_woken();
            MPI_Recv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            kill(process[0], SIGUSR1);
            sleep_until_woken();
            detach();
            CHECK(!memcmp(in, out, (size_t)bytes), "kind %d, the third rank's", (int)kind);
        } else {
            detach();
        }
    }
    MPI_Type_free(&strided);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    expect_wake_up();
    test_begin(&argc, &argv);
    third = test_size > 2;
    for (int r = 0; r < 2 + third; r++) {
        process[r] = getpid();
        MPI_Bcast(&process[r], (int)sizeof process[r], MPI_BYTE, r, MPI_COMM_WORLD);
    }
    for (int kind = 0; kind < KINDS; kind++)
        for (int bytes = 16384; bytes <= 65536; bytes *= 4)
            run((enum kind)kind, bytes);
    return test_end();
}
