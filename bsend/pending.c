#include "bsend/pending.h"

#include "core/say.h"
#include "core/sync.h"
#include "core/thread.h"

#include <pthread.h>
#include <stdlib.h>

/* While they leave, after the first one, which has waited for long. MOST: the host numbers its
 * messages with 16 bits, and sends new ones before those that wait. */
enum { PATIENCE_NS = 250000, MOST = 1 << 15 };

/* Up to here the host says truly when a message has left the buffer: Open MPI does up to 4 KiB,
 * and up to 1 KiB for those to itself, both with headers of its own. */
enum { SHORT = 512 };

_Atomic uint32_t pending_count;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct flights kept = FLIGHTS_INITIALIZER(kept);
static size_t room, taken; /* bytes: of the buffer, by our copies */
static uint64_t first_ns;
static pending_sent_fn *has_been_sent;

/* Whether one has left since we last waited for one in vain: to wait is worth while. */
static _Atomic bool moving;

/* The host goes through all that wait whenever it is asked for one: then not again before this. */
static _Atomic uint64_t next_look_ns;
enum { LOOK_PART = 8 };

/* Bytes of all that may have taken room since the buffer was known to be empty; no longer counted
 * when they are more than `room`. It is known to be when it is attached, and while there have been
 * `only_short` ones when none is kept. */
static _Atomic uint64_t begun;
static _Atomic bool only_short;

void pending_open(size_t bytes, uint64_t wait_ns, pending_sent_fn *sent)
{
    room = bytes;
    first_ns = wait_ns;
    next_look_ns = 0;
    begun = 0;
    only_short = true;
    has_been_sent = sent;
}

/* Whether all of them fit: one behind the other, as the host may find no better places. */
static bool count_begun(size_t bytes)
{
    return begun <= room && thread_add(&begun, min_size(bytes, room + 1)) <= room;
}

/* ---- the list ---- */

static void keep(struct flight *f)
{
    pending_count++;
    flights_add(&kept, f);
}

/* (Another thread may be about to keep one that it has counted.) */
static void forget(struct flight *f)
{
    pthread_mutex_lock(&mutex);
    if (--pending_count == 0 && only_short && !thread_concurrent)
        begun = 0;
    taken -= f->bytes;
    moving = true;
    pthread_mutex_unlock(&mutex);
    free(f);
}

/* The oldest, as far as they are complete. */
static void reap(void)
{
    struct flight *f;
    while ((f = flights_take_first(&kept)) && has_been_sent(&f->request))
        forget(f);
    if (f)
        flights_put_back(&kept, f, &f->next);
}

static void reap_sometimes(void)
{
    uint64_t start = sync_now_ns();
    if (start < next_look_ns)
        return;
    reap();
    uint64_t end_ns = sync_now_ns();
    next_look_ns = end_ns + LOOK_PART * (end_ns - start);
}

/* All that are complete: behind one whose receiver sleeps there may be others that have left. */
static void sweep(void)
{
    struct flight *next, *rest = NULL, **last = &rest;
    for (struct flight *f = flights_take_all(&kept); f; f = next) {
        next = f->next;
        if (has_been_sent(&f->request)) {
            forget(f);
        } else {
            *last = f;
            last = &f->next;
        }
    }
    if (rest)
        flights_put_back(&kept, rest, last);
}

static struct flight *make(size_t bytes)
{
    struct flight *f = malloc(sizeof *f + bytes);
    if (f)
        *f = (struct flight){.bytes = bytes, .copy = (char *)(f + 1)};
    return f;
}

static bool take_room(size_t bytes)
{
    pthread_mutex_lock(&mutex);
    bool fits = bytes <= room - taken && pending_count < MOST;
    if (fits)
        taken += bytes;
    pthread_mutex_unlock(&mutex);
    return fits;
}

static void give_room_back(size_t bytes)
{
    pthread_mutex_lock(&mutex);
    taken -= bytes;
    pthread_mutex_unlock(&mutex);
}

/* ---- what others call ---- */

void pending_drain(void)
{
    struct sync_wait wait = SYNC_WAIT;
    while (pending_count && (reap(), pending_count))
        sync_pause(&wait);
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

bool pending_reserve(size_t bytes)
{
    reap_sometimes();
    return pending_count && pending_count < MOST && count_begun(bytes);
}

/* It is not kept if it leaves while we may wait. */
static bool leaves(uintptr_t *request, bool may_wait)
{
    bool is_first = !pending_count;
    if (!is_first && !moving)
        return false;
    if (completes(request, !may_wait ? 0 : is_first ? first_ns : PATIENCE_NS))
        return true;
    moving = false;
    if (may_wait && is_first)
        say_once(
            1,
            "MPI_Bsend has waited %llu ms for its receiver and goes on; the message leaves in a "
            "later call of this rank's; if that comes late, raise MPIACCEL_BSEND_WAIT",
            (unsigned long long)(first_ns / 1000000));
    return false;
}

bool pending_add(uintptr_t request, size_t bytes, bool reserved, bool may_wait)
{
    bool counted = reserved;
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
    struct flight *f = make(0);
    if (f) {
        f->request = request;
        keep(f);
        return true;
    }
    if (!may_wait) {
        only_short = false; /* we shall not see it leave */
        return false;
    }
    while (!completes(&request, first_ns)) {
    }
    return true;
}

struct flight *pending_claim(size_t bytes, bool may_wait)
{
    if (!pending_count || bytes > room)
        return NULL;
    struct sync_wait wait = SYNC_WAIT;
    while (!take_room(bytes)) {
        sweep();
        if (take_room(bytes))
            break;
        if (!may_wait)
            return NULL;
        sync_pause(&wait);
    }
    struct flight *f = make(bytes);
    if (!f)
        give_room_back(bytes);
    return f;
}

void pending_flies(struct flight *f, uintptr_t request, bool may_wait)
{
    f->request = request;
    if (leaves(&f->request, may_wait))
        pending_drop(f);
    else
        keep(f);
}

void pending_drop(struct flight *f)
{
    give_room_back(f->bytes);
    free(f);
}
