/* A buffered send completes without its receiver, which is outside MPI until all messages have been
 * sent: it waits for a signal (H30: buffered sends). Fails if MPI_Bsend waits for the receiver. Two
 * more cases that Open MPI alone passes, because the sender waits there, must still pass: with
 * "little", the buffer is too small by the standard; with "leave", the sender makes no MPI call
 * until all messages have been received. */
#include "bsend.h"

#include <string.h>

enum { LATE_MS = 60 };

static unsigned char out[LONG], in[LONG];

static void send_one(int bytes, int to, int tag)
{
    fill(out, bytes, (unsigned)tag);
    MPI_Bsend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    memset(out, 0, (size_t)bytes);
}

static void receive(int bytes, int from, int tag)
{
    MPI_Status status;
    MPI_Recv(in, bytes, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_TAG == tag, "message %d after %d", status.MPI_TAG, tag - 1);
    CHECK(!wrong_bytes(in, bytes, (unsigned)tag), "%d bytes, message %d", bytes, tag);
}

static void send_and_receive(int messages, int bytes)
{
    for (int i = 0; i < messages && test_rank == 0; i++)
        send_one(bytes, 1, i);
    for (int i = 0; i < messages && test_rank == 1; i++)
        receive(bytes, 0, i);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Like send_one(), with each of the buffered calls in turn. */
static void send_somehow(int bytes, int to, int tag)
{
    MPI_Request request;
    if (tag % 3 == 0) {
        send_one(bytes, to, tag);
        return;
    }
    fill(out, bytes, (unsigned)tag);
    if (tag % 3 == 1) {
        MPI_Ibsend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Bsend_init(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    memset(out, 0, (size_t)bytes);
}

/* From rank 0 to rank 1, which sleeps, with a buffer that has been used. Ranks 0 and 2 continue;
 * rank 2 is not used with longer messages, because Open MPI has only 512 messages under way per
 * process. */
static void send_to_sleeper(int messages, int bytes)
{
    int sleeper = getpid();
    attach(room_for(messages, bytes));
    if (bytes <= 64 || test_size == 2)
        send_and_receive(messages, bytes);
    MPI_Bcast(&sleeper, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (test_rank == 1)
        sleep_until_woken();
    for (int i = 0; i < messages; i++) {
        if (test_rank == 0)
            send_somehow(bytes, 1, i);
        if (test_rank == 1)
            receive(bytes, 0, i);
        if (test_size < 3 || i % 8)
            continue;
        if (test_rank == 0) {
            MPI_Send(out, bytes, MPI_BYTE, 2, i, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_BYTE, 2, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (test_rank == 2) {
            MPI_Recv(in, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(in, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD);
        }
    }
    if (test_rank == 0)
        kill(sleeper, SIGUSR1);
    detach();
    MPI_Barrier(
        MPI_COMM_WORLD); /* MPICH's detach needs the receiver once more, so no rank sleeps yet */
}

/* MPI_Bsend to MPI_PROC_NULL, while messages of MPI_Ibsend to a rank that sleeps fill the buffer.
 */
static void send_to_nobody(int messages, int bytes)
{
    int sleeper = getpid();
    MPI_Request *request = malloc((size_t)messages * sizeof *request);
    attach(room_for(messages, bytes));
    MPI_Bcast(&sleeper, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (test_rank == 0) {
        for (int i = 0; i < messages; i++)
            MPI_Ibsend(out, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request[i]);
        for (int i = 0; i < messages; i++)
            MPI_Bsend(out, bytes, MPI_BYTE, MPI_PROC_NULL, i, MPI_COMM_WORLD);
        kill(sleeper, SIGUSR1);
        MPI_Waitall(messages, request, MPI_STATUSES_IGNORE);
    } else if (test_rank == 1) {
        sleep_until_woken();
        for (int i = 0; i < messages; i++)
            MPI_Recv(in, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    detach();
    free(request);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void send_to_self(int messages, int bytes)
{
    attach(room_for(messages, bytes));
    for (int i = 0; i < messages; i++)
        send_one(bytes, test_rank, i);
    for (int i = 0; i < messages; i++)
        receive(bytes, test_rank, i);
    detach();
}

static void send_with_little_room(int messages, int bytes, int fit)
{
    attach(room_for(fit, bytes));
    if (test_rank == 1)
        pause_ms(LATE_MS);
    send_and_receive(messages, bytes);
    detach();
}

static void send_and_leave(int messages, int bytes)
{
    int sender = getpid();
    attach(room_for(messages, bytes));
    MPI_Bcast(&sender, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (test_rank == 1)
        pause_ms(10 * LATE_MS);
    for (int i = 0; i < messages && test_rank == 0; i++)
        send_one(bytes, 1, i);
    for (int i = 0; i < messages && test_rank == 1; i++)
        receive(bytes, 0, i);
    if (test_rank == 1)
        kill(sender, SIGUSR1);
    if (test_rank == 0)
        sleep_until_woken();
    detach();
}

int main(int argc, char **argv)
{
    expect_wake_up();
    test_begin(&argc, &argv);
    if (argc > 1 && !strcmp(argv[1], "little")) {
        send_with_little_room(3000, 64, 30);
        send_with_little_room(3000, 4, 1);
        send_with_little_room(3000, 3000, 30);
    } else if (argc > 1 && !strcmp(argv[1], "leave")) {
        send_and_leave(700, 8);
        send_and_leave(700, 1000);
    } else {
        send_to_sleeper(2000, 8);
        send_to_sleeper(2000, 64);
        send_to_sleeper(2000, 1000);
        send_to_sleeper(1500, 4000);
        send_to_sleeper(1000, 16000);
        send_to_sleeper(700, LONG);
        send_to_nobody(2000, 1000);
        send_to_self(2000, 8);
        send_to_self(2000, 2000);
    }
    return test_end();
}
