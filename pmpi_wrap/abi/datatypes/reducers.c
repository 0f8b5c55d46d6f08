#include "pmpi_wrap/abi/datatypes/reducers.h"

#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/quirks.h"

#include <limits.h>

const struct kernels *reduction_kernels;
struct reducer reducers[OP_COUNT][PRIM_COUNT];

void reducers_open(void)
{
    static const uint32_t element[PRIM_COUNT] = {
#define X(name, type) [PRIM_##name] = sizeof(type),
        PRIMS(X)
#undef X
    };
    const struct kernels *kernels = reduction_kernels = kernels_best();
    for (int op = 0; op < OP_COUNT; op++)
        for (int prim = 0; prim < PRIM_COUNT; prim++) {
            enum prim as =
                prim == PRIM_BYTE && quirk(QUIRK_ACCUMULATES_BYTES) ? PRIM_I8 : (enum prim)prim;
            combine_fn *kernel = kernels->combine[op][as];
            bool implemented = kernel || op == OP_REPLACE || op == OP_NO_OP;
            reducers[op][prim] =
                atomic_reducer((enum op)op, as, implemented ? element[prim] : 0, kernel);
        }
}

/* Used only where `out` is the same buffer as `a`. */
static void accumulate_by_host(const struct reducer *r, void *out, const void *a, const void *b,
                               size_t n)
{
    (void)a;
    for (size_t part; n; n -= part) {
        part = n < INT_MAX ? n : INT_MAX;
        host.Reduce_local(b, out, (int)part, HANDLE_OF(MPI_Datatype, r->host_type),
                          HANDLE_OF(MPI_Op, r->host_op));
        b = (const char *)b + part * r->element;
        out = (char *)out + part * r->element;
    }
}

bool find_reducer(MPI_Op op, const struct typemap *element, struct reducer *r)
{
    enum op known = op_of(op);
    if (known == OP_COUNT)
        return false;
    if (!element->size) { /* it has no prim, and no element will be reduced */
        *r = (struct reducer){.op = known == OP_NO_OP ? OP_NO_OP : OP_REPLACE, .element = 1};
        return true;
    }
    *r = reducers[known][element->prim];
    if (r->element)
        return true;
    *r = atomic_reducer(known, element->prim, element->element, NULL);
    if (element->prim == PRIM_MIXED)
        r->native = NULL; /* the bytes of one element are moved together */
    if (known == OP_REPLACE || known == OP_NO_OP)
        return true;
    r->apply = accumulate_by_host;
    r->host_type = element->base;
    r->host_op = BITS(op);
    return element->base && node_setup_has_reduce_local() &&
           host_reduces(HANDLE_OF(MPI_Datatype, element->base), op);
}
