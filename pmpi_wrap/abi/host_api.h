/* The host's functions, handles and constants.
 *
 * The files of this folder are compiled once per set of MPI headers, with -DABI_NAME=ompi, mpich or
 * standard and the macro ABI_IS_<name>, and linked into one object whose only global symbol is
 * abi_<name>. They call the host only through `host`. All differences between the ABIs are in this
 * header.
 */
#ifndef MPIACCEL_HOST_API_H
#define MPIACCEL_HOST_API_H

#include "core/thread.h"
#include "pmpi_wrap/calls.h"

#ifdef ABI_IS_standard
/* not searched for: conda and Spack put the folder of an MPI in front of all others */
#include "pmpi_wrap/standard_abi/mpi.h"
#else
#define OMPI_OMIT_MPI1_COMPAT_DECLS 1
#include <mpi.h>
#endif

#if (defined(ABI_IS_ompi) && !defined(OPEN_MPI)) || \
    (defined(ABI_IS_mpich) && !defined(MPICH_NUMVERSION) && !defined(MVAPICH2_NUMVERSION))
#error "the mpi.h of another MPI was included; remove its folder from CPPFLAGS and CFLAGS"
#endif

#include "pmpi_wrap/abi/newer_calls.h"

/* Some calls that MPI-3 hosts need are deprecated in MPI-4. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* ---- handles ---- */

/* BITS: a handle as a number; HANDLE_OF: the reverse. Handles are ints in MPICH, addresses in Open
 * MPI and in the standard ABI. */
#if defined(OPEN_MPI) || defined(MPIACCEL_STANDARD_ABI_H)
#define BITS(handle)          ((uintptr_t)(handle))
#define HANDLE_OF(type, bits) ((type)(bits))
#else
#define BITS(handle)          ((uintptr_t)(unsigned)(handle))
#define HANDLE_OF(type, bits) ((type)(unsigned)(bits))
#endif

#if defined(OPEN_MPI)
/* Open MPI's predefined handles are addresses of its variables. The library must not refer to them
 * by name: the host may be another one, or may be loaded later. The first use looks up the address,
 * which takes a thousand instructions. The addresses are in a section of their own, so that all can
 * be forgotten when another host is loaded. */
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                                      \
    ({                                                                            \
        static void *_Atomic cached __attribute__((section("mpiaccel_handles"))); \
        void *address = atomic_load_explicit(&cached, memory_order_relaxed);      \
        if (UNLIKELY(!address)) {                                                 \
            address = host_symbol(#global);                                       \
            atomic_store_explicit(&cached, address, memory_order_relaxed);        \
        }                                                                         \
        (type) address;                                                           \
    })
#endif

/* Find a variable or function of the host by its full name, as the program would. NULL: none.
 */
void *host_symbol(const char *name);

/* Handles that hot paths compare with or pass on; in Open MPI the macros above cost a load and a
 * branch each. */
struct constants {
    MPI_Info info_null;
    MPI_Datatype byte, datatype_null;
    MPI_Comm comm_null;
};
extern struct constants constants HIDDEN;

/* Call after the host's MPI_Init. */
void constants_read(void);

/* ---- functions ---- */

/* The host's functions that this library calls besides the intercepted ones. */
#define HOST_HELPERS(X)           \
    X(Abort)                      \
    X(Cancel)                     \
    X(Cartdim_get)                \
    X(Comm_call_errhandler)       \
    X(Comm_create_keyval)         \
    X(Comm_free_keyval)           \
    X(Comm_get_attr)              \
    X(Comm_get_errhandler)        \
    X(Comm_get_parent)            \
    X(Comm_group)                 \
    X(Comm_rank)                  \
    X(Comm_remote_group)          \
    X(Comm_remote_size)           \
    X(Comm_set_attr)              \
    X(Comm_set_errhandler)        \
    X(Comm_size)                  \
    X(Comm_test_inter)            \
    X(Dist_graph_neighbors_count) \
    X(Errhandler_free)            \
    X(Error_class)                \
    X(Finalized)                  \
    X(Get_version)                \
    X(Graph_neighbors_count)      \
    X(Group_compare)              \
    X(Group_free)                 \
    X(Group_incl)                 \
    X(Group_rank)                 \
    X(Group_size)                 \
    X(Group_translate_ranks)      \
    X(Iallgather)                 \
    X(Info_get)                   \
    X(Initialized)                \
    X(Irecv)                      \
    X(Isend)                      \
    X(Lookup_name)                \
    X(Op_commutative)             \
    X(Pack_size)                  \
    X(Publish_name)               \
    X(Query_thread)               \
    X(Reduce_local)               \
    X(Request_get_status)         \
    X(Send)                       \
    X(Send_init)                  \
    X(Test)                       \
    X(Topo_test)                  \
    X(Type_commit)                \
    X(Type_contiguous)            \
    X(Type_create_keyval)         \
    X(Type_free_keyval)           \
    X(Type_get_contents)          \
    X(Type_get_envelope)          \
    X(Type_get_extent)            \
    X(Type_set_attr)              \
    X(Type_size)                  \
    X(Unpublish_name)             \
    X(Wait)                       \
    X(Win_call_errhandler)        \
    X(Win_create_keyval)          \
    X(Win_free_keyval)            \
    X(Win_get_errhandler)         \
    X(Win_get_group)              \
    X(Win_set_errhandler)         \
    X(Win_set_name)

/* Functions that an older release of the ABI may lack. */
#if defined(OPEN_MPI)
#define HOST_HELPERS_OPTIONAL(X) \
    X(Type_get_contents_c) X(Type_get_envelope_c) X(Group_from_session_pset) X(Win_f2c)
#else
#define HOST_HELPERS_OPTIONAL(X) \
    X(Type_get_contents_c) X(Type_get_envelope_c) X(Group_from_session_pset)
#endif

struct host_functions {
#define X(name) __typeof__(&PMPI_##name) name;
    HOST_HELPERS(X)
    HOST_HELPERS_OPTIONAL(X)
#define CALL(name, arguments) X(name)
#define HOST(name, arguments)
#include "pmpi_wrap/calls.def"
#undef X
};

extern struct host_functions host HIDDEN;

/* The calls as the program makes them, through tools that intercept them; by enum call. */
extern mpi_fn *const *exported_calls;

/* Look up all functions of the host. False: a function that we need is missing. */
bool host_bind(void *library, mpi_fn *const *exported);

/* Between these two functions, calls that the host makes into this library go straight back to the
 * host (H4: hosts call themselves through the exported symbols). Use them only around calls on
 * objects of this library, whose errors are returned. A call on a communicator, window or datatype
 * of the program may run callbacks of the program: if the calls in them went to the host on one
 * rank only, the job would hang. And an error handler may leave the call by longjmp or a C++
 * exception, so that leave_host() would not be reached. */
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

#endif
