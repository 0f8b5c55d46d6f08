/* Messages that wait in the host's queues when an accelerated call returns.
 *
 * In some programs all ranks send, call MPI_Barrier, and then receive until MPI_Iprobe finds no
 * more messages. The standard does not guarantee that this finds every message, but with the hosts
 * alone it does, and programs rely on that: the host's own barrier sends messages through the same
 * queues, so the host receives the earlier messages of the program before it completes the barrier.
 * An accelerated collective reads no queue of the host. The first MPI_Iprobe, MPI_Testall or the
 * like may then find nothing: it looks at the messages already received before it reads the queues.
 * So the first of them that finds nothing after an accelerated call is repeated.
 *
 * A program that has synchronised its threads may probe in another thread than the one that has
 * called the collective. So the flag belongs to the process.
 */
#ifndef MPIACCEL_UNSEEN_MESSAGES_H
#define MPIACCEL_UNSEEN_MESSAGES_H

#include "core/base.h"
#include "node/node.h"

#include <stdatomic.h>

extern _Atomic bool messages_may_be_unseen HIDDEN;

/* Call at the end of an accelerated call that waits for other ranks, which may have sent messages
 * before they called it. Writes only if the flag is clear, so that the line of the flag stays in
 * the caches of other threads. */
static inline void note_unseen_messages(void)
{
    if (!atomic_load_explicit(&messages_may_be_unseen, memory_order_relaxed))
        atomic_store_explicit(&messages_may_be_unseen, true, memory_order_relaxed);
}

/* How often a call that finds nothing is to be repeated; clears the flag. In each call a host reads
 * the next 16 messages of its queue or more (UCX 16, Open MPI 31), and each member of the node may
 * have sent one. */
static inline uint32_t repetitions_for_unseen(void)
{
    enum { MESSAGES_PER_CALL = 16 };
    bool unseen = atomic_load_explicit(&messages_may_be_unseen, memory_order_relaxed);
    if (LIKELY(!unseen))
        return 0;
    atomic_store_explicit(&messages_may_be_unseen, false, memory_order_relaxed);
    return 2 + node.size / MESSAGES_PER_CALL;
}

#endif
