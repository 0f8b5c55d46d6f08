#include "bsend/peers.h"

struct peers peers = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                      .at = {[0 ... PEERS - 1] = {.rank = PEERS_NOBODY}}};

void peers_forget(uintptr_t comm)
{
    if (!atomic_load_explicit(&peers.any, memory_order_relaxed))
        return;
    pthread_mutex_lock(&peers.mutex);
    for (size_t i = 0; i < PEERS; i++)
        if (peers.at[i].comm == comm)
            peers.at[i].rank = PEERS_NOBODY;
    pthread_mutex_unlock(&peers.mutex);
}
