/* The exported symbols of OpenSHMEM: one indirect jump each, as in entry.c.
 *
 * A preloaded library's symbols precede all others, and the program may have an OpenSHMEM of its
 * own, or functions that only share a name with one. So the first call of each name looks for
 * another definition in the process, and if there is one, this and all later calls jump to it. Only
 * if there is none, the call is for this library, and the host is searched for.
 *
 * The other function's type is unknown. The jump must preserve all registers that can hold
 * arguments, and the stack: every entry takes the contents of those registers as its parameters,
 * none of them on the stack, and ends in a tail call.
 */
#include "pmpi_wrap/entry.h"
#include "pmpi_wrap/host.h"
#include "pmpi_wrap/symbols.h"
#include "shmem/shmem.h"

/* With -O0, -O1 and -Og the compiler makes calls instead of tail calls, and arguments on the stack
 * are lost: the value of shmem_longdouble_p, for example. */
#pragma GCC optimize("O2")

enum shmem_call {
#define CALL(name) CALL_##name,
#include "shmem/calls.def"
#undef CALL
    SHMEM_CALL_COUNT
};

typedef float vector __attribute__((vector_size(16)));
#ifdef __aarch64__
#define INTEGERS      long a, long b, long c, long d, long e, long f, long g, long h
#define INTEGER_NAMES a, b, c, d, e, f, g, h
#else
#define INTEGERS      long a, long b, long c, long d, long e, long f
#define INTEGER_NAMES a, b, c, d, e, f
#endif
#define REGISTERS \
    INTEGERS, vector p, vector q, vector r, vector s, vector t, vector u, vector v, vector w
#define NAMES INTEGER_NAMES, p, q, r, s, t, u, v, w
/* A variadic function reads the vector registers only if rax contains their number. A jump with
 * this type sets it. */
typedef void shmem_fn(REGISTERS, ...);
#define EXPORT __attribute__((visibility("default")))

/* NULL: the target has not been found yet. As in entry.c, the loader has nothing to relocate. */
static shmem_fn *dispatch_shmem[SHMEM_CALL_COUNT];

/* While the process has no MPI, the target is not kept: a library that is loaded later may bring
 * the MPI, and another definition. */
static COLD shmem_fn *find_target(enum shmem_call call, const char *name, mpi_fn *own)
{
    mpi_fn *other = (mpi_fn *)symbol_next(name);
    shmem_fn *target = (shmem_fn *)(other ? other : own);
    bool found = other || dispatch_open();
    if (found && !other)
        shmem_host = host_shmem();
    if (found)
        dispatch_shmem[call] = target;
    return target;
}

/* The first call takes a function of its own, so that the others save no registers. It is not
 * variadic: gcc makes no tail call in a variadic function, and arguments on the stack would be
 * lost. */
#define CALL(name)                                                             \
    EXPORT void entry_##name(REGISTERS) __asm__(#name);                        \
    static COLD void first_##name(REGISTERS)                                   \
    {                                                                          \
        find_target(CALL_##name, #name, (mpi_fn *)accel_##name)(NAMES);        \
    }                                                                          \
    void entry_##name(REGISTERS)                                               \
    {                                                                          \
        shmem_fn *target = dispatch_shmem[CALL_##name];                        \
        (LIKELY(target) ? target : (shmem_fn *)(mpi_fn *)first_##name)(NAMES); \
    }
#include "shmem/calls.def"
#undef CALL
