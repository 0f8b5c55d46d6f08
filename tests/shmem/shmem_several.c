/* Waiting for and testing several variables (OpenSHMEM 1.5, 9.10.2 to 9.10.13): which elements
 * count, the results, and that each true element is returned eventually. */
#include "shmem_test.h"

enum { COUNT = 5 };

static const int none[COUNT] = {1, 1, 1, 1, 1};

/* 10, 11, 12, 13, 14; 11 and 13 are excluded where a status array is passed. */
static const int odd_out[COUNT] = {0, 1, 0, 1, 0};

static bool is_set(const size_t *index, size_t found, unsigned expected)
{
    unsigned seen = 0;
    for (size_t i = 0; i < found; i++) {
        if (index[i] >= COUNT || seen & 1u << index[i])
            return false;
        seen |= 1u << index[i];
    }
    return seen == expected;
}

#define EMPTY(name, type)                                                                          \
    {                                                                                              \
        type word[COUNT] = {0};                                                                    \
        const type values[COUNT] = {0};                                                            \
        size_t index[COUNT];                                                                       \
        for (int way = 0; way < 2; way++) {                                                        \
            size_t count = way ? COUNT : 0;                                                        \
            const int *status = way ? none : NULL;                                                 \
            CHECK(shmem_##name##_test_all(word, count, status, SHMEM_CMP_NE, 0) == 1);             \
            CHECK(shmem_##name##_test_all_vector(word, count, status, SHMEM_CMP_NE, values) == 1); \
            CHECK(shmem_##name##_test_any(word, count, status, SHMEM_CMP_EQ, 0) == SIZE_MAX);      \
            CHECK(shmem_##name##_test_any_vector(word, count, status, SHMEM_CMP_EQ, values) ==     \
                  SIZE_MAX);                                                                       \
            CHECK(!shmem_##name##_test_some(word, count, index, status, SHMEM_CMP_EQ, 0));         \
            CHECK(!shmem_##name##_test_some_vector(word, count, index, status, SHMEM_CMP_EQ,       \
                                                   values));                                       \
            shmem_##name##_wait_until_all(word, count, status, SHMEM_CMP_NE, 0);                   \
            shmem_##name##_wait_until_all_vector(word, count, status, SHMEM_CMP_NE, values);       \
            CHECK(shmem_##name##_wait_until_any(word, count, status, SHMEM_CMP_EQ, 0) ==           \
                  SIZE_MAX);                                                                       \
            CHECK(shmem_##name##_wait_until_any_vector(word, count, status, SHMEM_CMP_EQ,          \
                                                       values) == SIZE_MAX);                       \
            CHECK(!shmem_##name##_wait_until_some(word, count, index, status, SHMEM_CMP_EQ, 0));   \
            CHECK(!shmem_##name##_wait_until_some_vector(word, count, index, status, SHMEM_CMP_EQ, \
                                                         values));                                 \
        }                                                                                          \
    }

#define HERE(name, type)                                                                         \
    {                                                                                            \
        type word[COUNT] = {10, 11, 12, 13, 14};                                                 \
        const type values[COUNT] = {10, 0, 13, 13, 0};                                           \
        size_t index[COUNT], found;                                                              \
        CHECK(shmem_##name##_test_all(word, COUNT, NULL, SHMEM_CMP_GE, 10) == 1);                \
        CHECK(shmem_##name##_test_all(word, COUNT, NULL, SHMEM_CMP_GT, 10) == 0);                \
        CHECK(shmem_##name##_test_all(word, COUNT, NULL, SHMEM_CMP_LT, 14) == 0);                \
        CHECK(shmem_##name##_test_all(word, 4, NULL, SHMEM_CMP_LT, 14) == 1);                    \
        CHECK(shmem_##name##_test_all(word, COUNT, odd_out, SHMEM_CMP_NE, 13) == 1);             \
        CHECK(shmem_##name##_test_all(word, COUNT, odd_out, SHMEM_CMP_NE, 12) == 0);             \
        CHECK(shmem_##name##_test_all_vector(word, COUNT, NULL, SHMEM_CMP_GE, values) == 0);     \
        CHECK(shmem_##name##_test_all_vector(word + 3, 2, NULL, SHMEM_CMP_GE, values + 3) == 1); \
        CHECK(shmem_##name##_test_any(word, COUNT, NULL, SHMEM_CMP_EQ, 13) == 3);                \
        CHECK(shmem_##name##_test_any(word, COUNT, odd_out, SHMEM_CMP_EQ, 13) == SIZE_MAX);      \
        CHECK(shmem_##name##_test_any_vector(word, 3, NULL, SHMEM_CMP_LT, values) == 2);         \
        found = shmem_##name##_test_some(word, COUNT, index, NULL, SHMEM_CMP_LE, 12);            \
        CHECK(found == 3 && is_set(index, found, 7));                                            \
        found = shmem_##name##_test_some(word, COUNT, index, odd_out, SHMEM_CMP_GT, 10);         \
        CHECK(found == 2 && is_set(index, found, 4 | 16));                                       \
        found = shmem_##name##_test_some_vector(word, COUNT, index, NULL, SHMEM_CMP_EQ, values); \
        CHECK(found == 2 && is_set(index, found, 1 | 8));                                        \
        CHECK(shmem_##name##_wait_until_any(word, COUNT, odd_out, SHMEM_CMP_GE, 14) == 4);       \
        found = shmem_##name##_wait_until_some(word, COUNT, index, odd_out, SHMEM_CMP_LE, 13);   \
        CHECK(found == 2 && is_set(index, found, 1 | 4));                                        \
        /* none is skipped for ever */                                                           \
        unsigned seen = 0;                                                                       \
        for (int i = 0; i < 10000 && seen != (1 | 4 | 16); i++)                                  \
            seen |= 1u << shmem_##name##_test_any(word, COUNT, odd_out, SHMEM_CMP_GE, 10);       \
        CHECK(seen == (1 | 4 | 16), #name ": %x", seen);                                         \
        seen = 0;                                                                                \
        for (int i = 0; i < 10000 && seen != (1 | 8); i++)                                       \
            seen |= 1u << shmem_##name##_wait_until_any_vector(word, COUNT, NULL, SHMEM_CMP_EQ,  \
                                                               values);                          \
        CHECK(seen == (1 | 8), #name ": %x", seen);                                              \
    }

/* PE after PE stores here; each store is found, with the data put before it. */
#define THERE(name, type)                                                                          \
    {                                                                                              \
        type *word = shmem_calloc(4, sizeof *word);                                                \
        long *data = shmem_calloc(4, sizeof *data);                                                \
        int status[4] = {0};                                                                       \
        size_t index[4];                                                                           \
        for (int pe = 0; pe < test_size; pe++) {                                                   \
            shmem_long_p(data + test_rank, 100 + test_rank, pe);                                   \
            shmem_fence();                                                                         \
            shmem_##name##_p(word + test_rank, (type)(1 + test_rank), pe);                         \
        }                                                                                          \
        for (int seen = 0; seen < test_size; seen++) {                                             \
            size_t i =                                                                             \
                shmem_##name##_wait_until_any(word, (size_t)test_size, status, SHMEM_CMP_NE, 0);   \
            CHECK(i < (size_t)test_size && !status[i] && data[i] == 100 + (long)i, #name);         \
            status[i % 4] = 1;                                                                     \
        }                                                                                          \
        CHECK(shmem_##name##_wait_until_any(word, (size_t)test_size, status, SHMEM_CMP_NE, 0) ==   \
              SIZE_MAX);                                                                           \
        shmem_barrier_all();                                                                       \
        memset(word, 0, 4 * sizeof *word);                                                         \
        shmem_barrier_all();                                                                       \
        const type values[4] = {1, 2, 3, 4};                                                       \
        for (int pe = 0; pe < test_size; pe++)                                                     \
            shmem_##name##_p(word + test_rank, (type)(1 + test_rank), pe);                         \
        size_t found = shmem_##name##_wait_until_some_vector(word, (size_t)test_size, index, NULL, \
                                                             SHMEM_CMP_EQ, values);                \
        CHECK(found >= 1 && found <= (size_t)test_size && word[index[0]] == values[index[0]]);     \
        shmem_##name##_wait_until_all(word, (size_t)test_size, NULL, SHMEM_CMP_GT, 0);             \
        shmem_##name##_wait_until_all_vector(word, (size_t)test_size, NULL, SHMEM_CMP_EQ, values); \
        for (int pe = 0; pe < test_size; pe++)                                                     \
            CHECK(word[pe] == values[pe], #name);                                                  \
        shmem_free(data);                                                                          \
        shmem_free(word);                                                                          \
    }

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    shmem_init();
    MPIACCEL_SHMEM_WAIT_TYPES(EMPTY)
    MPIACCEL_SHMEM_WAIT_TYPES(HERE)
    MPIACCEL_SHMEM_WAIT_TYPES(THERE)
    shmem_finalize();
    return test_end();
}
