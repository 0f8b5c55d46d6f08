/* fork() in a thread that has been cancelled. It is no cancellation point, so the thread ends only
 * afterwards, and leaves no lock behind that the next fork() would wait for. */
#ifndef CANCELLED_FORK_H
#define CANCELLED_FORK_H

#include "test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *fork_when_cancelled(void *child)
{
    pthread_cancel(pthread_self());
    pid_t pid = fork();
    if (!pid)
        _exit(0);
    *(pid_t *)child = pid;
    pthread_testcancel();
    return child;
}

static inline void check_cancelled_fork(void)
{
    pthread_t thread;
    pid_t child = -1;
    void *result;
    int status;
    CHECK(!pthread_create(&thread, NULL, fork_when_cancelled, &child));
    CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
}

#endif
