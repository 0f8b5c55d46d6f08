/* Both PEs access memory that is not symmetric, or not mapped. Argument: which. */
#include "shmem_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void in_child(long *local)
{
    pid_t child = fork();
    int status = 0;
    if (!child) {
        shmem_long_p(local, 1, test_next());
        _exit(0);
    }
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%x", (unsigned)status);
}

int main(int argc, char **argv)
{
    long local = 0;
    const char *what = argc > 1 ? argv[1] : "";
    test_begin(&argc, &argv);
    if (strcmp(what, "omitted") != 0 && strncmp(what, "child", 5) != 0)
        shmem_init();
    if (!strcmp(what, "child first")) {
        in_child(&local);
        return test_end();
    }
    long *block = shmem_malloc(100 * sizeof *block);
    if (!strcmp(what, "local") || !strcmp(what, "omitted"))
        shmem_long_p(&local, 1, test_next());
    else if (!strcmp(what, "beyond"))
        shmem_putmem(block, block, (size_t)1 << 46, test_next());
    else if (!strcmp(what, "nobody"))
        shmem_long_atomic_inc(block, test_size);
    else if (!strcmp(what, "overflow")) /* 8 bytes, if undetected */
        shmem_long_put(block, block, SIZE_MAX / 8 + 2, test_next());
    else if (!strcmp(what, "stride")) /* and on this PE */
        shmem_long_iput(block, block, (ptrdiff_t)1 << 60, 1, 3, test_next());
    else if (!strcmp(what, "nothing")) /* of zero bytes: permitted */
        shmem_putmem(&local, &local, 0, test_next());
    else if (!strcmp(what, "child")) /* ends itself, and not the job */
        in_child(&local);
    else if (!strcmp(what, "late")) {
        shmem_finalize();
        local = shmem_long_g(block, test_next());
    }
    return test_end();
}
