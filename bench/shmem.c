/* The OpenSHMEM calls over the symmetric heap, which only the library has. They are compared with
 * the host's one-sided calls of the same effect, and, as the floor, with the library's own
 * one-sided calls on an accelerated window. PE 0 accesses PE 1's memory. */
#include "bench.h"
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

static struct {
    void *(*shmem_malloc)(size_t size);
    void (*shmem_free)(void *block);
    void (*shmem_long_p)(long *to, long value, int pe);
    long (*shmem_long_g)(const long *from, int pe);
    long (*shmem_long_atomic_fetch_add)(long *to, long value, int pe);
    void (*shmem_putmem)(void *to, const void *from, size_t bytes, int pe);
    void (*shmem_quiet)(void);
} call;

enum { BLOCK = 64 << 10 };

static long *block[2]; /* in the symmetric heap, and of the host */
static MPI_Win win[2];
static char local[BLOCK];

bool shmem_is_here(void)
{
#define FIND(name) (call.name = (__typeof__(call.name))dlsym(RTLD_DEFAULT, #name))
    return FIND(shmem_malloc) && FIND(shmem_free) && FIND(shmem_long_p) && FIND(shmem_long_g) &&
           FIND(shmem_long_atomic_fetch_add) && FIND(shmem_putmem) && FIND(shmem_quiet);
#undef FIND
}

/* ---- by one-sided calls: the host's, or the library's ---- */

static void put_by(int way, long n, size_t bytes)
{
    for (; n; n--)
        api[way].Put(local, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win[way]);
    api[way].Win_flush(1, win[way]);
}

static void put_flush_by(int way, long n, size_t bytes)
{
    for (; n; n--)
        put_by(way, 1, bytes);
}

static void get_by(int way, long n, size_t bytes)
{
    (void)bytes;
    for (; n; n--) {
        api[way].Get(local, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

static void add_by(int way, long n, size_t bytes)
{
    long one = 1, old;
    (void)bytes;
    for (; n; n--) {
        api[way].Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, win[way]);
        api[way].Win_flush(1, win[way]);
    }
}

#define FAST_PATH(name)                                    \
    static void fast_##name(int way, long n, size_t bytes) \
    {                                                      \
        (void)way;                                         \
        name##_by(LIBRARY, n, bytes);                      \
    }
FAST_PATH(put)
FAST_PATH(put_flush)
FAST_PATH(get)
FAST_PATH(add)

/* ---- by OpenSHMEM's ---- */

static void p(int way, long n, size_t bytes)
{
    if (way == HOST) {
        put_by(HOST, n, bytes);
        return;
    }
    for (; n; n--)
        call.shmem_long_p(block[LIBRARY], n, 1);
    call.shmem_quiet();
}

static void p_quiet(int way, long n, size_t bytes)
{
    for (; n; n--)
        p(way, 1, bytes);
}

static void g(int way, long n, size_t bytes)
{
    if (way == HOST)
        get_by(HOST, n, bytes);
    else
        for (; n; n--)
            call.shmem_long_g(block[LIBRARY], 1);
}

static void fetch_add(int way, long n, size_t bytes)
{
    if (way == HOST)
        add_by(HOST, n, bytes);
    else
        for (; n; n--)
            call.shmem_long_atomic_fetch_add(block[LIBRARY], 1, 1);
}

static void putmem(int way, long n, size_t bytes)
{
    if (way == HOST)
        put_by(HOST, n, bytes);
    else
        for (; n; n--)
            call.shmem_putmem(block[LIBRARY], local, bytes, 1);
}

static const struct cell cells[] = {
    {.name = "p 8 B", .run = p, .floor = fast_put, .bytes = 8, .alone = true},
    {.name = "p 8 B + quiet", .run = p_quiet, .floor = fast_put_flush, .bytes = 8, .alone = true},
    {.name = "g 8 B", .run = g, .floor = fast_get, .bytes = 8, .alone = true},
    {.name = "fetch_add 8 B", .run = fetch_add, .floor = fast_add, .bytes = 8, .alone = true},
    {.name = "putmem 64 B", .run = putmem, .floor = fast_put, .bytes = 64, .alone = true},
    {.name = "putmem 64 KiB", .run = putmem, .floor = fast_put, .bytes = BLOCK, .alone = true},
};

static void run(void)
{
    block[LIBRARY] = call.shmem_malloc(BLOCK);
    api[HOST].Alloc_mem(BLOCK, MPI_INFO_NULL, &block[HOST]);
    for (int w = LIBRARY; w <= HOST; w++) {
        memset(block[w], 0, BLOCK);
        api[w].Win_create(block[w], BLOCK, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[w]);
        api[w].Win_lock_all(0, win[w]);
    }
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        if (wanted(cells[c].name)) {
            struct result r = measure(&cells[c]);
            report(&r);
        }
    for (int w = LIBRARY; w <= HOST; w++) {
        api[w].Win_unlock_all(win[w]);
        api[w].Win_free(&win[w]);
    }
    api[HOST].Free_mem(block[HOST]);
    call.shmem_free(block[LIBRARY]);
}

const struct part shmem_part = {"shmem", run};
