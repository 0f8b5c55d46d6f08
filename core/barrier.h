/* Barrier of the n ranks of a team over one line each.
 *
 * Every rank owns one word that only grows; it publishes how many rounds it has entered, and nobody
 * else writes it. In round r rank i waits until the k - 1 ranks i - j * k^r (0 < j < k, mod n) have
 * entered the round too: after ceil(log_k n) rounds it has heard of all, directly or through
 * others. Teams of up to k ranks need one round, that is one flight of a flag.
 *
 * With domains (order.h) the ranks of each do this among themselves, until each has heard of a unit
 * of them, itself and those before it. Then each hears one rank for each unit there is; or, where
 * domains are many and units are whole ones, the domains do among themselves as ranks did. So few
 * flights one after another cross from one domain to another, mostly one. All make as many rounds,
 * so numbers agree.
 *
 * A rank may run ahead of a slow peer; since the word only grows, the peer still finds what it
 * waits for. Publishing is a release and looking is an acquire: what any rank wrote before its
 * barrier every rank sees after.
 */
#ifndef MPIACCEL_BARRIER_H
#define MPIACCEL_BARRIER_H

#include "core/order.h"
#include "core/sync.h"

struct barrier_flag {
    _Alignas(LINE) struct sync_word entered;
};

struct barrier {
    struct barrier_flag *flags; /* one a rank, shared */
    uint32_t rank, size;
    uint32_t rounds;           /* entered so far: what our own flag holds */
    const struct order *order; /* NULL: no domains */
};

void barrier_wait(struct barrier *barrier);

#endif
