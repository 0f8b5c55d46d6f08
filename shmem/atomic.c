/* Atomics and waiting (OpenSHMEM 1.5, 9.8 and 9.10): the processor's own instructions, on the
 * memory itself. */
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

/* Sequentially consistent, so that a program may pass a token by a test and a put alone. */
#define HOLDS(name, type)                                                \
    static inline bool name##_holds(type *here, int compare, type value) \
    {                                                                    \
        type now = __atomic_load_n(here, __ATOMIC_SEQ_CST);              \
        switch (compare) {                                               \
        case SHMEM_CMP_EQ:                                               \
            return now == value;                                         \
        case SHMEM_CMP_NE:                                               \
            return now != value;                                         \
        case SHMEM_CMP_GT:                                               \
            return now > value;                                          \
        case SHMEM_CMP_LE:                                               \
            return now <= value;                                         \
        case SHMEM_CMP_LT:                                               \
            return now < value;                                          \
        default:                                                         \
            return now >= value;                                         \
        }                                                                \
    }

#define WAIT(name, type)                                                      \
    HOLDS(name, type)                                                         \
    void accel_shmem_##name##_wait_until(type *here, int compare, type value) \
    {                                                                         \
        struct sync_wait wait = SYNC_WAIT;                                    \
        while (!name##_holds(here, compare, value))                           \
            sync_pause(&wait);                                                \
    }                                                                         \
    int accel_shmem_##name##_test(type *here, int compare, type value)        \
    {                                                                         \
        shmem_count();                                                        \
        return name##_holds(here, compare, value);                            \
    }
MPIACCEL_SHMEM_WAIT_TYPES(WAIT)
