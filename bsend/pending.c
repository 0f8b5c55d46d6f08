#include "bsend/pending.h"

#include "core/log.h"
#include "core/sync.h"
#include "core/concurrency.h"

#include <stdlib.h>

/* How long MPI_Bsend waits after the first one, while they leave. MOST: the host numbers its
 * messages with 16 bits, and sends new ones before those that wait. */
enum { PATIENCE_NS = 250000, MOST = 1 << 15 };

/* Up to here the host says truly when a message has left the buffer: Open MPI does up to 4 KiB,
 * and up to 1 KiB for those to itself, both with headers of its own. */
enum { SHORT = 512 };

static size_t room;
static uint64_t first_wait_ns;
static in_flight_sent_fn *has_been_sent;

/* Whether one has left since MPI_Bsend last waited in vain: then waiting is worthwhile. */
static _Atomic bool moving;

/* The host goes through all pending messages whenever it is asked about one: then not again before
 * this time. */
static _Atomic uint64_t next_look_ns;
enum { LOOK_PART = 8 };

/* Bytes of all messages that may have taken room since the buffer was known to be empty; no longer
 * counted beyond `room`. It is known to be empty when it is attached, and, while there have been
 * `only_short` ones, when none is pending. */
static _Atomic uint64_t begun;
static _Atomic bool only_short;

void pending_open(size_t bytes, uint64_t wait_ns, in_flight_sent_fn *sent)
{
    room = bytes;
    first_wait_ns = wait_ns;
    next_look_ns = 0;
    begun = 0;
    only_short = true;
    has_been_sent = sent;
}

/* Whether all of them fit: one behind the other, as the host may find no better places. */
static bool count_begun(size_t bytes)
{
    return begun <= room && counter_add(&begun, min_size(bytes, room + 1)) <= room;
}

static void look(uint32_t most)
{
    uint32_t before = in_flight_pending;
    in_flight_look(most);
    if (in_flight_pending < before)
        moving = true;
}

static void look_sometimes(void)
{
    uint64_t start = sync_now_ns();
    if (start < next_look_ns)
        return;
    look(1);
    uint64_t end_ns = sync_now_ns();
    next_look_ns = end_ns + LOOK_PART * (end_ns - start);
}

static bool completes(uintptr_t *request, uint64_t within_ns)
{
    if (has_been_sent(request))
        return true;
    struct sync_wait wait = SYNC_WAIT;
    for (uint64_t end_ns = sync_now_ns() + within_ns; sync_now_ns() < end_ns;) {
        sync_pause(&wait);
        if (has_been_sent(request))
            return true;
    }
    return false;
}

/* Whether it is complete, after as long a wait as is allowed. */
static bool leaves(uintptr_t *request, bool may_wait)
{
    bool is_first = !in_flight_pending;
    if (!is_first && !moving)
        return false;
    if (completes(request, !may_wait ? 0 : is_first ? first_wait_ns : PATIENCE_NS))
        return true;
    moving = false;
    if (may_wait && is_first)
        log_once(
            1,
            "MPI_Bsend has waited %llu ms for its receiver and goes on; the message leaves in a "
            "later call of this rank's; if that comes late, raise MPIACCEL_BSEND_WAIT",
            (unsigned long long)(first_wait_ns / 1000000));
    return false;
}

bool pending_reserve(size_t bytes)
{
    look_sometimes();
    return in_flight_pending && in_flight_pending < MOST && count_begun(bytes);
}

bool pending_add(uintptr_t request, size_t bytes, bool reserved, bool may_wait)
{
    bool counted = reserved;
    /* (With threads, another may be about to add one that it has counted.) */
    if (!in_flight_pending && only_short && !thread_concurrent)
        begun = 0;
    if (bytes > SHORT)
        only_short = false;
    if (!counted && !only_short) { /* a short one may lie between two long ones, and leave a gap */
        count_begun(bytes);
        counted = true;
    }
    if (leaves(&request, may_wait))
        return true;
    if (!counted)
        count_begun(bytes);
    struct in_flight *f = calloc(1, sizeof *f);
    if (f) {
        f->pending = true;
        in_flight_add(f, request);
        return true;
    }
    if (!may_wait) {
        only_short = false; /* we shall not see it leave */
        return false;
    }
    while (!completes(&request, first_wait_ns)) {
    }
    return true;
}

struct in_flight *pending_claim(size_t bytes, bool may_wait)
{
    struct sync_wait wait = SYNC_WAIT;
    for (bool looked = false; bytes <= room && in_flight_pending; looked = true) {
        struct in_flight *copy = in_flight_pending < MOST ? in_flight_claim(bytes) : NULL;
        if (copy || (looked && !may_wait))
            return copy;
        if (looked)
            sync_pause(&wait);
        look(UINT32_MAX);
    }
    return NULL;
}

void pending_add_copy(struct in_flight *copy, uintptr_t request, bool may_wait)
{
    if (leaves(&request, may_wait)) {
        in_flight_drop(copy);
        return;
    }
    copy->pending = true;
    in_flight_add(copy, request);
}
