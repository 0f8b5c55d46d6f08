#include "core/barrier.h"

enum { RADIX = 8 };

static void await(struct sync_word *word, uint32_t goal)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t seen;
    while (!sync_reached(seen = sync_load(word), goal))
        sync_wait(&wait, word, seen);
}

void barrier_wait(struct barrier *b)
{
    for (uint64_t step = 1; step < b->size; step *= RADIX) {
        uint32_t round = ++b->rounds;
        sync_post(&b->flags[b->rank].entered, round);
        for (uint64_t j = 1; j < RADIX && j * step < b->size; j++) {
            uint64_t peer = b->rank + b->size - j * step;
            await(&b->flags[peer < b->size ? peer : peer - b->size].entered, round);
        }
    }
}
