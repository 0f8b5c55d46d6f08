/* Threads that write variables all the while: no write is lost when the pages move. */
#include "statics.h"

#include <pthread.h>
#include <signal.h>

enum { THREADS = 1 };

static struct {
    volatile long count;
    char apart[4088];
} counter[THREADS];
static _Atomic bool stop;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool told;

static void *count(void *which)
{
    long i = (long)which, n = 0;
    while (!stop)
        counter[i].count = ++n;
    return (void *)n;
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

int main(int argc, char **argv)
{
    pthread_t thread[THREADS], asleep;
    int provided;
    change_some();
    pthread_create(&asleep, NULL, sleeper, NULL);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, count, (void *)i);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    check_values();
    check_windows();
    stop = true;
    for (int i = 0; i < THREADS; i++) {
        void *written;
        pthread_join(thread[i], &written);
        CHECK(counter[i].count == (long)written, "%ld of %ld", counter[i].count, (long)written);
    }
    pthread_mutex_lock(&mutex);
    told = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    pthread_join(asleep, NULL);
    return test_end();
}
