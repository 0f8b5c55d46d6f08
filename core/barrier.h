/* Dissemination barrier of the n ranks of a team, with one LINE per rank.
 *
 * Every rank owns one word, which only it writes and which only grows: the number of rounds that
 * the rank has entered. In round r, rank i waits until the k - 1 ranks i - j * k^r (0 < j < k,
 * modulo n) have also entered the round. k is BARRIER_RADIX. After ceil(log_k n) rounds it has
 * waited for all ranks, directly or through other ranks. A team of up to k ranks needs one round,
 * in which each line is transferred between cores once.
 *
 * A rank may run ahead of a slow peer: the word only grows, so the peer still finds the round that
 * it waits for. Publishing is a release and reading is an acquire, so everything that any rank
 * wrote before the barrier is visible to every rank after it.
 */
#ifndef MPIACCEL_BARRIER_H
#define MPIACCEL_BARRIER_H

#include "core/sync.h"

#include <assert.h>

enum { BARRIER_RADIX = 8 };

struct barrier_flag {
    _Alignas(LINE) struct sync_word entered;
};

struct barrier {
    struct barrier_flag *flags; /* one per rank, shared */
    uint32_t rank, size;
    uint32_t rounds; /* rounds entered so far: the value of our own flag */
};

/* (i - distance) mod n */
static inline uint32_t barrier_before(uint32_t i, uint64_t distance, uint32_t n)
{
    uint64_t position = i + n - distance;
    return (uint32_t)(position < n ? position : position - n);
}

static inline void barrier_round(struct barrier *b, uint64_t step)
{
    /* Only this rank writes its flag. */
    assert(sync_load(&b->flags[b->rank].entered) == b->rounds);
    uint32_t round = ++b->rounds;
    sync_publish(&b->flags[b->rank].entered, round);
    for (uint64_t j = 1; j < BARRIER_RADIX && j * step < b->size; j++)
        sync_wait_until(&b->flags[barrier_before(b->rank, j * step, b->size)].entered, round);
}

static inline void barrier_wait(struct barrier *b)
{
    for (uint64_t step = 1; step < b->size; step *= BARRIER_RADIX)
        barrier_round(b, step);
}

#endif
