#include "bsend/in_flight.h"

#include "core/sync.h"

#include <pthread.h>
#include <stdlib.h>

_Atomic uint32_t in_flight_count, in_flight_pending;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct in_flight *first, **end = &first;
static _Atomic uint32_t
    listed; /* in_flight_count plus delivered messages with an incomplete request */
static _Atomic size_t capacity, taken;
static bool in_shared_memory;
static in_flight_sent_fn *has_been_sent;

void in_flight_open(size_t bytes, bool shared, in_flight_sent_fn *sent)
{
    has_been_sent = sent;
    in_shared_memory = shared;
    capacity = bytes;
    if (shared)
        send_buffer_open(bytes);
}

void in_flight_close(void)
{
    capacity = 0;
    send_buffer_close();
}

/* ---- the list ---- */

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

static bool take_room(size_t room)
{
    size_t most = capacity;
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
    taken -= f->room;
}

static void deliver(struct in_flight *f)
{
    if (f->delivered)
        return;
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

/* Walks the whole list, since any number of delivered messages with incomplete requests may precede
 * the copies to be freed. */
static COLD void free_read_copies(void)
{
    pthread_mutex_lock(&mutex);
    for (struct in_flight *f = first; f; f = f->next)
        if (is_read(f))
            deliver(f);
    pthread_mutex_unlock(&mutex);
}

struct in_flight *in_flight_claim(size_t bytes, size_t room)
{
    if (!take_room(room)) {
        free_read_copies();
        if (!take_room(room))
            return NULL;
    }
    struct in_flight *f = calloc(1, sizeof *f);
    if (f) {
        f->bytes = bytes;
        f->room = room;
        if (in_shared_memory && bytes) /* nothing would show that an empty message was read */
            f->block = send_buffer_take(bytes);
        f->copy = f->block.at ? f->block.at : malloc(bytes + 1);
        if (f->copy)
            return f;
    }
    taken -= room;
    free(f);
    return NULL;
}

void in_flight_drop(struct in_flight *f)
{
    release_copy(f);
    free(f);
}

/* ---- messages ---- */

void in_flight_add(struct in_flight *f, uintptr_t request)
{
    f->request = request;
    if (f->block.at)
        send_buffer_sent(&f->block, f->bytes);
    listed++;
    in_flight_count++;
    in_flight_pending += f->pending;
    append(f);
}

/* Incomplete messages move to the end of the list, since a message whose receiver sleeps may be
 * ahead of others that have been received. */
void in_flight_look(uint32_t most)
{
    for (uint32_t tested = 0, all = listed; most && tested < all; tested++) {
        struct in_flight *f = take_first(); /* another thread may have taken the last one */
        if (!f)
            return;
        if (has_been_sent(&f->request)) {
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
    while (*count && (in_flight_look(UINT32_MAX), *count))
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
}
