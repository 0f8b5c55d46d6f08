/* Threads that write static variables before MPI_Init and all the while: their pages cannot be
 * moved without losing a write, so they stay private, and windows over them are left to the host.
 */
#include "statics.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 2 };

static struct {
    volatile long count, mark;
    char padding[4080];
} counter[THREADS] = {{.padding = {1}}}; /* in .data, so it would be copied first */
static char bulk[1 << 20];               /* and this later */
static _Atomic bool stop;

/* The copy that must not begin. This is allocated, since a static variable would be copied itself.
 */
static struct {
    _Atomic bool begun;
    _Atomic int noticed;
} * copy;

static void *count(void *number)
{
    long i = (long)number, n = 0;
    bool marked = false;
    while (!stop) {
        counter[i].count++, n++;
        if (!marked && copy->begun) {
            counter[i].mark = marked = true; /* written once: if it is lost it stays lost */
            copy->noticed++;
        }
    }
    return (void *)n;
}

/* Replaces the function of the C library, with which libmpiaccel compares pages before it copies
 * them. If it moved them, this function would wait at the first page after the counters, which are
 * copied by then, until each thread has written its mark, and the mark would be lost. */
int memcmp(const void *a, const void *b, size_t bytes)
{
    const volatile unsigned char *x = a, *y = b;
    if (copy && !copy->begun && x >= (unsigned char *)bulk &&
        x < (unsigned char *)bulk + sizeof bulk) {
        copy->begun = true;
        for (int ms = 0; ms < 500 && copy->noticed < THREADS; ms++)
            usleep(1000);
    }
    for (size_t i = 0; i < bytes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    int provided;
    change_some();
    memset(bulk, 1, sizeof bulk);
    copy = calloc(1, sizeof *copy);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, count, (void *)i);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    check_values();
    check_window(zeroes, sizeof zeroes);
    check_window(bulk, sizeof bulk);
    CHECK(!copy->begun && !is_shared(bulk), "pages moved while other threads ran");
    CHECK(bulk[0] == 1 && bulk[sizeof bulk - 1] == 1);
    stop = true;
    for (int i = 0; i < THREADS; i++) {
        void *written;
        pthread_join(thread[i], &written);
        CHECK(counter[i].mark == copy->begun, "what thread %d wrote is lost", i);
        CHECK(counter[i].count == (long)written, "%ld of %ld", counter[i].count, (long)written);
    }
    return test_end();
}
