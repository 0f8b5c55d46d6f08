#include "pmpi_wrap/abi/buffered_sends/in_flight.h"

#include "core/concurrency.h"
#include "core/log.h"
#include "core/sync.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

/* How many messages to test for completion before each copy, and if there is no room for it. */
enum { TESTS = 2, TESTS_FOR_ROOM = 16 };

/* PATIENCE_NS: how long MPI_Bsend waits for its message to leave if others are already pending,
 * provided that messages keep leaving. MOST: Open MPI numbers its messages with 16 bits and sends
 * new ones before waiting ones, so the numbers must not wrap while a message waits. */
enum { PATIENCE_NS = 250000, MOST = 1 << 15 };

/* For messages of up to this size, a completed request means that the message has left the buffer.
 * In Open MPI that holds up to 4 KiB, and up to 1 KiB for messages of a rank to itself, both
 * including headers. */
enum { SHORT = 512 };

_Atomic uint32_t in_flight_count, in_flight_pending;

static struct in_flight_limits limits;

/* ---- the list ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct in_flight *first, **end = &first;
static _Atomic uint32_t
    listed; /* in_flight_count plus delivered messages with an incomplete request */

static void append(struct in_flight *f)
{
    f->next = NULL;
    pthread_mutex_lock(&mutex);
    *end = f;
    end = &f->next;
    pthread_mutex_unlock(&mutex);
}

static struct in_flight *take_first(void)
{
    pthread_mutex_lock(&mutex);
    struct in_flight *f = first;
    if (f && !(first = f->next))
        end = &first;
    pthread_mutex_unlock(&mutex);
    return f;
}

/* ---- copies ---- */

static _Atomic size_t taken; /* bytes of room */

static size_t room_in_buffer(size_t bytes)
{
    return bytes + limits.overhead;
}

static bool take_room(size_t room)
{
    size_t most = limits.room;
    if (room > most)
        return false;
    if (atomic_fetch_add(&taken, room) <= most - room)
        return true;
    taken -= room;
    return false;
}

static void release_copy(struct in_flight *f)
{
    if (f->block.at)
        send_buffer_give(&f->block);
    else
        free(f->copy);
    assert(taken >= room_in_buffer(f->bytes));
    taken -= room_in_buffer(f->bytes);
}

static void deliver(struct in_flight *f)
{
    if (f->delivered)
        return;
    assert(in_flight_count && in_flight_pending >= f->pending);
    f->delivered = true;
    if (f->copy)
        release_copy(f);
    in_flight_pending -= f->pending;
    in_flight_count--;
}

static bool is_read(const struct in_flight *f)
{
    return f->block.at && !f->delivered && send_buffer_is_read(&f->block);
}

/* Walk the whole list, since any number of delivered messages with incomplete requests may precede
 * the copies to be freed. */
static COLD void free_read_copies(void)
{
    pthread_mutex_lock(&mutex);
    for (struct in_flight *f = first; f; f = f->next)
        if (is_read(f))
            deliver(f);
    pthread_mutex_unlock(&mutex);
}

static struct in_flight *new_copy(size_t bytes)
{
    size_t room = room_in_buffer(bytes);
    if (!take_room(room)) {
        free_read_copies();
        if (!take_room(room))
            return NULL;
    }
    struct in_flight *f = calloc(1, sizeof *f);
    if (f) {
        f->bytes = bytes;
        if (limits.shared && bytes) /* nothing would show that an empty message was read */
            f->block = send_buffer_take(bytes);
        f->copy = f->block.at ? f->block.at : malloc(bytes + 1);
        if (f->copy)
            return f;
    }
    taken -= room;
    free(f);
    return NULL;
}

/* ---- completion ---- */

/* Test a request, which the host frees if it is complete. */
static bool is_sent(MPI_Request *request)
{
    int flag;
    int result = host.Test(request, &flag, MPI_STATUS_IGNORE);
    return result != MPI_SUCCESS || flag;
}

/* Free copies and requests of complete messages. Stops after `most` tests that found a message
 * incomplete. Incomplete messages move to the end of the list, since a message whose receiver
 * sleeps may be ahead of others that have been received. */
static void look(uint32_t most)
{
    for (uint32_t tested = 0, all = listed; most && tested < all; tested++) {
        struct in_flight *f = take_first(); /* another thread may have taken the last one */
        if (!f)
            return;
        if (is_sent(&f->request)) {
            deliver(f);
            free(f);
            listed--;
            continue;
        }
        if (is_read(f))
            deliver(f);
        append(f);
        most--;
    }
}

static void wait_for(_Atomic uint32_t *count)
{
    struct sync_wait wait = SYNC_WAIT;
    while (*count && (look(UINT32_MAX), *count))
        sync_pause(&wait);
}

void in_flight_wait_for_pending(void)
{
    wait_for(&in_flight_pending);
}

void in_flight_drain(void)
{
    wait_for(&in_flight_count);
}

void in_flight_finish(void)
{
    wait_for(&listed);
    assert(thread_concurrent || (!first && !in_flight_count && !in_flight_pending && !taken));
}

/* ---- messages out of a copy ---- */

static struct in_flight *claim_if_faster(size_t bytes)
{
    look(TESTS);
    if (in_flight_count >= limits.copies)
        return NULL;
    struct in_flight *f = new_copy(bytes);
    if (f)
        return f;
    look(TESTS_FOR_ROOM);
    return new_copy(bytes);
}

