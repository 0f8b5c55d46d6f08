#include "pmpi_wrap/abi/datatypes/predefined.h"

#include "core/kernels.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/abi/private_comm.h"

struct registry datatype_registry = REGISTRY_INITIALIZER;
struct registry operation_registry = REGISTRY_INITIALIZER;

enum prim prim_of(enum kind kind, int size)
{
    static const uint8_t by_log2[][6] = {
        /* bytes:     1           2          4          8           16          32 */
        [SIGNED] = {PRIM_I8, PRIM_I16, PRIM_I32, PRIM_I64, PRIM_OTHER, PRIM_OTHER},
        [UNSIGNED] = {PRIM_U8, PRIM_U16, PRIM_U32, PRIM_U64, PRIM_OTHER, PRIM_OTHER},
        [REAL] = {PRIM_OTHER, PRIM_OTHER, PRIM_F32, PRIM_F64, PRIM_F128, PRIM_OTHER},
        [LONG_REAL] = {PRIM_OTHER, PRIM_OTHER, PRIM_OTHER, PRIM_F64, PRIM_FLONG, PRIM_OTHER},
        [COMPLEX] = {PRIM_OTHER, PRIM_OTHER, PRIM_OTHER, PRIM_C32, PRIM_C64, PRIM_C128},
        [LONG_COMPLEX] = {PRIM_OTHER, PRIM_OTHER, PRIM_OTHER, PRIM_OTHER, PRIM_C64, PRIM_CLONG},
        [LOGICAL] = {PRIM_L8, PRIM_L16, PRIM_L32, PRIM_L64, PRIM_OTHER, PRIM_OTHER},
        [BYTES] = {PRIM_BYTE, PRIM_OTHER, PRIM_OTHER, PRIM_OTHER, PRIM_OTHER, PRIM_OTHER},
    };
    int log2 = size > 0 ? __builtin_ctz((unsigned)size) : 6;
    return kind == OTHER || log2 > 5 || size != 1 << log2 ? PRIM_OTHER : by_log2[kind][log2];
}

#define KINDS(X)                               \
    X(MPI_SIGNED_CHAR, SIGNED)                 \
    X(MPI_SHORT, SIGNED)                       \
    X(MPI_INT, SIGNED)                         \
    X(MPI_LONG, SIGNED)                        \
    X(MPI_LONG_LONG_INT, SIGNED)               \
    X(MPI_INT8_T, SIGNED)                      \
    X(MPI_INT16_T, SIGNED)                     \
    X(MPI_INT32_T, SIGNED)                     \
    X(MPI_INT64_T, SIGNED)                     \
    X(MPI_AINT, SIGNED)                        \
    X(MPI_OFFSET, SIGNED)                      \
    X(MPI_COUNT, SIGNED)                       \
    X(MPI_INTEGER, SIGNED)                     \
    X(MPI_INTEGER1, SIGNED)                    \
    X(MPI_INTEGER2, SIGNED)                    \
    X(MPI_INTEGER4, SIGNED)                    \
    X(MPI_INTEGER8, SIGNED)                    \
    X(MPI_UNSIGNED_CHAR, UNSIGNED)             \
    X(MPI_UNSIGNED_SHORT, UNSIGNED)            \
    X(MPI_UNSIGNED, UNSIGNED)                  \
    X(MPI_UNSIGNED_LONG, UNSIGNED)             \
    X(MPI_UNSIGNED_LONG_LONG, UNSIGNED)        \
    X(MPI_UINT8_T, UNSIGNED)                   \
    X(MPI_UINT16_T, UNSIGNED)                  \
    X(MPI_UINT32_T, UNSIGNED)                  \
    X(MPI_UINT64_T, UNSIGNED)                  \
    X(MPI_FLOAT, REAL)                         \
    X(MPI_DOUBLE, REAL)                        \
    X(MPI_REAL, REAL)                          \
    X(MPI_DOUBLE_PRECISION, REAL)              \
    X(MPI_REAL4, REAL)                         \
    X(MPI_REAL8, REAL)                         \
    X(MPI_LONG_DOUBLE, LONG_REAL)              \
    X(MPI_COMPLEX, COMPLEX)                    \
    X(MPI_DOUBLE_COMPLEX, COMPLEX)             \
    X(MPI_COMPLEX8, COMPLEX)                   \
    X(MPI_COMPLEX16, COMPLEX)                  \
    X(MPI_C_FLOAT_COMPLEX, COMPLEX)            \
    X(MPI_C_DOUBLE_COMPLEX, COMPLEX)           \
    X(MPI_C_LONG_DOUBLE_COMPLEX, LONG_COMPLEX) \
    X(MPI_LOGICAL, LOGICAL)                    \
    X(MPI_C_BOOL, LOGICAL)                     \
    X(MPI_BYTE, BYTES)                         \
    X(MPI_WCHAR, OTHER)                        \
    X(MPI_CHARACTER, OTHER)                    \
    X(MPI_PACKED, OTHER)

