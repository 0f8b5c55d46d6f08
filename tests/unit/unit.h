/* What the unit tests share. A unit test is one Check program that knows the modules and no MPI;
 * its ranks are threads, so that ThreadSanitizer sees the protocols, or forked processes.
 *
 * Check's assertions jump out of the case, so they are for the main thread. Threads and children
 * use EXPECT, which counts failures; no_failures() then ends the case. */
#ifndef UNIT_H
#define UNIT_H

#include "core/sync.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static _Atomic int unit_failures;

#define EXPECT(condition, ...)                                             \
    do {                                                                   \
        if (!(condition) && atomic_fetch_add(&unit_failures, 1) < 10) {    \
            fprintf(stderr, "%s:%d: %s:", __FILE__, __LINE__, #condition); \
            fprintf(stderr, " " __VA_ARGS__);                              \
            fputc('\n', stderr);                                           \
        }                                                                  \
    } while (0)

static inline void no_failures(void)
{
    int failures = atomic_exchange(&unit_failures, 0);
    ck_assert_msg(failures == 0, "%d expectations failed", failures);
}

/* An assertion of the main thread for loops: Check's own make a system call each. */
#define INSIST(condition, ...)         \
    do {                               \
        if (!(condition))              \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)

/* End the case where the system does not have what it tests. */
#define SKIP_UNLESS(condition, ...)              \
    do {                                         \
        if (!(condition)) {                      \
            printf("%s is skipped: ", __func__); \
            printf(__VA_ARGS__);                 \
            putchar('\n');                       \
            return;                              \
        }                                        \
    } while (0)

/* Sandboxes, and QEMU's emulation of a processor, do not have the call. */
static inline bool has_process_vm_readv(void)
{
    char from = 1, to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0) == 1 ||
           errno != ENOSYS;
}
#define SKIP_UNLESS_PROCESS_VM_READV() \
    SKIP_UNLESS(has_process_vm_readv(), "there is no process_vm_readv")

/* How often to repeat a random step: `rounds` times, or the percentage of `rounds` that UNIT_EFFORT
 * contains. */
static inline unsigned effort(unsigned rounds)
{
    const char *text = getenv("UNIT_EFFORT");
    unsigned long percent = text ? strtoul(text, NULL, 10) : 100;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    percent = percent / 4;
#endif
    unsigned long some = rounds * percent / 100;
    return some ? (unsigned)some : 1;
}

/* ---- chance: the same at every run ---- */

struct chance {
    uint64_t state;
};

static inline uint64_t any(struct chance *c)
{
    uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 .. n - 1 */
static inline unsigned below(struct chance *c, unsigned n)
{
    return (unsigned)(any(c) % n);
}

/* ---- time ---- */

static inline void sleep_us(unsigned us)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static inline void spin_ns(uint64_t ns)
{
    uint64_t start = sync_now_ns();
    while (sync_now_ns() - start < ns)
        ;
}

/* Disorder: mostly nothing, sometimes a while, sometimes another thread's turn. */
static inline void dawdle(struct chance *c)
{
    switch (below(c, 16)) {
    case 0:
        sched_yield();
        break;
    case 1:
        sleep_us(below(c, 100));
        break;
    case 2:
    case 3:
        spin_ns(below(c, 3000));
        break;
    default:
        break;
    }
}

/* ---- ranks as threads ---- */

enum { UNIT_RANKS_MAX = 64 };
typedef void rank_fn(unsigned rank);

static struct {
    pthread_barrier_t barrier;
    rank_fn *function;
    unsigned size;
} unit_ranks;

static inline void all_here(void)
{
    pthread_barrier_wait(&unit_ranks.barrier);
}

/* A rank's part in many meetings of all. */
struct meeting {
    struct chance chance;
    uint32_t times;
};
static _Atomic uint32_t unit_met;

/* All leave at nearly the same time, now this one first, now that one: for two steps of two ranks
 * that must not overlook each other. */
static inline void leave_together(struct meeting *mine)
{
    uint32_t goal = unit_ranks.size * ++mine->times;
    unsigned delay = below(&mine->chance, 64);
    atomic_fetch_add(&unit_met, 1);
    for (unsigned i = 0; atomic_load(&unit_met) < goal; i++)
        if (i > 1000)
            sched_yield();
    while (delay--)
        __asm__ volatile("");
}

static inline void *unit_rank(void *number)
{
    all_here();
    unit_ranks.function((unsigned)(uintptr_t)number);
    return NULL;
}

/* Run `function` as ranks 0 .. size - 1 and fail if any of them did. */
static inline void as_ranks(unsigned size, rank_fn *function)
{
    pthread_t thread[UNIT_RANKS_MAX];
    ck_assert_uint_le(size, UNIT_RANKS_MAX);
    pthread_barrier_init(&unit_ranks.barrier, NULL, size);
    unit_ranks.function = function;
    unit_ranks.size = size;
    atomic_store(&unit_met, 0);
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(pthread_create(&thread[r], NULL, unit_rank, (void *)(uintptr_t)r), 0);
    for (unsigned r = 0; r < size; r++)
        pthread_join(thread[r], NULL);
    pthread_barrier_destroy(&unit_ranks.barrier);
    no_failures();
}

/* ---- the program ---- */

static inline int unit_main(const char *name, const TTest *const cases[], size_t count)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    Suite *suite = suite_create(name);
    for (size_t i = 0; i < count; i++) {
        TCase *one = tcase_create(cases[i]->name);
        tcase_set_timeout(one, 0); /* tests/run has a limit, and shows where it hangs */
        tcase_add_test(one, cases[i]);
        suite_add_tcase(suite, one);
    }
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

/* One case each; CK_RUN_CASE=name runs only that one. */
#define UNIT_MAIN(...)                                                  \
    int main(int argc, char **argv)                                     \
    {                                                                   \
        (void)argc;                                                     \
        const TTest *const cases[] = {__VA_ARGS__};                     \
        return unit_main(argv[0], cases, sizeof cases / sizeof *cases); \
    }

#endif
