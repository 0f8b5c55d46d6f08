#include "bsend/peers.h"

struct peers peers = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void peers_forget(uintptr_t comm)
{
    pthread_mutex_lock(&peers.mutex);
    for (size_t i = 0; i < PEERS; i++)
        if (peers.at[i].comm == comm)
            peers.at[i].comm = 0;
    pthread_mutex_unlock(&peers.mutex);
}
