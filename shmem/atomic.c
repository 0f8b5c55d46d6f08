/* Atomics and waiting (OpenSHMEM 1.5, 9.8 and 9.10) by atomic instructions on the shared memory. */
#include "shmem/shmem.h"

#define AT(name, to, call) ((__typeof__(to))shmem_at(to, sizeof *to, pe, "shmem_" #name "_" call))

#define FETCH_SET_SWAP(name, type, fetch, set, swap)                            \
    type accel_shmem_##name##_##fetch(const type *from, int pe)                 \
    {                                                                           \
        type value;                                                             \
        __atomic_load(AT(name, from, #fetch), &value, __ATOMIC_SEQ_CST);        \
        return value;                                                           \
    }                                                                           \
    void accel_shmem_##name##_##set(type *to, type value, int pe)               \
    {                                                                           \
        __atomic_store(AT(name, to, #set), &value, __ATOMIC_SEQ_CST);           \
    }                                                                           \
    type accel_shmem_##name##_##swap(type *to, type value, int pe)              \
    {                                                                           \
        type old;                                                               \
        __atomic_exchange(AT(name, to, #swap), &value, &old, __ATOMIC_SEQ_CST); \
        return old;                                                             \
    }

#define INTEGER(name, type, cswap, finc, inc, fadd, add)                            \
    type accel_shmem_##name##_##cswap(type *to, type condition, type value, int pe) \
    {                                                                               \
        __atomic_compare_exchange_n(AT(name, to, #cswap), &condition, value, false, \
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
        return condition;                                                           \
    }                                                                               \
    type accel_shmem_##name##_##finc(type *to, int pe)                              \
    {                                                                               \
        return __atomic_fetch_add(AT(name, to, #finc), (type)1, __ATOMIC_SEQ_CST);  \
    }                                                                               \
    void accel_shmem_##name##_##inc(type *to, int pe)                               \
    {                                                                               \
        __atomic_fetch_add(AT(name, to, #inc), (type)1, __ATOMIC_SEQ_CST);          \
    }                                                                               \
    type accel_shmem_##name##_##fadd(type *to, type value, int pe)                  \
    {                                                                               \
        return __atomic_fetch_add(AT(name, to, #fadd), value, __ATOMIC_SEQ_CST);    \
    }                                                                               \
    void accel_shmem_##name##_##add(type *to, type value, int pe)                   \
    {                                                                               \
        __atomic_fetch_add(AT(name, to, #add), value, __ATOMIC_SEQ_CST);            \
    }

#define BITWISE(name, type, op)                                                                 \
    type accel_shmem_##name##_atomic_fetch_##op(type *to, type value, int pe)                   \
    {                                                                                           \
        return __atomic_fetch_##op(AT(name, to, "atomic_fetch_" #op), value, __ATOMIC_SEQ_CST); \
    }                                                                                           \
    void accel_shmem_##name##_atomic_##op(type *to, type value, int pe)                         \
    {                                                                                           \
        __atomic_fetch_##op(AT(name, to, "atomic_" #op), value, __ATOMIC_SEQ_CST);              \
    }

#define EACH(name, type) FETCH_SET_SWAP(name, type, atomic_fetch, atomic_set, atomic_swap)
MPIACCEL_SHMEM_ATOMIC_TYPES(EACH)
MPIACCEL_SHMEM_REAL_TYPES(EACH)
#undef EACH

#define EACH(name, type)                                                                     \
    INTEGER(name, type, atomic_compare_swap, atomic_fetch_inc, atomic_inc, atomic_fetch_add, \
            atomic_add)
MPIACCEL_SHMEM_ATOMIC_TYPES(EACH)
#undef EACH

#define EACH(name, type) BITWISE(name, type, and) BITWISE(name, type, or) BITWISE(name, type, xor)
MPIACCEL_SHMEM_BITWISE_TYPES(EACH)
#undef EACH

#define EACH(name, type) FETCH_SET_SWAP(name, type, fetch, set, swap)
MPIACCEL_SHMEM_SIGNED_TYPES(EACH)
MPIACCEL_SHMEM_REAL_TYPES(EACH)
#undef EACH

#define EACH(name, type) INTEGER(name, type, cswap, finc, inc, fadd, add)
MPIACCEL_SHMEM_SIGNED_TYPES(EACH)
#undef EACH

/* ---- waiting ---- */

/* Sequentially consistent: a program may pass a token with nothing but a test and a put. */
#define HOLDS(name, type)                                                    \
    static inline bool name##_holds(type *variable, int compare, type value) \
    {                                                                        \
        type now = __atomic_load_n(variable, __ATOMIC_SEQ_CST);              \
        switch (compare) {                                                   \
        case SHMEM_CMP_EQ:                                                   \
            return now == value;                                             \
        case SHMEM_CMP_NE:                                                   \
            return now != value;                                             \
        case SHMEM_CMP_GT:                                                   \
            return now > value;                                              \
        case SHMEM_CMP_LE:                                                   \
            return now <= value;                                             \
        case SHMEM_CMP_LT:                                                   \
            return now < value;                                              \
        default:                                                             \
            return now >= value;                                             \
        }                                                                    \
    }

#define WAIT(name, type)                                                          \
    HOLDS(name, type)                                                             \
    void accel_shmem_##name##_wait_until(type *variable, int compare, type value) \
    {                                                                             \
        struct sync_wait wait = SYNC_WAIT;                                        \
        while (!name##_holds(variable, compare, value))                           \
            sync_pause(&wait);                                                    \
    }                                                                             \
    int accel_shmem_##name##_test(type *variable, int compare, type value)        \
    {                                                                             \
        shmem_count();                                                            \
        return name##_holds(variable, compare, value);                            \
    }
MPIACCEL_SHMEM_WAIT_TYPES(WAIT)

/* ---- waiting for several variables ---- */

/* True if no variable is in the set. */
static bool none_selected(size_t count, const int *status)
{
    while (count && status && status[count - 1])
        count--;
    return !count;
}

/* A pseudo-random start index, so that a program that tests repeatedly eventually finds every
 * variable for which the comparison holds. */
static size_t start_index(size_t count)
{
    static _Atomic uint32_t calls;
    uint32_t call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    uint64_t mixed = call * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)((unsigned __int128)count * mixed >> 64);
}

/* `step` is 0 if all variables are compared with one value, otherwise 1. */
#define SCAN(name, type)                                                                           \
    static bool name##_all_hold(type *variables, size_t count, const int *status, int compare,     \
                                const type *values, size_t step)                                   \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            if (!(status && status[i]) && !name##_holds(variables + i, compare, values[i * step])) \
                return false;                                                                      \
        return true;                                                                               \
    }                                                                                              \
    static size_t name##_find_holding(type *variables, size_t count, size_t *indices, size_t most, \
                                      const int *status, int compare, const type *values,          \
                                      size_t step)                                                 \
    {                                                                                              \
        size_t found = 0, i = start_index(count);                                                  \
        for (size_t tested = 0; tested < count && found < most; tested++) {                        \
            if (!(status && status[i]) && name##_holds(variables + i, compare, values[i * step]))  \
                indices[found++] = i;                                                              \
            i = i + 1 < count ? i + 1 : 0;                                                         \
        }                                                                                          \
        return found;                                                                              \
    }

/* `end`: end of the name; `parameter`: the last one; `values` and `step`: how SCAN() uses them. */
#define SEVERAL(name, type, end, parameter, values, step)                                          \
    int accel_shmem_##name##_test_all##end(type *variables, size_t count, const int *status,       \
                                           int compare, parameter)                                 \
    {                                                                                              \
        shmem_count();                                                                             \
        return name##_all_hold(variables, count, status, compare, values, step);                   \
    }                                                                                              \
    size_t accel_shmem_##name##_test_some##end(type *variables, size_t count, size_t *indices,     \
                                               const int *status, int compare, parameter)          \
    {                                                                                              \
        shmem_count();                                                                             \
        return name##_find_holding(variables, count, indices, count, status, compare, values,      \
                                   step);                                                          \
    }                                                                                              \
    size_t accel_shmem_##name##_test_any##end(type *variables, size_t count, const int *status,    \
                                              int compare, parameter)                              \
    {                                                                                              \
        size_t index = SIZE_MAX;                                                                   \
        shmem_count();                                                                             \
        name##_find_holding(variables, count, &index, 1, status, compare, values, step);           \
        return index;                                                                              \
    }                                                                                              \
    void accel_shmem_##name##_wait_until_all##end(type *variables, size_t count,                   \
                                                  const int *status, int compare, parameter)       \
    {                                                                                              \
        struct sync_wait wait = SYNC_WAIT;                                                         \
        while (!name##_all_hold(variables, count, status, compare, values, step))                  \
            sync_pause(&wait);                                                                     \
    }                                                                                              \
    size_t accel_shmem_##name##_wait_until_some##end(                                              \
        type *variables, size_t count, size_t *indices, const int *status, int compare, parameter) \
    {                                                                                              \
        struct sync_wait wait = SYNC_WAIT;                                                         \
        size_t found = 0;                                                                          \
        while (!none_selected(count, status) &&                                                    \
               !(found = name##_find_holding(variables, count, indices, count, status, compare,    \
                                             values, step)))                                       \
            sync_pause(&wait);                                                                     \
        return found;                                                                              \
    }                                                                                              \
    size_t accel_shmem_##name##_wait_until_any##end(type *variables, size_t count,                 \
                                                    const int *status, int compare, parameter)     \
    {                                                                                              \
        struct sync_wait wait = SYNC_WAIT;                                                         \
        size_t index = SIZE_MAX;                                                                   \
        while (!none_selected(count, status) &&                                                    \
               !name##_find_holding(variables, count, &index, 1, status, compare, values, step))   \
            sync_pause(&wait);                                                                     \
        return index;                                                                              \
    }

#define EACH(name, type)                         \
    SCAN(name, type)                             \
    SEVERAL(name, type, , type value, &value, 0) \
    SEVERAL(name, type, _vector, const type *value, value, 1)
MPIACCEL_SHMEM_WAIT_TYPES(EACH)
#undef EACH
