/* Random calls of malloc's family in several threads, with forks in between. Each block has
 * contents of its own, which are checked before it is freed or resized, in the parent and in the
 * children.
 *
 * usage: malloc_random THREADS CALLS */
#include "where.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 60 };
struct worker {
    pthread_t thread;
    unsigned seed;
    long calls;
    struct {
        void *at;
        size_t size;
        unsigned seed;
    } block[BLOCKS];
};

static size_t any_size(unsigned *seed)
{
    return (size_t)1 << rand_r(seed) % 21 | (unsigned)rand_r(seed) % 4096;
}

static void *allocate(struct worker *w, size_t size)
{
    void *at = NULL;
    size_t align = (size_t)16 << rand_r(&w->seed) % 14;
    switch (rand_r(&w->seed) % 6) {
    case 0:
        at = calloc(size, 1);
        for (size_t i = 0; i < size; i += 64)
            CHECK(!((char *)at)[i]);
        return at;
    case 1:
        CHECK(!posix_memalign(&at, align, size) && (uintptr_t)at % align == 0);
        return at;
    case 2:
        return aligned_alloc(align, size);
    default:
        return malloc(size);
    }
}

static void change(struct worker *w, int i)
{
    size_t size = any_size(&w->seed), old = w->block[i].size;
    CHECK(!w->block[i].at || holds(w->block[i].at, old, w->block[i].seed), "%zu bytes", old);
    if (w->block[i].at && rand_r(&w->seed) % 3 == 0) {
        char *at = w->block[i].at = realloc(w->block[i].at, size);
        size_t kept = old < size ? old : size;
        for (size_t k = 0; k < kept && k < 256 && old - k >= 256; k++)
            CHECK(at[k] == (char)(w->block[i].seed + k));
    } else {
        free(w->block[i].at);
        w->block[i].at = allocate(w, size);
    }
    w->block[i].size = size;
    w->block[i].seed = (unsigned)rand_r(&w->seed);
    fill(w->block[i].at, size, w->block[i].seed);
}

static int child(struct worker *w)
{
    int before = test_failures;
    for (int n = 0; n < 200; n++)
        change(w, rand_r(&w->seed) % BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        CHECK(!w->block[i].at || holds(w->block[i].at, w->block[i].size, w->block[i].seed));
    return test_failures != before;
}

static void *work(void *worker)
{
    struct worker *w = worker;
    for (long n = 0; n < w->calls; n++) {
        change(w, rand_r(&w->seed) % BLOCKS);
        if (n % 5000 == 2500) {
            int status;
            pid_t pid = fork();
            if (!pid)
                _exit(child(w));
            CHECK(waitpid(pid, &status, 0) == pid && !status);
        }
    }
    for (int i = 0; i < BLOCKS; i++)
        free(w->block[i].at);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1, provided;
    struct worker *w = calloc((size_t)threads, sizeof *w);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < threads; i++) {
        w[i].seed = (unsigned)i + 1;
        w[i].calls = argc > 2 ? atol(argv[2]) : 20000;
        pthread_create(&w[i].thread, NULL, work, &w[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(w[i].thread, NULL);
    free(w);
    return test_end();
}