#define PAIRS(X)                      \
    X(MPI_FLOAT_INT, FLOAT_INT)       \
    X(MPI_DOUBLE_INT, DOUBLE_INT)     \
    X(MPI_LONG_INT, LONG_INT)         \
    X(MPI_2INT, INT_INT)              \
    X(MPI_SHORT_INT, SHORT_INT)       \
    X(MPI_LONG_DOUBLE_INT, FLONG_INT) \
    X(MPI_2INTEGER, INT_INT)          \
    X(MPI_2REAL, F32_F32)             \
    X(MPI_2DOUBLE_PRECISION, F64_F64)

/* Bytes of an element of a pair prim. Where the host's extent differs, there is no kernel. */
static size_t pair_extent(enum prim prim)
{
    switch (prim) {
#define X(name, type) \
    case PRIM_##name: \
        return sizeof(type);
        PRIMS_PAIR(X)
#undef X
    default:
        return 0;
    }
}

static const struct typemap *add(MPI_Datatype type, enum prim prim)
{
    MPI_Aint lb, extent;
    int size;
    if (host.Type_size(type, &size) || host.Type_get_extent(type, &lb, &extent) || size < 0)
        return NULL;
    struct typemap *map = typemap_predefined(BITS(type), prim, (size_t)size, (size_t)extent);
    if (map && !registry_add(&datatype_registry, BITS(type), map, 0)) {
        typemap_free(map);
        return NULL;
    }
    return map;
}

/* The standard ABI has handles for datatypes that its host may not have, such as MPI_REAL16. Errors
 * of MPI_Pack_size go to the handler of our communicator, which returns; those of calls without a
 * communicator would go to a handler of the program. */
static bool host_has_type(MPI_Datatype type)
{
    int size;
    return !host.Pack_size(1, type, private_comm(), &size);
}

/* In some hosts a name stands for no datatype, or two names for the same one. */
static bool is_new(MPI_Datatype type)
{
    return type && type != MPI_DATATYPE_NULL && !registry_find(&datatype_registry, BITS(type)) &&
           host_has_type(type);
}

static void add_kind(MPI_Datatype type, enum kind kind)
{
    int size;
    if (is_new(type) && !host.Type_size(type, &size))
        add(type, prim_of(kind, size));
}

static void add_pair(MPI_Datatype type, enum prim prim)
{
    MPI_Aint lb, extent;
    if (is_new(type) && !host.Type_get_extent(type, &lb, &extent))
        add(type, (size_t)extent == pair_extent(prim) ? prim : PRIM_OTHER);
}

/* ---- combinations without a reduction kernel ---- */

/* MPI_Reduce_local has no communicator, so its errors go to a handler that the program owns, and
 * that other threads may need at this moment. MPI_Allreduce of one rank makes the same checks. */
static bool try_on_host(MPI_Datatype type, MPI_Op op)
{
    char in[64] = {0}, out[64];
    MPI_Comm comm = private_comm_lock();
    enter_host();
    bool ok = !host.Allreduce(in, out, 1, type, op, comm);
    leave_host();
    private_comm_unlock();
    return ok;
}

/* The datatype's entry caches the answer in two bits per operation: the host accepts it, or refuses
 * it. Trying costs more than a small accumulate. */
bool host_reduces(MPI_Datatype type, MPI_Op op)
{
    struct entry *e = registry_find(&datatype_registry, BITS(type));
    uint32_t accepts = UINT32_C(1) << 2 * op_of(op), refuses = accepts << 1;
    uint32_t known = e ? __atomic_load_n(&e->detail, __ATOMIC_RELAXED) : 0;
    if (known & (accepts | refuses))
        return known & accepts;
    bool ok = try_on_host(type, op);
    if (e)
        __atomic_fetch_or(&e->detail, ok ? accepts : refuses, __ATOMIC_RELAXED);
    return ok;
}
_Static_assert(2 * OP_COUNT <= 32, "two bits per operation");

