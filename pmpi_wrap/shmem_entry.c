/* The exported symbols of OpenSHMEM: one indirect jump each, as in entry.c.
 *
 * A preloaded library's names come before all others, and the program may have an OpenSHMEM of its
 * own, or just functions with such names. So each name looks, when it is first called, for another
 * definition in the process, and if there is one leads there from then on. The first call hands on
 * whatever registers and stack hold, whatever that function's arguments and result may be: this
 * function has them all as its parameters, none of them on the stack, and its last call is a jump.
 *
 * The prototypes of the calls do not matter here: every name is the same kind of door.
 */
#include "pmpi_wrap/host.h"
#include "shmem/shmem.h"

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
typedef void shmem_dispatch_fn(REGISTERS);
#define EXPORT __attribute__((visibility("default")))

static shmem_dispatch_fn *door[SHMEM_CALL_COUNT];

static COLD void open_dispatch(enum shmem_call call, const char *name, dispatch_fn *ours)
{
    const struct abi *abi = host_abi();
    if (abi)
        shmem_host = abi->shmem;
    dispatch_fn *theirs = (dispatch_fn *)host_next(name);
    door[call] = (shmem_dispatch_fn *)(theirs ? theirs : ours);
}

#define CALL(name)                                                      \
    EXPORT void door_##name(REGISTERS) __asm__(#name);                  \
    void door_##name(REGISTERS)                                         \
    {                                                                   \
        door[CALL_##name](NAMES);                                       \
    }                                                                   \
    static COLD void first_##name(REGISTERS)                            \
    {                                                                   \
        open_dispatch(CALL_##name, #name, (dispatch_fn *)accel_##name); \
        door[CALL_##name](NAMES);                                       \
    }
#include "shmem/calls.def"
#undef CALL

static shmem_dispatch_fn *door[SHMEM_CALL_COUNT] = {
#define CALL(name) first_##name,
#include "shmem/calls.def"
#undef CALL
};
