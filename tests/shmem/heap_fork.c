/* What a forked child writes to the symmetric heap is private to it (H6: fork). The child is not a
 * PE: an access to another PE ends the child, and not the job. */
#include "shmem_test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *block = shmem_malloc(100 * sizeof *block);
    int next = (test_rank + 1) % test_size;
    for (int i = 0; i < 100; i++)
        block[i] = i + test_rank;
    shmem_barrier_all();
    pid_t child = fork();
    if (!child) {
        bool good = block[7] == 7 + test_rank;
        for (int i = 0; i < 100; i++)
            block[i] = -1;
        void *more = shmem_malloc(10);
        good &= !more && malloc_error == MPIACCEL_MALLOC_NOT_HERE;
        good &= !shmem_ptr(block, next);
        _exit(good ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(status == 0, "the child ended with %x", status);
    char line[400] = "";
    int lines[2];
    if (pipe(lines))
        return 1;
    child = fork();
    if (!child) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        dup2(lines[1], STDERR_FILENO);
        shmem_int_p(block, -1, next);
        _exit(0);
    }
    close(lines[1]);
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "the child ended with %x", status);
    CHECK(read(lines[0], line, sizeof line - 1) > 0 &&
              strstr(line, "shmem_int_p: there is no symmetric heap: a forked child is not a PE"),
          "%s", line);
    shmem_barrier_all();
    for (int i = 0; i < 100; i++)
        CHECK(block[i] == i + test_rank && shmem_int_g(&block[i], next) == i + next, "%d", i);
    shmem_free(block);
    return test_end();
}
