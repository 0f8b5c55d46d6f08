/* Atomics of every type: their results, the values they leave, and that no update is lost when all
 * PEs use one variable. */
#include "shmem_test.h"

enum { ROUNDS = 500 };

/* By PE 0, on PE `next`. */
#define FETCHING(name, type, fetch, set, swap)                                     \
    {                                                                              \
        type *remote = shmem_calloc(1, sizeof *remote);                            \
        if (test_rank == 0) {                                                      \
            shmem_##name##_##set(remote, (type)5, next);                           \
            CHECK(shmem_##name##_##fetch(remote, next) == (type)5, #name);         \
            CHECK(shmem_##name##_##swap(remote, (type)9, next) == (type)5, #name); \
        }                                                                          \
        shmem_barrier_all();                                                       \
        CHECK(shmem_##name##_##fetch(remote, next) == (type)9, #name);             \
        CHECK(test_rank != next || *remote == (type)9, #name);                     \
        shmem_free(remote);                                                        \
    }

#define COUNTING(name, type, finc, inc, fadd, add, cswap)                             \
    {                                                                                 \
        type *count = shmem_calloc(2, sizeof *count);                                 \
        type seen = 0;                                                                \
        for (int i = 0; i < ROUNDS; i++) {                                            \
            shmem_##name##_##inc(count, 0);                                           \
            shmem_##name##_##add(count, (type)2, 0);                                  \
            type a = shmem_##name##_##finc(count, 0),                                 \
                 b = shmem_##name##_##fadd(count, (type)3, 0);                        \
            CHECK(i == 0 || a > seen, #name);                                         \
            CHECK(b > a, #name);                                                      \
            seen = b;                                                                 \
            type old = shmem_##name##_g(count + 1, 0), now;                           \
            while ((now = shmem_##name##_##cswap(count + 1, old, old + 1, 0)) != old) \
                old = now;                                                            \
        }                                                                             \
        shmem_barrier_all();                                                          \
        CHECK(shmem_##name##_g(count, 0) == (type)(7 * ROUNDS * test_size), #name);   \
        CHECK(shmem_##name##_g(count + 1, 0) == (type)(ROUNDS * test_size), #name);   \
        shmem_barrier_all();                                                          \
        shmem_free(count);                                                            \
    }

#define BITS(name, type)                                                            \
    {                                                                               \
        type *bits = shmem_calloc(1, sizeof *bits), mine = (type)1 << test_rank;    \
        type all = (type)(((type)1 << test_size) - 1);                              \
        CHECK(!(shmem_##name##_atomic_fetch_or(bits, mine, 0) & mine), #name);      \
        shmem_barrier_all();                                                        \
        CHECK(shmem_##name##_atomic_fetch(bits, 0) == all, #name);                  \
        shmem_barrier_all();                                                        \
        CHECK(shmem_##name##_atomic_fetch_xor(bits, mine, 0) & mine, #name);        \
        shmem_##name##_atomic_xor(bits, mine, 0);                                   \
        CHECK(shmem_##name##_atomic_fetch_and(bits, (type)~mine, 0) & mine, #name); \
        shmem_barrier_all();                                                        \
        CHECK(shmem_##name##_atomic_fetch(bits, 0) == 0, #name);                    \
        shmem_barrier_all();                                                        \
        shmem_##name##_atomic_or(bits, mine, 0);                                    \
        shmem_barrier_all();                                                        \
        CHECK(shmem_##name##_atomic_fetch(bits, 0) == all, #name);                  \
        shmem_barrier_all();                                                        \
        shmem_##name##_atomic_and(bits, (type)~mine, 0);                            \
        shmem_barrier_all();                                                        \
        CHECK(shmem_##name##_atomic_fetch(bits, 0) == 0, #name);                    \
        shmem_free(bits);                                                           \
    }

/* Each comparison, true and false; a wait ends after another PE's put. */
#define WAITING(name, type)                                                         \
    {                                                                               \
        type *word = shmem_malloc(sizeof *word);                                    \
        *word = 5;                                                                  \
        static const struct {                                                       \
            int compare;                                                            \
            bool with[3]; /* with 4, 5, 6 */                                        \
        } cases[] = {{SHMEM_CMP_EQ, {0, 1, 0}}, {SHMEM_CMP_NE, {1, 0, 1}},          \
                     {SHMEM_CMP_GT, {1, 0, 0}}, {SHMEM_CMP_GE, {1, 1, 0}},          \
                     {SHMEM_CMP_LT, {0, 0, 1}}, {SHMEM_CMP_LE, {0, 1, 1}}};         \
        for (int c = 0; c < 6; c++)                                                 \
            for (int v = 0; v < 3; v++)                                             \
                CHECK(shmem_##name##_test(word, cases[c].compare, (type)(4 + v)) == \
                          cases[c].with[v],                                         \
                      #name " %d %d", c, v);                                        \
        shmem_barrier_all();                                                        \
        for (int i = 0; i < 20; i++) {                                              \
            shmem_##name##_p(word, (type)(20 + i), test_next());                    \
            shmem_##name##_wait_until(word, SHMEM_CMP_GE, (type)(20 + i));          \
            CHECK(*word >= (type)(20 + i));                                         \
            shmem_barrier_all();                                                    \
        }                                                                           \
        shmem_free(word);                                                           \
    }

/* Enough iterations for the PEs to run concurrently at some time, on a busy machine too. */
static void nothing_is_lost_in_the_long_run(void)
{
    long *count = shmem_calloc(1, sizeof *count), mine = 0, all;
    for (double end = MPI_Wtime() + 0.2; MPI_Wtime() < end; mine += 1000)
        for (int i = 0; i < 1000; i++)
            shmem_long_atomic_inc(count, 0);
    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(shmem_long_g(count, 0) == all, "%ld of %ld", shmem_long_g(count, 0), all);
    shmem_barrier_all();
    shmem_free(count);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    shmem_init();
    int next = 1 % test_size;
#define EACH(name, type) FETCHING(name, type, atomic_fetch, atomic_set, atomic_swap)
    MPIACCEL_SHMEM_ATOMIC_TYPES(EACH)
    MPIACCEL_SHMEM_REAL_TYPES(EACH)
#undef EACH
#define EACH(name, type)                                                             \
    COUNTING(name, type, atomic_fetch_inc, atomic_inc, atomic_fetch_add, atomic_add, \
             atomic_compare_swap)
    MPIACCEL_SHMEM_ATOMIC_TYPES(EACH)
#undef EACH
    MPIACCEL_SHMEM_BITWISE_TYPES(BITS)
#define EACH(name, type) FETCHING(name, type, fetch, set, swap)
    MPIACCEL_SHMEM_SIGNED_TYPES(EACH)
    MPIACCEL_SHMEM_REAL_TYPES(EACH)
#undef EACH
#define EACH(name, type) COUNTING(name, type, finc, inc, fadd, add, cswap)
    MPIACCEL_SHMEM_SIGNED_TYPES(EACH)
#undef EACH
    MPIACCEL_SHMEM_WAIT_TYPES(WAITING)
    nothing_is_lost_in_the_long_run();
    shmem_finalize();
    return test_end();
}