void in_flight_drop(struct in_flight *f)
{
    release_copy(f);
    free(f);
}

static void list_message(struct in_flight *f, MPI_Request request)
{
    f->request = request;
    if (f->block.at)
        send_buffer_sent(&f->block, f->bytes);
    listed++;
    in_flight_count++;
    in_flight_pending += f->pending;
    append(f);
}

/* ---- waiting for receivers ---- */

/* Whether a message has left since MPI_Bsend last waited in vain, so that waiting is worthwhile. */
static _Atomic bool moving;

/* Testing one request makes the host go through all its pending messages. The next test is
 * therefore no sooner than LOOK_PART times as long after the last one as that one took. */
static _Atomic uint64_t next_look_ns;
enum { LOOK_PART = 8 };

static void look_for_pending(uint32_t most)
{
    uint32_t before = in_flight_pending;
    look(most);
    if (in_flight_pending < before)
        moving = true;
}

static void look_sometimes(void)
{
    uint64_t start = sync_now_ns();
    if (start < next_look_ns)
        return;
    look_for_pending(1);
    uint64_t end_ns = sync_now_ns();
    next_look_ns = end_ns + LOOK_PART * (end_ns - start);
}

static bool completes(MPI_Request *request, uint64_t within_ns)
{
    if (is_sent(request))
        return true;
    struct sync_wait wait = SYNC_WAIT;
    for (uint64_t end_ns = sync_now_ns() + within_ns; sync_now_ns() < end_ns;) {
        sync_pause(&wait);
        if (is_sent(request))
            return true;
    }
    return false;
}

/* Returns whether the request is complete, after waiting as long as allowed. */
static bool leaves(MPI_Request *request, bool may_wait)
{
    bool is_first = !in_flight_pending;
    if (!is_first && !moving)
        return false;
    if (completes(request, !may_wait ? 0 : is_first ? limits.wait_ns : PATIENCE_NS))
        return true;
    moving = false;
    if (may_wait && is_first)
        log_once(
            1,
            "MPI_Bsend has waited %llu ms for its receiver and returns; the message leaves during "
            "a later MPI call of this rank; if such a call comes too late, raise "
            "MPIACCEL_BSEND_WAIT",
            (unsigned long long)(limits.wait_ns / 1000000));
    return false;
}

/* ---- pending messages ---- */

static struct in_flight *claim_pending(size_t bytes, bool may_wait)
{
    struct sync_wait wait = SYNC_WAIT;
    for (bool looked = false; room_in_buffer(bytes) <= limits.room && in_flight_pending;
         looked = true) {
        struct in_flight *f = in_flight_pending < MOST ? new_copy(bytes) : NULL;
        if (f || (looked && !may_wait))
            return f;
        if (looked)
            sync_pause(&wait);
        look_for_pending(UINT32_MAX);
    }
    return NULL;
}

struct in_flight *in_flight_claim(size_t bytes, enum in_flight_motive motive)
{
    return motive == IN_FLIGHT_FASTER ? claim_if_faster(bytes)
                                      : claim_pending(bytes, motive == IN_FLIGHT_PENDING_MAY_WAIT);
}

void in_flight_add(struct in_flight *f, MPI_Request request, enum in_flight_motive motive)
{
    f->pending = motive != IN_FLIGHT_FASTER;
    if (f->pending && leaves(&request, motive == IN_FLIGHT_PENDING_MAY_WAIT))
        in_flight_drop(f);
    else
        list_message(f, request);
}

/* Bytes of all messages that may have taken room since the buffer of the program was last known to
 * be empty; not counted beyond its size. It is known to be empty when it is attached and, as long
 * as only short messages have been sent, whenever none is pending. */
static _Atomic uint64_t begun;
static _Atomic bool only_short;

/* Count a message. Returns whether all counted messages fit into the buffer one after another; the
 * host may not find any better arrangement. */
static bool count_begun(size_t room)
{
    size_t most = limits.room;
    return begun <= most && counter_add(&begun, min_size(room, most + 1)) <= most;
}

bool in_flight_reserve(size_t bytes)
{
    look_sometimes();
    return in_flight_pending && in_flight_pending < MOST && count_begun(room_in_buffer(bytes));
}

bool in_flight_keep(MPI_Request request, size_t bytes, bool reserved, bool may_wait)
{
    size_t room = room_in_buffer(bytes);
    bool counted = reserved;
    /* Do not reset the count with concurrent threads: another thread may have counted a message
     * that it has not added yet. */
    if (!in_flight_pending && only_short && !thread_concurrent)
        begun = 0;
    if (room > SHORT)
        only_short = false;
    if (!counted && !only_short) { /* a short message between two long ones may leave a gap */
        count_begun(room);
        counted = true;
    }
    if (leaves(&request, may_wait))
        return true;
    if (!counted)
        count_begun(room);
    struct in_flight *f = calloc(1, sizeof *f);
    if (f) {
        f->pending = true;
        list_message(f, request);
        return true;
    }
    if (!may_wait) {
        only_short = false; /* nothing will record when this message leaves */
        return false;
    }
    while (!completes(&request, limits.wait_ns)) {
    }
    return true;
}

/* ---- the buffer of the program ---- */

void in_flight_open(const struct in_flight_limits *l)
{
    limits = *l;
    next_look_ns = 0;
    begun = 0;
    only_short = true;
    if (l->shared)
        send_buffer_open(l->room);
}

void in_flight_close(void)
{
    limits.room = 0;
    send_buffer_close();
}
