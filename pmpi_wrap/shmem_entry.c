/* The exported symbols of OpenSHMEM: one indirect jump each, as in entry.c.
 *
 * A preloaded library's symbols precede all others, and the program may have an OpenSHMEM of its
 * own, or functions that only share a name with one. So the first call of each name looks for
 * another definition in the process, and if there is one, this and all later calls jump to it.
 *
 * The other function's type is unknown. The jump must preserve all registers that can hold
 * arguments, and the stack: every entry takes the contents of those registers as its parameters,
 * none of them on the stack, and ends in a tail call.
 */
#include "pmpi_wrap/entry.h"
#include "pmpi_wrap/symbols.h"
#include "shmem/shmem.h"

/* With -O0 the compiler makes calls instead of tail calls, and arguments on the stack are lost: the
 * value of shmem_longdouble_p, for example. */
#ifndef __OPTIMIZE__
#pragma GCC optimize("O2")
#endif

enum shmem_call {
#define CALL(name) CALL_##name,
#include "shmem/calls.def"
#undef CALL
    SHMEM_CALL_COUNT
};

typedef float vector __attribute__((vector_size(16)));
#define REGISTERS                                                                           \
    long a, long b, long c, long d, long e, long f, vector p, vector q, vector r, vector s, \
        vector t, vector u, vector v, vector w
#define NAMES a, b, c, d, e, f, p, q, r, s, t, u, v, w
/* A variadic function reads the vector registers only if rax contains their number. A jump with
 * this type sets it. */
typedef void shmem_fn(REGISTERS, ...);
#define EXPORT __attribute__((visibility("default")))

/* NULL: this name has not been called. As in entry.c, the loader has nothing to relocate. */
static shmem_fn *dispatch_shmem[SHMEM_CALL_COUNT];

static COLD void set_dispatch(enum shmem_call call, const char *name, mpi_fn *own)
{
    const struct abi *abi = dispatch_open();
    if (abi)
        shmem_host = abi->shmem;
    mpi_fn *other = (mpi_fn *)symbol_next(name);
    dispatch_shmem[call] = (shmem_fn *)(other ? other : own);
}

/* The first call takes a function of its own, so that the others save no registers. It is not
 * variadic: gcc makes no tail call in a variadic function, and arguments on the stack would be
 * lost. */
#define CALL(name)                                                             \
    EXPORT void entry_##name(REGISTERS) __asm__(#name);                        \
    static COLD void first_##name(REGISTERS)                                   \
    {                                                                          \
        set_dispatch(CALL_##name, #name, (mpi_fn *)accel_##name);              \
        dispatch_shmem[CALL_##name](NAMES);                                    \
    }                                                                          \
    void entry_##name(REGISTERS)                                               \
    {                                                                          \
        shmem_fn *target = dispatch_shmem[CALL_##name];                        \
        (LIKELY(target) ? target : (shmem_fn *)(mpi_fn *)first_##name)(NAMES); \
    }
#include "shmem/calls.def"
#undef CALL
