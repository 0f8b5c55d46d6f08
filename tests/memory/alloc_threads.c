/* Four threads allocate blocks of random sizes, resize them by copying, and free them; some are
 * freed by another thread. A block keeps its contents until it is freed (H29: unusual allocations).
 */
#include "test.h"

#include <pthread.h>

enum { THREADS = 4, SLOTS = 64, SHARED = 32 };

static int steps = 20000;

struct piece {
    uint64_t *at;
    size_t words;
    uint64_t number;
};

/* Blocks that one thread passes to another. */
static struct piece handed[SHARED];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct worker {
    struct piece slots[SLOTS];
    uint64_t random, numbers;
    pthread_t thread;
};

static uint64_t draw(struct worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

/* Mostly small, rarely some MiB. */
static size_t draw_words(struct worker *w)
{
    static const unsigned bits[] = {3, 5, 7, 9, 9, 11, 13, 18};
    uint64_t r = draw(w);
    return (size_t)(1 + (r >> 8) % ((uint64_t)1 << bits[r % 8]));
}

static void write_number(struct piece *p)
{
    for (size_t i = 0; i < p->words; i += 1 + i / 8)
        p->at[i] = p->number + i;
    p->at[p->words - 1] = p->number + p->words - 1;
}

static void check_number(const struct piece *p, size_t words)
{
    for (size_t i = 0; i < words; i += 1 + i / 8)
        if (p->at[i] != p->number + i) {
            CHECK(false, "word %zu of %zu: %lx, not %lx", i, p->words, (long)p->at[i],
                  (long)(p->number + i));
            return;
        }
}

static void take(struct worker *w, struct piece *p)
{
    p->words = draw_words(w);
    p->number = ++w->numbers << 32;
    MPI_Alloc_mem((MPI_Aint)(p->words * sizeof *p->at), MPI_INFO_NULL, &p->at);
    write_number(p);
}

static void drop(struct piece *p)
{
    check_number(p, p->words);
    CHECK(p->at[p->words - 1] == p->number + p->words - 1, "last word");
    CHECK_CLASS(MPI_Free_mem(p->at), MPI_SUCCESS);
    p->at = NULL;
}

/* As realloc() would. */
static void resize(struct worker *w, struct piece *p)
{
    struct piece old = *p;
    p->words = draw_words(w);
    MPI_Alloc_mem((MPI_Aint)(p->words * sizeof *p->at), MPI_INFO_NULL, &p->at);
    size_t common = old.words < p->words ? old.words : p->words;
    memcpy(p->at, old.at, common * sizeof *p->at);
    drop(&old);
    check_number(p, common);
    write_number(p);
}

static void exchange(struct worker *w, struct piece *p)
{
    pthread_mutex_lock(&mutex);
    struct piece *other = &handed[draw(w) % SHARED], mine = *p;
    *p = *other;
    *other = mine;
    pthread_mutex_unlock(&mutex);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    for (int i = 0; i < steps; i++) {
        struct piece *p = &w->slots[draw(w) % SLOTS];
        unsigned what = draw(w) % 4;
        if (!p->at)
            take(w, p);
        else if (what == 0)
            exchange(w, p);
        else if (what == 1)
            resize(w, p);
        else
            drop(p);
    }
    for (int i = 0; i < SLOTS; i++)
        if (w->slots[i].at)
            drop(&w->slots[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    CHECK(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
    if (argc > 1)
        steps = atoi(argv[1]);
    for (int t = 0; t < THREADS; t++) {
        workers[t].random = 88172645463325252u + (uint64_t)(100 * test_rank + t);
        workers[t].numbers = (uint64_t)(t + 1) << 24;
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(workers[t].thread, NULL);
    for (int i = 0; i < SHARED; i++)
        if (handed[i].at)
            drop(&handed[i]);
    return test_end();
}
