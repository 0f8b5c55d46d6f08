/* What a child of fork writes to the symmetric heap is its own (H6), and it is no PE. */
#include "shmem_test.h"

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
    shmem_barrier_all();
    for (int i = 0; i < 100; i++)
        CHECK(block[i] == i + test_rank && shmem_int_g(&block[i], next) == i + next, "%d", i);
    shmem_free(block);
    return test_end();
}
