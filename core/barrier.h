/* Dissemination barrier of the n ranks of a team, with one LINE per rank.
 *
 * Every rank owns one word, which only it writes and which only grows: the number of rounds that
 * the rank has entered. In round r, rank i waits until the k - 1 ranks i - j * k^r (0 < j < k,
 * modulo n) have also entered the round. k is ORDER_RADIX. After ceil(log_k n) rounds it has waited
 * for all ranks, directly or through other ranks. A team of up to k ranks needs one round, in which
 * each line is transferred between cores once.
 *
 * With domains (order.h) the ranks of each domain first run these rounds among themselves, until
 * each rank has waited for as many ranks as a unit has: itself and the ranks before it. In the last
 * round each rank then waits for one rank of every unit. Where there are more than k domains, each
 * domain is one unit, and the domains run rounds among themselves as the ranks did. So the longest
 * chain of dependent transfers crosses domains only a few times, mostly once. All ranks run the
 * same number of rounds, so their words stay equal.
 *
 * A rank may run ahead of a slow peer: the word only grows, so the peer still finds the round that
 * it waits for. Publishing is a release and reading is an acquire, so everything that any rank
 * wrote before the barrier is visible to every rank after it.
 */
#ifndef MPIACCEL_BARRIER_H
#define MPIACCEL_BARRIER_H

#include "core/order.h"
#include "core/sync.h"

struct barrier_flag {
    _Alignas(LINE) struct sync_word entered;
};

struct barrier {
    struct barrier_flag *flags; /* one per rank, shared */
    uint32_t rank, size;
    uint32_t rounds;           /* rounds entered so far: the value of our own flag */
    const struct order *order; /* NULL: no domains */
};

void barrier_wait(struct barrier *barrier);

#endif
