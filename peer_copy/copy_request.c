#include "peer_copy/copy_request.h"

#include "node/node.h"

#include <assert.h>
#include <string.h>

/* Values of `state`. ASKED includes the owner: the owner's threads take a request by compare and
 * swap, which must fail if the request has meanwhile been answered and followed by one for another
 * owner. */
enum { FREE, CLAIMED, TAKEN, ANSWERED, ASKED /* + the member */ };

_Atomic uint32_t copy_requests_answered;
static _Atomic uint32_t looked; /* the value of `copies_wanted` at the last search */

/* ---- the owner ---- */

static void answer(uint32_t member)
{
    struct copy_request *r = &node_member(member)->copy_request;
    uint32_t asked = ASKED + node.me;
    if (!atomic_compare_exchange_strong_explicit(&r->state.value, &asked, TAKEN,
                                                 memory_order_acquire, memory_order_relaxed))
        return;
    char *room = layout_copy_room(node.header, member), *memory = (char *)(uintptr_t)r->address;
    assert(r->bytes <= LAYOUT_COPY_ROOM);
    if (r->writes)
        memcpy(memory, room, r->bytes);
    else
        memcpy(room, memory, r->bytes);
    /* Count before the answer is published: when the requester is done, every thread of this
     * process already sees that the process has answered a request. */
    atomic_fetch_add_explicit(&copy_requests_answered, 1, memory_order_relaxed);
    assert(sync_load(&r->state) == TAKEN); /* only this thread may change it */
    sync_publish(&r->state, ANSWERED);
}

static void answer_all(void)
{
    if (!node.header)
        return;
    uint32_t wanted = sync_load(&node_member(node.me)->copies_wanted);
    if (LIKELY(wanted == atomic_load_explicit(&looked, memory_order_relaxed)))
        return;
    for (uint32_t i = 0; i < node.size; i++)
        answer(i);
    atomic_store_explicit(&looked, wanted, memory_order_relaxed);
}

void copy_requests_open(void)
{
    sync_set_service(answer_all);
}

/* ---- the requester ---- */

static struct copy_request *claim(void)
{
    struct copy_request *r = &node_member(node.me)->copy_request;
    struct sync_wait wait = SYNC_WAIT;
    uint32_t seen = FREE;
    while (!atomic_compare_exchange_strong_explicit(&r->state.value, &seen, CLAIMED,
                                                    memory_order_acquire, memory_order_relaxed)) {
        sync_wait(&wait, &r->state, seen);
        seen = FREE;
    }
    return r;
}

/* Request a copy. This also ends the owner's sleep if the owner waits for messages of the host. All
 * other sleeps are short. */
static void ask_owner(struct copy_request *r, uint32_t owner)
{
    struct layout_member *member = node_member(owner);
    assert(sync_load(&r->state) == CLAIMED || sync_load(&r->state) == ANSWERED);
    sync_publish(&r->state, ASKED + owner);
    atomic_fetch_add_explicit(&member->copies_wanted.value, 1, memory_order_seq_cst);
    atomic_fetch_add_explicit(&member->mail.value, 1, memory_order_seq_cst);
    sync_wake(&member->mail);
    struct sync_wait wait = SYNC_WAIT;
    uint32_t seen;
    while ((seen = sync_load(&r->state)) != ANSWERED)
        sync_wait(&wait, &r->state, seen);
}

void copy_through_owner(uint32_t owner, uint64_t remote, char *to, const char *from, size_t bytes)
{
    struct copy_request *r = claim();
    char *room = layout_copy_room(node.header, node.me);
    for (size_t at = 0, part; at < bytes; at += part) {
        part = min_size(LAYOUT_COPY_ROOM, bytes - at);
        r->address = remote + at;
        r->bytes = part;
        r->writes = from;
        if (from)
            memcpy(room, from + at, part);
        ask_owner(r, owner);
        if (to)
            memcpy(to + at, room, part);
    }
    sync_publish(&r->state, FREE);
}
