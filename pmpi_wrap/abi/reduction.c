#include "pmpi_wrap/abi/reduction.h"

#include "coll_inplace/team.h"

#include <stdlib.h>

static const struct kernels *kernels;

/* ---- the user's operations ---- */

/* MPI_Reduce_local makes inout = in op inout. Elements travel packed; the function gets them as the
 * datatype lays them out. */
static void apply(const struct reducer *r, void *out, const void *a, const void *b, size_t n)
{
    _Alignas(LINE) char packed[TEAM_CELL];
    MPI_Datatype type = HANDLE_OF(MPI_Datatype, r->host_type);
    MPI_Op op = HANDLE_OF(MPI_Op, r->host_op);
    if (!r->scratch) {
        memcpy(packed, b, n * r->element);
        host.Reduce_local(a, packed, (int)n, type, op);
        memcpy(out, packed, n * r->element);
        return;
    }
    ptrdiff_t low, high;
    typemap_span(r->map, n, &low, &high);
    struct buffer left = {r->scratch - low, r->map, n}, right = {left.at + (high - low), r->map, n};
    buffer_write(left, 0, a, n * r->element);
    buffer_write(right, 0, b, n * r->element);
    host.Reduce_local(left.at, right.at, (int)n, type, op);
    buffer_read(out, right, 0, n * r->element);
}

static bool users(struct reducer *red, MPI_Op op, MPI_Datatype type, struct buffer b)
{
    const struct typemap *map = typemap_to_move(b.map);
    ptrdiff_t low, high;
    if (op == MPI_OP_NULL || map->size * b.count > TEAM_CELL ||
        !typemap_span(b.map, b.count, &low, &high))
        return false;
    *red = (struct reducer){.element = map->size ? map->size : 1,
                            .apply = apply,
                            .map = b.map,
                            .host_type = BITS(type),
                            .host_op = BITS(op)};
    if (!b.map->contiguous || b.map->without_holes) {
        red->scratch = malloc(2 * (size_t)(high - low) + 1);
        if (!red->scratch)
            abort();
    }
    return true;
}

/* ---- */

bool reducer_for(struct reducer *red, MPI_Op op, MPI_Datatype type, struct buffer b)
{
    enum op known = op_of(op);
    if (UNLIKELY(!kernels))
        kernels = kernels_best();
    if (UNLIKELY(known == OP_COUNT))
        return users(red, op, type, b);
    combine_fn *kernel = kernels->combine[known][b.map->prim];
    /* A derived datatype is the program's error, even if it is made of one basic one. */
    if (UNLIKELY(!kernel) || UNLIKELY(b.map->base != BITS(type)))
        return false;
    *red = (struct reducer){.kernel = kernel, .element = b.map->element, .map = b.map};
    return true;
}

void reducer_close(struct reducer *red)
{
    if (UNLIKELY(red->scratch != NULL))
        free(red->scratch);
}
