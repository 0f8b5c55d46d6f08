#include "pmpi_wrap/abi/collectives/reduction.h"

#include "alloc/arena.h"
#include "coll_inplace/reduce_unsegmented.h"
#include "coll_inplace/stream.h"
#include "pmpi_wrap/abi/collectives/arguments.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/quirks.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

/* ---- user-defined operations ---- */

/* Elements are transported packed. True: the operation's function needs them unpacked. */
static bool needs_layout(const struct typemap *map)
{
    return !map->contiguous || map->without_holes;
}

/* The span of an unpacked operand of n elements, widened to multiples of the alignment that
 * malloc() gives: operands that follow each other are aligned like the program's. */
static bool operand_span(const struct typemap *map, size_t n, ptrdiff_t *low, ptrdiff_t *high)
{
    ptrdiff_t align = _Alignof(max_align_t);
    if (!typemap_span(map, n, low, high))
        return false;
    *low &= -align;
    *high = *low + (ptrdiff_t)round_up((size_t)(*high - *low), (size_t)align);
    return true;
}

/* MPI_Reduce_local computes inout = in op inout, so the right operand is copied first unless the
 * result replaces it, as it does for operands of more than TEAM_CELL bytes. */
static void apply_by_host(const struct reducer *r, void *out, const void *a, const void *b,
                          size_t n)
{
    MPI_Datatype type = HANDLE_OF(MPI_Datatype, r->host_type);
    MPI_Op op = HANDLE_OF(MPI_Op, r->host_op);
    if (!needs_layout(r->map) && out == b) {
        host.Reduce_local(a, out, (int)n, type, op);
        /* Orders non-temporal stores of the function before the store that publishes the result. */
        sync_full_fence();
        return;
    }
    if (!needs_layout(r->map)) {
        assert(fits_into_cell(n * r->element));
        memcpy(r->few, b, n * r->element);
        host.Reduce_local(a, r->few, (int)n, type, op);
        memcpy(out, r->few, n * r->element);
        return;
    }
    ptrdiff_t low, high;
    operand_span(r->map, n, &low, &high);
    struct buffer left = {r->scratch - low, r->map, n}, right = {left.at + (high - low), r->map, n};
    buffer_write(left, 0, a, n * r->element);
    buffer_write(right, 0, b, n * r->element);
    host.Reduce_local(left.at, right.at, (int)n, type, op);
    buffer_read(out, right, 0, n * r->element);
}

/* The node's shared file may have memory left when the process has none. A rank that finds none
 * there either is starved: it takes part in the call, but has no result. */
static COLD void allocate_shared(struct reducer *red, size_t room)
{
    red->scratch = arena_control_alloc_raw(room);
    red->scratch_shared = red->scratch;
    red->starved = !red->scratch;
}

/* Under a host that divides operands, the function of an operation that commutes gets parts of them
 * anyway. */
static bool divides_operands(MPI_Op op)
{
    int commutes = 0;
    return quirk(QUIRK_DIVIDES_OPERANDS) && host.Op_commutative(op, &commutes) == MPI_SUCCESS &&
           commutes;
}

/* The second half of a cell of our stream. The first half is where operands of
 * up to TEAM_CELL bytes are combined. */
static char *room_for_few(struct team *t)
{
    _Static_assert(STREAM_CELL >= 2 * TEAM_CELL, "room for both");
    return t->alone ? NULL : stream_borrow(t) + TEAM_CELL;
}

bool reducer_open_user_defined(struct reducer *red, struct team *t, MPI_Op op, MPI_Datatype type,
                               struct buffer b)
{
    const struct typemap *map = typemap_to_move(b.map);
    size_t bytes = map->size * b.count, room = 0;
    ptrdiff_t low, high;
    if (op == MPI_OP_NULL || !node_setup_has_reduce_local() ||
        (!fits_into_cell(bytes) && team_larger_group(t) > UNSEGMENTED_RANKS_MAX) ||
        b.count > INT_MAX || !operand_span(b.map, b.count, &low, &high))
        return false;
    *red = (struct reducer){.element = map->size ? map->size : 1,
                            .apply = apply_by_host,
                            .map = b.map,
                            .few = room_for_few(t),
                            .host_type = BITS(type),
                            .host_op = BITS(op)};
    if (needs_layout(b.map))
        room = 2 * (size_t)(high - low) + 1;
    red->divides = !fits_into_cell(bytes) && divides_operands(op);
    if (room && !(red->scratch = malloc(room)))
        allocate_shared(red, room);
    return true;
}

COLD void reducer_free_scratch(struct reducer *red)
{
    if (red->scratch_shared)
        arena_control_free(red->scratch);
    else
        free(red->scratch);
}

/* ---- results ---- */

bool translate_results(const struct reduction *r, const struct rank_blocks *results, uint32_t ranks,
                       struct blocks *blocks, MPI_Count *sum)
{
    *blocks = (struct blocks){.map = typemap_of_or_abort(r->type),
                              .count = (size_t)results->count,
                              .counts = results->counts,
                              .wide = results->large_counts};
    if (!blocks->map || (!results->counts && results->count < 0) ||
        !blocks_are_valid(blocks, ranks))
        return false;
    *sum = 0;
    for (uint32_t rank = 0; rank < ranks; rank++)
        *sum += (MPI_Count)block_of(blocks, rank).count;
    return true;
}