/* MPI defines no arithmetic for MPI_CHAR, but hosts do it. */
static bool host_reduces_as_int8(MPI_Datatype type)
{
    enum { VALUES = 8 };
    static const int8_t value[VALUES] = {
        -11, -8, -3, -1, 0, 1, 5, 10}; /* no product overflows, as hosts differ there */
#define X(name) [OP_##name] = MPI_##name,
    const MPI_Op ops[] = {OPS(X)};
#undef X
    const struct kernels *kernels = kernels_best();
    for (int op = 0; op < OP_COUNT; op++) {
        combine_fn *kernel = kernels->combine[op][PRIM_I8];
        if (!kernel)
            continue;
        int8_t in[VALUES * VALUES], ours[VALUES * VALUES], theirs[VALUES * VALUES];
        for (int i = 0; i < VALUES * VALUES; i++) {
            in[i] = value[i / VALUES];
            ours[i] = theirs[i] = value[i % VALUES];
        }
        if (!host_reduces(type, ops[op]))
            return false;
        if (node_setup_has_reduce_local() &&
            host.Reduce_local(in, theirs, VALUES * VALUES, type, ops[op]))
            return false;
        kernel(ours, in, ours, sizeof ours, NULL);
        if (node_setup_has_reduce_local() && memcmp(ours, theirs, sizeof ours) != 0)
            return false;
    }
    return true;
}

void predefined_open(void)
{
#define X(type, kind) add_kind(type, kind);
    KINDS(X)
    /* Names that a host may lack. */
#ifdef MPI_REAL16
    X(MPI_REAL16, REAL)
#endif
#ifdef MPI_COMPLEX32
    X(MPI_COMPLEX32, COMPLEX)
#endif
#ifdef MPI_CXX_BOOL
    X(MPI_CXX_BOOL, LOGICAL)
    X(MPI_CXX_FLOAT_COMPLEX, COMPLEX)
    X(MPI_CXX_DOUBLE_COMPLEX, COMPLEX)
    X(MPI_CXX_LONG_DOUBLE_COMPLEX, LONG_COMPLEX)
#endif
#ifdef MPI_LOGICAL1
    X(MPI_LOGICAL1, LOGICAL)
    X(MPI_LOGICAL2, LOGICAL)
    X(MPI_LOGICAL4, LOGICAL)
    X(MPI_LOGICAL8, LOGICAL)
#endif
#undef X
#define X(type, prim) add_pair(type, PRIM_##prim);
    PAIRS(X)
#undef X
    if (is_new(MPI_CHAR))
        add(MPI_CHAR, host_reduces_as_int8(MPI_CHAR) ? PRIM_I8 : PRIM_OTHER);
#define X(name) registry_add(&operation_registry, BITS(MPI_##name), &operation_registry, OP_##name);
    OPS(X)
#undef X
}

/* The handles of predefined datatypes and operations never change. Those of
 * MPI_Type_create_f90_real and its siblings must be kept, too: MPICH 5.0 returns the same ones when
 * it has been initialized again, and crashes in MPI_Type_get_envelope of them. */
static bool is_derived(const struct entry *e)
{
    struct typemap *map = e->object;
    if (map->base == atomic_load(&e->handle))
        return false;
    typemap_free(map);
    return true;
}

void datatypes_forget(void)
{
    registry_forget(&datatype_registry, is_derived);
}

static bool is_any_datatype(const struct entry *e)
{
    typemap_free(e->object);
    return true;
}

static bool is_any_operation(const struct entry *e)
{
    (void)e;
    return true;
}

void predefined_forget(void)
{
    registry_forget(&datatype_registry, is_any_datatype);
    registry_forget(&operation_registry, is_any_operation);
}

const struct typemap *predefined_for(const struct typemap *map)
{
    struct entry *e = map->base ? registry_find(&datatype_registry, map->base) : NULL;
    return e ? e->object : map;
}

const struct typemap *predefined_other(MPI_Datatype type)
{
    return add(type, PRIM_OTHER);
}
