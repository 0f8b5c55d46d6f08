/* Threads that write variables all the while: no write is lost when the pages move. So that each of
 * them would write between the copy and the move if it could, the copy takes its time. */
#include "statics.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { THREADS = 2 };

static struct {
    volatile long count, mark;
    char apart[4080];
} counter[THREADS] = {{.apart = {1}}}; /* in .data, so it is copied first */
static char bulk[1 << 20];             /* and this later */
static _Atomic bool stop;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool told;

/* Of the copy: whether it is under way, and who has noticed. Not in a variable that is copied. */
static struct {
    _Atomic bool begun;
    _Atomic int noticed;
} * copy;

static void *count(void *which)
{
    long i = (long)which, n = 0;
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

/* In the place of the C library's, by which pages are compared before they are copied. At the first
 * page after the counters, which have been copied by then, it waits until each thread has written
 * its mark; one that runs needs less than half a second for it. */
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

/* One that blocks all signals and sleeps on a variable. */
static void *sleeper(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_mutex_lock(&mutex);
    while (!told)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static bool is_shared(const void *at)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    unsigned long start = 0, end;
    bool shared = false;
    while (!shared && fgets(line, sizeof line, maps))
        shared = sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)at >= start &&
                 (uintptr_t)at < end && strstr(line, " rw-s ");
    fclose(maps);
    return shared;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS], asleep;
    int provided;
    change_some();
    memset(bulk, 1, sizeof bulk);
    copy = calloc(1, sizeof *copy);
    pthread_create(&asleep, NULL, sleeper, NULL);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, count, (void *)i);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    check_values();
    check_windows();
    CHECK(copy->begun == is_shared(bulk), "the test has missed the copy");
    while (copy->begun && copy->noticed < THREADS)
        usleep(1000);
    CHECK(bulk[0] == 1 && bulk[sizeof bulk - 1] == 1);
    stop = true;
    for (int i = 0; i < THREADS; i++) {
        void *written;
        pthread_join(thread[i], &written);
        CHECK(counter[i].mark == copy->begun, "what thread %d wrote is lost", i);
        CHECK(counter[i].count == (long)written, "%ld of %ld", counter[i].count, (long)written);
    }
    pthread_mutex_lock(&mutex);
    told = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    pthread_join(asleep, NULL);
    return test_end();
}
