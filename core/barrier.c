#include "core/barrier.h"

enum { RADIX = 8 };

void barrier_wait(struct barrier *b)
{
    for (uint64_t step = 1; step < b->size; step *= RADIX) {
        uint32_t round = ++b->rounds;
        sync_publish(&b->flags[b->rank].entered, round);
        for (uint64_t j = 1; j < RADIX && j * step < b->size; j++) {
            uint64_t peer = b->rank + b->size - j * step;
            sync_await(&b->flags[peer < b->size ? peer : peer - b->size].entered, round);
        }
    }
}
