#include "core/barrier.h"

enum { RADIX = ORDER_RADIX };

static inline uint32_t enter(struct barrier *b)
{
    uint32_t round = ++b->rounds;
    sync_publish(&b->flags[b->rank].entered, round);
    return round;
}

/* So many before `me` among n. */
static inline uint32_t before(uint32_t me, uint64_t distance, uint32_t n)
{
    uint64_t at = me + n - distance;
    return (uint32_t)(at < n ? at : at - n);
}

static inline void hear_ranks(struct barrier *b, uint64_t step)
{
    uint32_t round = enter(b);
    for (uint64_t j = 1; j < RADIX && j * step < b->size; j++)
        sync_wait_until(&b->flags[before(b->rank, j * step, b->size)].entered, round);
}

static void hear_neighbours(struct barrier *b, uint64_t step)
{
    const struct order *o = b->order;
    uint32_t round = enter(b), domain = o->domain[b->rank];
    uint32_t first = o->start[domain], ranks = order_ranks_of(o, domain);
    uint32_t me = o->place[b->rank] - first;
    for (uint64_t j = 1; j < RADIX && j * step < ranks; j++)
        sync_wait_until(&b->flags[o->rank[first + before(me, j * step, ranks)]].entered, round);
}

/* One of a domain speaks for all of it: which one does not matter. */
static void hear_domains(struct barrier *b, uint64_t step)
{
    const struct order *o = b->order;
    uint32_t round = enter(b), domain = o->domain[b->rank];
    uint32_t me = o->place[b->rank] - o->start[domain];
    for (uint64_t j = 1; j < RADIX && j * step < o->domains; j++) {
        uint32_t there = before(domain, j * step, o->domains);
        uint32_t at = o->start[there] + me % order_ranks_of(o, there);
        sync_wait_until(&b->flags[o->rank[at]].entered, round);
    }
}

/* One for each unit: it has heard of itself and the unit - 1 before it. */
static void hear_units(struct barrier *b)
{
    const struct order *o = b->order;
    uint32_t round = enter(b), domain = o->domain[b->rank];
    uint32_t me = o->place[b->rank] - o->start[domain];
    for (uint32_t d = 0; d < o->domains; d++) {
        uint32_t ranks = order_ranks_of(o, d), at = me % ranks;
        for (uint32_t back = d == domain ? o->unit : 0; back < ranks; back += o->unit)
            sync_wait_until(&b->flags[o->rank[o->start[d] + before(at, back, ranks)]].entered,
                            round);
    }
}

static void hear_in_order(struct barrier *b)
{
    const struct order *o = b->order;
    for (uint64_t step = 1; step < o->unit; step *= RADIX)
        hear_neighbours(b, step);
    if (o->units <= RADIX)
        hear_units(b);
    else
        for (uint64_t step = 1; step < o->domains; step *= RADIX)
            hear_domains(b, step);
}

static __attribute__((noinline)) void wait_for_many(struct barrier *b)
{
    if (b->order)
        hear_in_order(b);
    else
        for (uint64_t step = 1; step < b->size; step *= RADIX)
            hear_ranks(b, step);
}

void barrier_wait(struct barrier *b)
{
    if (UNLIKELY(b->size > RADIX))
        wait_for_many(b);
    else if (b->size > 1)
        hear_ranks(b, 1);
}
