/* Put and get of every type: each byte arrives, and no other changes. */
#include "shmem_test.h"

enum { COUNT = 23 };

static int next_pe, last_pe;

/* The value of element i of PE `pe`, of any type. */
#define VALUE(type, pe, i) ((type)((pe)*29 + (i)*3 + 1))

#define EACH(name, type)                                                                           \
    static void check_##name(void)                                                                 \
    {                                                                                              \
        type *remote = shmem_malloc((COUNT + 2) * sizeof *remote), local[COUNT + 2], mine[COUNT];  \
        for (int form = 0; form < 3; form++) {                                                     \
            for (int i = 0; i < COUNT; i++)                                                        \
                mine[i] = VALUE(type, test_rank, i);                                               \
            for (int i = 0; i < COUNT + 2; i++)                                                    \
                remote[i] = local[i] = (type)77;                                                   \
            shmem_barrier_all();                                                                   \
            if (form == 0)                                                                         \
                shmem_##name##_put(remote + 1, mine, COUNT, next_pe);                              \
            else if (form == 1)                                                                    \
                shmem_##name##_put_nbi(remote + 1, mine, COUNT, next_pe);                          \
            else                                                                                   \
                for (int i = 0; i < COUNT; i++)                                                    \
                    shmem_##name##_p(remote + 1 + i, mine[i], next_pe);                            \
            shmem_barrier_all();                                                                   \
            for (int i = 0; i < COUNT; i++)                                                        \
                CHECK(remote[i + 1] == VALUE(type, last_pe, i), #name " %d, form %d", i, form);    \
            CHECK(remote[0] == (type)77 && remote[COUNT + 1] == (type)77, #name);                  \
            if (form == 0)                                                                         \
                shmem_##name##_get(local + 1, remote + 1, COUNT, next_pe);                         \
            else if (form == 1)                                                                    \
                shmem_##name##_get_nbi(local + 1, remote + 1, COUNT, next_pe);                     \
            else                                                                                   \
                for (int i = 0; i < COUNT; i++)                                                    \
                    local[i + 1] = shmem_##name##_g(remote + 1 + i, next_pe);                      \
            shmem_quiet();                                                                         \
            CHECK(!memcmp(local + 1, mine, sizeof mine) || sizeof *mine == 16, #name);             \
            for (int i = 0; i < COUNT; i++)                                                        \
                CHECK(local[i + 1] == mine[i], #name " %d, form %d", i, form);                     \
            CHECK(local[0] == (type)77 && local[COUNT + 1] == (type)77, #name);                    \
            shmem_barrier_all();                                                                   \
        }                                                                                          \
        for (int i = 0; i < COUNT + 2; i++)                                                        \
            remote[i] = local[i] = (type)77;                                                       \
        shmem_barrier_all();                                                                       \
        shmem_##name##_iput(remote + 1, mine, 3, 2, 7, next_pe);                                   \
        shmem_barrier_all();                                                                       \
        for (int i = -1; i < COUNT + 1; i++)                                                       \
            CHECK(                                                                                 \
                remote[i + 1] ==                                                                   \
                    (i >= 0 && i < 21 && i % 3 == 0 ? VALUE(type, last_pe, i / 3 * 2) : (type)77), \
                #name " iput %d", i);                                                              \
        shmem_##name##_iget(local + 1, remote + 1, 2, 3, 7, next_pe);                              \
        for (int i = -1; i < COUNT + 1; i++)                                                       \
            CHECK(local[i + 1] ==                                                                  \
                      (i >= 0 && i < 14 && i % 2 == 0 ? VALUE(type, test_rank, i) : (type)77),     \
                  #name " iget %d", i);                                                            \
        shmem_free(remote);                                                                        \
    }
MPIACCEL_SHMEM_RMA_TYPES(EACH)
#undef EACH

#define EACH(bits)                                                                 \
    static void check_##bits(void)                                                 \
    {                                                                              \
        enum { BYTES = bits / 8 };                                                 \
        unsigned char *remote = shmem_malloc(COUNT * BYTES), local[COUNT * BYTES], \
                      mine[COUNT * BYTES];                                         \
        for (int form = 0; form < 3; form++) {                                     \
            fill(mine, sizeof mine, (unsigned)(test_rank + form));                 \
            memset(remote, 0, sizeof mine);                                        \
            memset(local, 0, sizeof local);                                        \
            shmem_barrier_all();                                                   \
            if (form == 0)                                                         \
                shmem_put##bits(remote, mine, COUNT, next_pe);                     \
            else if (form == 1)                                                    \
                shmem_put##bits##_nbi(remote, mine, COUNT, next_pe);               \
            else                                                                   \
                shmem_iput##bits(remote, mine, 1, 1, COUNT, next_pe);              \
            shmem_barrier_all();                                                   \
            CHECK(holds(remote, sizeof mine, (unsigned)(last_pe + form)), #bits);  \
            if (form == 0)                                                         \
                shmem_get##bits(local, remote, COUNT, next_pe);                    \
            else if (form == 1)                                                    \
                shmem_get##bits##_nbi(local, remote, COUNT, next_pe);              \
            else                                                                   \
                shmem_iget##bits(local, remote, 1, 1, COUNT, next_pe);             \
            shmem_quiet();                                                         \
            CHECK(!memcmp(local, mine, sizeof mine), #bits);                       \
            shmem_barrier_all();                                                   \
        }                                                                          \
        shmem_free(remote);                                                        \
    }
MPIACCEL_SHMEM_SIZES(EACH)
#undef EACH

/* No data, and sizes up to those that use non-temporal stores. */
static void check_bytes(void)
{
    enum { MOST = 20 << 20 };
    unsigned char *remote = shmem_malloc(MOST), *mine = malloc(MOST);
    for (size_t bytes = 1; bytes < MOST; bytes = bytes * 7 + 3) {
        fill(mine, bytes, (unsigned)test_rank);
        shmem_barrier_all();
        if (bytes % 2)
            shmem_putmem(remote, mine, bytes, next_pe);
        else
            shmem_putmem_nbi(remote, mine, bytes, next_pe);
        shmem_barrier_all();
        CHECK(holds(remote, bytes, (unsigned)last_pe), "%zu bytes", bytes);
        memset(mine, 0, bytes);
        if (bytes % 2)
            shmem_getmem(mine, remote, bytes, next_pe);
        else
            shmem_getmem_nbi(mine, remote, bytes, next_pe);
        shmem_quiet();
        CHECK(holds(mine, bytes, (unsigned)test_rank), "%zu bytes", bytes);
    }
    shmem_putmem(remote, mine, 0, next_pe);
    shmem_getmem(mine, remote, 0, next_pe);
    shmem_int_iput((int *)remote, (int *)mine, 1, 1, 0, next_pe);
    shmem_barrier_all();
    shmem_free(remote);
    free(mine);
}

/* A put, a fence and a flag: a PE that reads the flag reads the data. */
static void check_fence(void)
{
    enum { ROUNDS = 2000 };
    long *data = shmem_calloc(2, sizeof *data), *flag = shmem_calloc(1, sizeof *flag);
    for (long round = 1; round <= ROUNDS; round++) {
        shmem_long_p(&data[round % 2], round, next_pe);
        shmem_fence();
        shmem_long_p(flag, round, next_pe);
        shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
        CHECK(data[round % 2] == round, "round %ld: %ld", round, data[round % 2]);
        shmem_barrier_all();
    }
    shmem_free(data);
    shmem_free(flag);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    shmem_init();
    next_pe = (test_rank + 1) % test_size;
    last_pe = (test_rank + test_size - 1) % test_size;
#define EACH(name, type) check_##name();
    MPIACCEL_SHMEM_RMA_TYPES(EACH)
#undef EACH
#define EACH(bits) check_##bits();
    MPIACCEL_SHMEM_SIZES(EACH)
#undef EACH
    check_bytes();
    check_fence();
    shmem_finalize();
    return test_end();
}
