#include "core/barrier.h"

#include <assert.h>

enum { RADIX = ORDER_RADIX };

static inline uint32_t enter(struct barrier *b)
{
    /* Only this rank writes its flag. */
    assert(sync_load(&b->flags[b->rank].entered) == b->rounds);
    uint32_t round = ++b->rounds;
    sync_publish(&b->flags[b->rank].entered, round);
    return round;
}

/* (i - distance) mod n */
static inline uint32_t before(uint32_t i, uint64_t distance, uint32_t n)
{
    uint64_t position = i + n - distance;
    return (uint32_t)(position < n ? position : position - n);
}

static inline void await_ranks(struct barrier *b, uint64_t step)
{
    uint32_t round = enter(b);
    for (uint64_t j = 1; j < RADIX && j * step < b->size; j++)
        sync_wait_until(&b->flags[before(b->rank, j * step, b->size)].entered, round);
}

static void await_neighbours(struct barrier *b, uint64_t step)
{
    const struct order *o = b->order;
    uint32_t round = enter(b), domain = o->domain[b->rank];
    uint32_t first = o->start[domain], ranks = order_ranks_of(o, domain);
    uint32_t own = o->place[b->rank] - first;
    for (uint64_t j = 1; j < RADIX && j * step < ranks; j++)
        sync_wait_until(&b->flags[o->rank[first + before(own, j * step, ranks)]].entered, round);
}

/* Any rank of a domain stands for all its ranks; ranks choose different ones. */
static void await_domains(struct barrier *b, uint64_t step)
{
    const struct order *o = b->order;
    uint32_t round = enter(b), domain = o->domain[b->rank];
    uint32_t own = o->place[b->rank] - o->start[domain];
    for (uint64_t j = 1; j < RADIX && j * step < o->domains; j++) {
        uint32_t other = before(domain, j * step, o->domains);
        uint32_t position = o->start[other] + own % order_ranks_of(o, other);
        sync_wait_until(&b->flags[o->rank[position]].entered, round);
    }
}

/* Wait for one rank per unit. That rank stands for itself and the unit - 1 ranks before it. */
static void await_units(struct barrier *b)
{
    const struct order *o = b->order;
    uint32_t round = enter(b), domain = o->domain[b->rank];
    uint32_t own = o->place[b->rank] - o->start[domain];
    for (uint32_t d = 0; d < o->domains; d++) {
        uint32_t ranks = order_ranks_of(o, d), i = own % ranks;
        for (uint32_t back = d == domain ? o->unit : 0; back < ranks; back += o->unit)
            sync_wait_until(&b->flags[o->rank[o->start[d] + before(i, back, ranks)]].entered,
                            round);
    }
}

static void wait_by_domains(struct barrier *b)
{
    const struct order *o = b->order;
    for (uint64_t step = 1; step < o->unit; step *= RADIX)
        await_neighbours(b, step);
    if (o->units <= RADIX)
        await_units(b);
    else
        for (uint64_t step = 1; step < o->domains; step *= RADIX)
            await_domains(b, step);
}

static __attribute__((noinline)) void wait_for_many(struct barrier *b)
{
    if (b->order)
        wait_by_domains(b);
    else
        for (uint64_t step = 1; step < b->size; step *= RADIX)
            await_ranks(b, step);
}

void barrier_wait(struct barrier *b)
{
    if (UNLIKELY(b->size > RADIX))
        wait_for_many(b);
    else if (b->size > 1)
        await_ranks(b, 1);
}
