#include "core/barrier.h"

#include <assert.h>

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
    for (uint64_t j = 1; j < BARRIER_RADIX && j * step < b->size; j++)
        sync_wait_until(&b->flags[before(b->rank, j * step, b->size)].entered, round);
}

static NOINLINE void wait_for_many(struct barrier *b)
{
    for (uint64_t step = 1; step < b->size; step *= BARRIER_RADIX)
        await_ranks(b, step);
}

void barrier_wait(struct barrier *b)
{
    if (UNLIKELY(b->size > BARRIER_RADIX))
        wait_for_many(b);
    else if (b->size > 1)
        await_ranks(b, 1);
}
