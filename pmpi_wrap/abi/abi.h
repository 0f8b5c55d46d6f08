/* All difference between ABIs. The files of this folder are compiled once per set of headers, with
 * -DABI_NAME=ompi or mpich, and linked into one object of which only `abi_<name>` is visible:
 * inside it they call each other by plain names. They speak to the host only through `host`.
 */
#ifndef MPIACCEL_ABI_H
#define MPIACCEL_ABI_H

#include "alloc/arena.h"
#include "core/kernels.h"
#include "core/log.h"
#include "core/stats.h"
#include "core/thread.h"
#include "core/typemap.h"
#include "pmpi_wrap/host.h"
#include "pmpi_wrap/registry.h"
#include "rma_shm/win.h"

#include <string.h>

#define OMPI_OMIT_MPI1_COMPAT_DECLS 1
#include <mpi.h>

/* Whether the headers have MPI-4.1's calls for buffers. */
#define KNOWS_BUFFERS (MPI_VERSION * 10 + MPI_SUBVERSION >= 41)

/* What MPI-4 calls deprecated is what MPI-3 has. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#if defined(OPEN_MPI)
/* Open MPI's predefined handles are addresses of its variables, and the library must not refer to
 * them by name: the host may be another one, or come later. */
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                                                 \
    ({                                                                                       \
        static void *_Atomic known; /* looked up once: that takes a thousand instructions */ \
        void *here = atomic_load_explicit(&known, memory_order_relaxed);                     \
        if (UNLIKELY(!here)) {                                                               \
            here = host_variable(#global);                                                   \
            atomic_store_explicit(&known, here, memory_order_relaxed);                       \
        }                                                                                    \
        (type) here;                                                                         \
    })
#endif
void *host_variable(const char *name);

/* What differs between the ABIs and between the hosts.
 *
 * BITS, HANDLE_OF       a handle as a number, and back: an int in one ABI, an address in the other
 * HOST_REFUSES_ALIASES  whether the host refuses to reduce into the buffer that it sends from, or
 *                       does as if in place
 * HOST_REPEATS_BSEND    whether a persistent buffered request may be left to the host: Open MPI 4.1
 *                       sends from the second start on whatever lies at the place in the buffer
 *                       that the first one had
 * HOST_STARTS_NOTHING   whether a persistent request to MPI_PROC_NULL becomes active when started
 * HOST_LOOKS_FOR_ROOM   whether the host looks for messages that have been received when a buffered
 *                       one finds no room: Open MPI 4.1 does so when it has refused that one
 * HOST_LEARNS_LATE      whether a long message that has been received may be in the host's buffer
 *                       until its receiver calls the host again: see bsend.c
 * HOST_WAITS_IN_BSEND   whether the host's MPI_Bsend may wait for the receiver: bsend/pending.h
 * HOST_EAGER            bytes of the longest message that the host sends without its receiver's
 *                       reading the sender's memory
 */
#if defined(OPEN_MPI)
#define BITS(handle)               ((uintptr_t)(handle))
#define HANDLE_OF(type, bits)      ((type)(bits))
#define HOST_REFUSES_ALIASES(call) ((call) == CALL_Reduce)
#define HOST_REPEATS_BSEND         false
#define HOST_STARTS_NOTHING        true
#define HOST_LOOKS_FOR_ROOM        false
#define HOST_LEARNS_LATE           false
#define HOST_WAITS_IN_BSEND        true
#define HOST_EAGER                 ((size_t)4 << 10)
#else
#define BITS(handle)               ((uintptr_t)(unsigned)(handle))
#define HANDLE_OF(type, bits)      ((type)(unsigned)(bits))
#define HOST_REFUSES_ALIASES(call) true
#define HOST_REPEATS_BSEND         true
#define HOST_STARTS_NOTHING        false
#define HOST_LOOKS_FOR_ROOM        true
#define HOST_LEARNS_LATE           true
#define HOST_WAITS_IN_BSEND        false
#define HOST_EAGER                 ((size_t)8 << 10)
#endif

/* The functions of the host that we use besides those we intercept; the second list where the host
 * has them. */
#define HOST_HELPERS(X)      \
    X(Abort)                 \
    X(Cancel)                \
    X(Comm_call_errhandler)  \
    X(Comm_get_attr)         \
    X(Comm_get_errhandler)   \
    X(Comm_group)            \
    X(Comm_rank)             \
    X(Comm_remote_group)     \
    X(Comm_remote_size)      \
    X(Comm_set_errhandler)   \
    X(Comm_size)             \
    X(Comm_split)            \
    X(Comm_test_inter)       \
    X(Errhandler_free)       \
    X(Error_class)           \
    X(Finalized)             \
    X(Get_version)           \
    X(Group_free)            \
    X(Group_size)            \
    X(Group_translate_ranks) \
    X(Iallgather)            \
    X(Info_get)              \
    X(Initialized)           \
    X(Irecv)                 \
    X(Isend)                 \
    X(Query_thread)          \
    X(Reduce_local)          \
    X(Request_get_status)    \
    X(Send)                  \
    X(Send_init)             \
    X(Test)                  \
    X(Type_dup)              \
    X(Type_get_contents)     \
    X(Type_get_envelope)     \
    X(Type_get_extent)       \
    X(Type_size)             \
    X(Wait)                  \
    X(Win_call_errhandler)   \
    X(Win_get_group)

#if MPI_VERSION >= 4
#define HOST_HELPERS_4(X) X(Type_get_contents_c) X(Type_get_envelope_c)
#else
#define HOST_HELPERS_4(X)
#endif
#if defined(OPEN_MPI)
#define HOST_HELPERS_IF(X) HOST_HELPERS_4(X) X(Win_f2c)
#else
#define HOST_HELPERS_IF(X) HOST_HELPERS_4(X)
#endif

struct host_functions {
#define X(name) __typeof__(&PMPI_##name) name;
    HOST_HELPERS(X)
    HOST_HELPERS_IF(X)
#define CALL(name, arguments) X(name)
#define HOST(name, arguments)
#if MPI_VERSION >= 4
#define CALL4 CALL
#else
#define CALL4(name, arguments)
#endif
#if KNOWS_BUFFERS
#define CALL41 CALL
#else
#define CALL41(name, arguments)
#endif
#include "pmpi_wrap/calls.def"
#undef CALL
#undef X
};

extern struct host_functions host;

/* Whether the host has a call that our headers need not know: "Buffer_flush". */
bool host_has(const char *name);

/* Handles that fast calls compare with or pass on: looking one up by name takes its time. */
struct constants {
    MPI_Info info_null;
    MPI_Datatype byte, datatype_null;
    MPI_Comm comm_null;
};
extern struct constants constants;

/* ---- leaving a call to the host ---- */

/* Count it and, when asked to, say why, once. */
void deferred(enum call call, enum reason reason);

/* An operation on a window that is the host's. */
void deferred_on(enum call call, MPI_Win win);

/* ---- windows (window.c) ---- */

/* What an entry of the window registry has in `detail`. */
struct window_detail {
    uint8_t reason; /* why the window is the host's; REASON_COUNT: it is fast */
    uint8_t flavor; /* MPI_WIN_FLAVOR_…, as the program created it */
    uint16_t ranks; /* UINT16_MAX: that many or more */
};

static inline uint32_t window_pack(struct window_detail d)
{
    uint32_t packed;
    memcpy(&packed, &d, sizeof packed);
    return packed;
}

static inline struct window_detail window_unpack(uint32_t packed)
{
    struct window_detail d;
    memcpy(&d, &packed, sizeof d);
    return d;
}

extern struct registry windows;

/* The fast window of a handle, or NULL. */
HOT_INLINE struct win *fast_window(MPI_Win handle)
{
    struct entry *e = registry_find(&windows, BITS(handle));
    return LIKELY(e != NULL) ? e->object : NULL;
}

/* Report an error through the window's error handler (MPI-4.0, 9.3). Returns its class. */
int report(MPI_Win win, enum win_error error);
int report_class(MPI_Win win, int error_class);

/* The value of a predefined attribute, where it differs from what the host's window has. */
bool window_attribute(MPI_Win win, int keyval, MPI_Aint *value);

/* ---- datatypes and operations (predefined.c, derived.c) ---- */

extern struct registry datatypes;

const struct typemap *typemap_of_unknown(MPI_Datatype type);

/* The same for who cannot say no alone: without memory the job ends. */
const struct typemap *typemap_or_abort(MPI_Datatype type);

/* NULL: not a datatype, not committed, or no memory. */
HOT_INLINE const struct typemap *typemap_of(MPI_Datatype type)
{
    struct entry *e = registry_find(&datatypes, BITS(type));
    return LIKELY(e != NULL) ? e->object : typemap_of_unknown(type);
}

/* What kind of value; with its size in bytes that makes the prim, whatever the compilers of this
 * host made of INTEGER or long. */
enum kind { SIGNED, UNSIGNED, REAL, LONG_REAL, COMPLEX, LONG_COMPLEX, LOGICAL, BYTES, OTHER };
enum prim prim_of(enum kind kind, int size);

extern struct registry operations;

/* OP_COUNT: none of the predefined ones. */
HOT_INLINE enum op op_of(MPI_Op op)
{
    struct entry *e = registry_find(&operations, BITS(op));
    return LIKELY(e != NULL) ? (enum op)e->detail : OP_COUNT;
}

/* Register the predefined handles; at Init. */
void handles_open(void);

/* The predefined datatype that a typemap is made of; itself if there is none. */
const struct typemap *predefined_for(const struct typemap *map);

/* Register a predefined datatype that only the host knows. NULL: no memory. */
const struct typemap *predefined_other(MPI_Datatype type);

/* Whether the host would combine these: asked where we have no kernel. */
bool host_combines(MPI_Datatype type, MPI_Op op);

/* ---- who is in a communicator (survey.c) ---- */

struct comm_properties {
    int size, rank;
    int others;    /* of an intercommunicator: ranks of the other group */
    int neighbour; /* a member of the node that is in it: the next rank, or one of the other group
                    */
};

/* May something on this communicator be fast, of up to `most` ranks? The same answer on all its
 * ranks (H13): it depends on the communicator and on what the node's ranks settled together. */
enum reason comm_properties_of(MPI_Comm comm, int most, struct comm_properties *s);

/* The same of an intercommunicator, whose groups may each have so many. */
enum reason intercomm_properties_of(MPI_Comm comm, int most, struct comm_properties *s);

/* A buffer may be on a GPU, and we could not tell: the host can (H7). */
bool gpu_runtime_loaded(void);

/* ---- memory (mem.c) ---- */

/* The alignment of an allocation with this info, a power of two (MPI-4.0, 9.2 and 12.2.2). */
size_t alignment_in(MPI_Info info);

HOT_INLINE size_t alignment_of(MPI_Info info)
{
    return LIKELY(info == constants.info_null) ? ARENA_GRAIN : alignment_in(info);
}

/* ---- the process (env.c) ---- */

/* A communicator of this process alone, for progress and for completed requests; its errors return.
 * Made when first needed. */
MPI_Comm own_comm(void);

/* A request of the host's that is complete (H23). */
int complete_request(MPI_Request *request);

/* An error of a call that has no communicator, window or file (MPI-4.0, 9.3). Returns its class. */
int report_anywhere(int error_class);

/* Between these, calls that the host makes back into us pass straight through (H4). */
static inline void enter_host(void)
{
    thread_self()->inside++;
}
static inline void leave_host(void)
{
    thread_self()->inside--;
}
static inline bool inside_host(void)
{
    return thread_self()->inside;
}

extern const struct shmem_host shmem_calls_host; /* shmem.c */

/* The handlers, by name. */
#define CALL(name, arguments) __typeof__(PMPI_##name) accel_##name;
#include "pmpi_wrap/calls.def"
#undef CALL
#undef CALL4
#undef CALL41

#endif
