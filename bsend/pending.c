#include "bsend/pending.h"

#include "core/concurrency.h"
#include "core/log.h"
#include "core/sync.h"

#include <stdlib.h>

/* PATIENCE_NS: how long MPI_Bsend waits for a message after the first pending one, while messages
 * leave. MOST: Open MPI numbers its messages with 16 bits and sends new ones before waiting ones,
 * so the numbers must not wrap while a message waits. */
enum { PATIENCE_NS = 250000, MOST = 1 << 15 };

/* For messages up to this size a completed request means that the message has left the buffer. In
 * Open MPI that holds up to 4 KiB, and up to 1 KiB for messages to itself, both including headers.
 */
enum { SHORT = 512 };

static size_t capacity;
static uint64_t first_wait_ns;
static in_flight_sent_fn *has_been_sent;

/* A message has left since MPI_Bsend last waited in vain, so waiting is worthwhile. */
static _Atomic bool moving;

/* Testing one request makes the host go through all its pending messages. The next test is
 * therefore no sooner than LOOK_PART times as long after the last one as that one took. */
static _Atomic uint64_t next_look_ns;
enum { LOOK_PART = 8 };

/* Bytes of all messages that may have taken room since the buffer was last known to be empty; not
 * counted beyond `capacity`. The buffer is known to be empty when it is attached and, as long as
 * only short messages have been sent, whenever none is pending. */
static _Atomic uint64_t begun;
static _Atomic bool only_short;

void pending_open(size_t bytes, uint64_t wait_ns, in_flight_sent_fn *sent)
{
    capacity = bytes;
    first_wait_ns = wait_ns;
    next_look_ns = 0;
    begun = 0;
    only_short = true;
    has_been_sent = sent;
}

/* Count a message. Returns whether all counted messages fit into the buffer one after another; the
 * host may not find any better arrangement. */
static bool count_begun(size_t bytes)
{
    return begun <= capacity && counter_add(&begun, min_size(bytes, capacity + 1)) <= capacity;
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

/* Returns whether the request is complete, after waiting as long as allowed. */
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
            "MPI_Bsend has waited %llu ms for its receiver and returns; the message leaves during "
            "a "
            "later MPI call of this rank; if such a call comes too late, raise MPIACCEL_BSEND_WAIT",
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
    /* Not with concurrent threads: another one may have counted a message that it has not added
     * yet. */
    if (!in_flight_pending && only_short && !thread_concurrent)
        begun = 0;
    if (bytes > SHORT)
        only_short = false;
    if (!counted && !only_short) { /* a short message between two long ones may leave a gap */
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
        only_short = false; /* nothing will record when this message leaves */
        return false;
    }
    while (!completes(&request, first_wait_ns)) {
    }
    return true;
}

struct in_flight *pending_claim(size_t bytes, size_t room, bool may_wait)
{
    struct sync_wait wait = SYNC_WAIT;
    for (bool looked = false; room <= capacity && in_flight_pending; looked = true) {
        struct in_flight *copy = in_flight_pending < MOST ? in_flight_claim(bytes, room) : NULL;
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
