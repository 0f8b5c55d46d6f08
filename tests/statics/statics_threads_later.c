/* Threads that start after MPI_Init and write static variables all the while: windows over these
 * variables are fast, and threads and peers see each other's writes. */
#include "statics.h"

#include <pthread.h>
#include <sched.h>

enum { ROUNDS = 200 };

static struct {
    volatile long request; /* written by the peer */
    volatile long reply;   /* written by the thread */
    volatile long count;   /* the same */
} box;
static _Atomic bool stop;

static void *serve(void *unused)
{
    while (!stop) {
        box.count++;
        if (box.reply != box.request) {
            box.count++; /* after the peer has read it */
            box.reply = box.request;
        }
        if (box.count % 1000 == 0)
            sched_yield();
    }
    return unused;
}

static long get(int target, MPI_Aint displacement, MPI_Win win)
{
    long value;
    MPI_Get(&value, 1, MPI_LONG, target, displacement, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    return value;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int provided;
    change_some();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    check_values();
    pthread_create(&thread, NULL, serve, NULL);
    MPI_Win win = window_over((void *)&box, sizeof box, sizeof(long));
    int next = test_next();
    MPI_Win_lock_all(0, win);
    for (long round = 1; round <= ROUNDS; round++) {
        long before = get(next, 2, win);
        MPI_Put(&round, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
        MPI_Win_flush(next, win);
        while (get(next, 1, win) != round)
            sched_yield();
        CHECK(get(next, 2, win) > before, "round %ld: the thread's counter does not grow", round);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(box.request == ROUNDS && box.reply == ROUNDS);
    stop = true;
    pthread_join(thread, NULL);
    MPI_Win_free(&win);
    check_windows();
    check_values();
    return test_end();
}
