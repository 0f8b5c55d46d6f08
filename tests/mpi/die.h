/* Programs that end abnormally, for tests/memory/killed. */
#ifndef DIE_H
#define DIE_H

#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Append this process's id to the file DIE_PIDS, so that the script can wait for its end. */
static inline void note_pid(void)
{
    const char *path = getenv("DIE_PIDS");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd >= 0) {
        dprintf(fd, "%d\n", getpid());
        close(fd);
    }
}

static inline void die(void)
{
    kill(getpid(), SIGKILL);
}

#endif
