/* Known errors of the hosts, which programs for the hosts alone leave out. With the library all of
 * this is tested: the standard decides, not the host. */
#include "call.h"

#ifdef OPEN_MPI /* 4.1.4 */

bool host_is_wrong(const struct call *c)
{
    const struct basic *b = &basics[c->basic];
    bool integer = b->kind == SIGNED || b->kind == UNSIGNED;
    /* With one rank, the host ignores displacements and counts, and writes as if in place. */
    if (c->collective == ALLTOALLW && c->size == 1)
        return true;
    /* Data that a rank sends to itself as MPI_PACKED are contiguous, whatever the layout. */
    if (b->packed)
        return true;
    if (!c->form->reduces || c->user)
        return false;
    /* Sums of less than 32 bits saturate. */
    if (integer && c->op == OP_SUM && b->extent <= 2)
        return true;
    /* Numbers of 64 bits are compared by halves or as signed. */
    if (integer && (c->op == OP_MAX || c->op == OP_MIN) && b->extent == 8)
        return true;
    return b->value.used == 16; /* quadruple precision is treated as a long double */
}

long host_most_derived(const struct call *c)
{
    /* Chooses the algorithm by the size of the send type and the receive counts: ranks with
     * different types deadlock. */
    return c->collective == ALLGATHERV ? 0 : 2000;
}

/* Writes beyond its buffers for derived elements that do not start at their address. */
bool host_corrupts(const struct call *c)
{
    return c->collective == ALLREDUCE && c->user && c->user->parts > 1 &&
           packed_bytes(c, c->units) > 4000;
}

#else /* MPICH 4.0.2 */

/* Gets the order of derived elements wrong, and writes beyond their buffers. */
static bool scatters_derived(const struct call *c)
{
    bool scatters = c->collective == REDUCE_SCATTER || c->collective == REDUCE_SCATTER_BLOCK;
    return scatters && c->user && c->user->parts > 1;
}

/* Uses MPI_IN_PLACE as an address. */
static bool reduces_in_place(const struct call *c)
{
    return c->collective == REDUCE && c->asks_in_place && c->root;
}

/* Moves a part to the front with memcpy(), and aborts if the two overlap. */
static bool scatters_in_place(const struct call *c)
{
    return c->collective == REDUCE_SCATTER && c->asks_in_place;
}

bool host_corrupts(const struct call *c)
{
    return (scatters_derived(c) || (reduces_in_place(c) && c->user)) &&
           packed_bytes(c, c->size * c->units) > 8000;
}

long host_most_derived(const struct call *c)
{
    (void)c;
    return 2000; /* truncates longer messages */
}

bool host_is_wrong(const struct call *c)
{
    const struct basic *b = &basics[c->basic];
    /* With one rank, the host ignores the displacement. */
    if (c->collective == ALLGATHERV && c->size == 1)
        return true;
    /* Truncates long messages of pairs with padding. */
    if (b->kind == PAIR && b->value.size + b->index.size < b->extent)
        return true;
    if (scatters_derived(c) || scatters_in_place(c) || reduces_in_place(c))
        return true;
    if (!c->form->reduces || c->user)
        return false;
    /* Compares unsigned numbers as signed. */
    if (b->kind == UNSIGNED && (c->op == OP_MAX || c->op == OP_MIN))
        return true;
    return b->value.used == 16; /* quadruple precision is treated as a long double */
}

#endif
