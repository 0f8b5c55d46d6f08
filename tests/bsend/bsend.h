/* Helpers of the tests of buffered sends. */
#ifndef BSEND_H
#define BSEND_H

#include "test.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Bytes of a message that the receiver copies directly from the sender's memory. */
enum { LONG = 64 << 10 };

static inline double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline void pause_ms(int ms)
{
    usleep((useconds_t)ms * 1000);
}

/* A rank that is not in MPI until another rank sends it SIGUSR1; it calls expect_wake_up() first.
 */
enum { SLEEP_S = 20 };

static inline sigset_t wake_up(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return set;
}

static inline void expect_wake_up(void)
{
    sigset_t set = wake_up();
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static inline void sleep_until_woken(void)
{
    sigset_t set = wake_up();
    CHECK(sigtimedwait(&set, NULL, &(struct timespec){.tv_sec = SLEEP_S}) == SIGUSR1,
          "woken, not after %d s", SLEEP_S);
}

static inline unsigned char byte_of(unsigned seed, int i)
{
    unsigned x = (seed * 2654435761u) ^ ((unsigned)i * 40503u);
    return (unsigned char)(x >> 7 ^ x);
}

static inline void fill(void *at, int bytes, unsigned seed)
{
    for (int i = 0; i < bytes; i++)
        ((unsigned char *)at)[i] = byte_of(seed, i);
}

/* The number of bytes that differ from fill(). */
static inline int wrong_bytes(const void *at, int bytes, unsigned seed)
{
    int wrong = 0;
    for (int i = 0; i < bytes; i++)
        wrong += ((const unsigned char *)at)[i] != byte_of(seed, i);
    return wrong;
}

static inline void attach(int bytes)
{
    void *buffer = malloc((size_t)bytes);
    CHECK_CLASS(MPI_Buffer_attach(buffer, bytes), MPI_SUCCESS);
}

static inline void detach(void)
{
    void *buffer;
    int bytes;
    CHECK_CLASS(MPI_Buffer_detach(&buffer, &bytes), MPI_SUCCESS);
    free(buffer);
}

/* The size that the standard requires of a buffer for so many messages. */
static inline int room_for(int messages, int bytes)
{
    int packed;
    MPI_Pack_size(bytes, MPI_BYTE, MPI_COMM_WORLD, &packed);
    return messages * (packed + MPI_BSEND_OVERHEAD);
}

/* Send the same data from the same buffer several times, each message received before the next.
 * From rank `from` to rank `to` of an intracommunicator. */
static inline void send_often(void *at, int bytes, int from, int to, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < 4; i++) {
        if (rank == from)
            MPI_Bsend(at, bytes, MPI_BYTE, to, 99, comm);
        if (rank == to)
            MPI_Recv(at, bytes, MPI_BYTE, from, 99, comm, MPI_STATUS_IGNORE);
        if (rank == from && from != to)
            MPI_Recv(NULL, 0, MPI_BYTE, to, 98, comm, MPI_STATUS_IGNORE);
        if (rank == to && from != to)
            MPI_Send(NULL, 0, MPI_BYTE, from, 98, comm);
    }
}

#endif
