#include "bsend/kept.h"

#include "alloc/arena.h"
#include "core/copy.h"
#include "core/sync.h"
#include "core/thread.h"

#include <pthread.h>
#include <string.h>

enum { PLACE_BITS = 6, PLACES = 1 << PLACE_BITS, MISSES_MAX = 3 };

bool kept_is_open;

static struct kept places[PLACES];
static uint64_t used; /* a bit for each that knows a message */
_Static_assert(PLACES == 64, "a bit for each");
static size_t room_left;
static kept_landed_fn *is_over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static inline void lock(void)
{
    if (thread_concurrent)
        pthread_mutex_lock(&mutex);
}

static inline void unlock(void)
{
    if (thread_concurrent)
        pthread_mutex_unlock(&mutex);
}

static size_t hash(struct kept_key k)
{
    uint64_t mixed = (uintptr_t)k.from * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ k.bytes) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ k.comm ^ (uint64_t)(unsigned)k.rank << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> (64 - PLACE_BITS));
}

static bool same(struct kept_key a, struct kept_key b)
{
    return a.from == b.from && a.bytes == b.bytes && a.comm == b.comm && a.rank == b.rank;
}

/* The first of those, which is taken out of them. */
static struct kept *take_place(uint64_t *bits)
{
    struct kept *p = &places[__builtin_ctzll(*bits)];
    *bits &= *bits - 1;
    return p;
}

static void release_copy(struct kept *p)
{
    if (!p->parcel.at)
        return;
    if (!outbox_give(&p->parcel))
        arena_free(p->parcel.at);
    room_left += p->key.bytes;
    p->parcel = (struct parcel){0};
    p->holds = false;
}

/* False: no room. */
static bool make_copy(struct kept *p)
{
    if (p->parcel.at)
        return true;
    if (p->key.bytes > room_left)
        return false;
    p->parcel = outbox_take(p->key.bytes);
    if (!p->parcel.at && !(p->parcel.at = arena_alloc(p->key.bytes, ARENA_GRAIN)))
        return false;
    room_left -= p->key.bytes;
    return true;
}

/* Asks the host without the lock: it may call the program back. */
static bool has_landed(struct kept *p)
{
    if (p->state == KEPT_FLYING) {
        p->state = KEPT_BUSY;
        unlock();
        bool over = is_over(p);
        lock();
        p->state = over ? KEPT_IDLE : KEPT_FLYING;
    }
    return p->state == KEPT_IDLE;
}

static void take_over(struct kept *p, struct kept_key key)
{
    release_copy(p);
    *p = (struct kept){.key = key};
    used |= UINT64_C(1) << (p - places);
}

static void pass_by(struct kept *p)
{
    if (p->misses < MISSES_MAX)
        p->misses++;
    p->passing = 1u << 3 * p->misses;
}

/* The place of a message that may be sent from here, BUSY; NULL: none. */
static struct kept *find(struct kept_key key, bool renew)
{
    struct kept *p = &places[hash(key)];
    if (!has_landed(p))
        return NULL;
    if (!same(p->key, key)) {
        take_over(p, key);
        return NULL;
    }
    if (p->passing) {
        p->passing--;
        if (!renew)
            return NULL;
        p->holds = false;
    }
    if (!make_copy(p)) {
        pass_by(p);
        return NULL;
    }
    p->state = KEPT_BUSY;
    return p;
}

struct kept *kept_claim(struct kept_key key, bool renew)
{
    lock();
    struct kept *p = kept_is_open ? find(key, renew) : NULL;
    unlock();
    if (!p)
        return NULL;
    if (p->holds && !memcmp(p->parcel.at, key.from, key.bytes)) {
        p->misses = 0;
        return p;
    }
    if (p->holds) {
        pass_by(p);
        if (!renew) {
            kept_drop(p);
            return NULL;
        }
    }
    copy_to_peers(p->parcel.at, key.from, key.bytes);
    p->holds = true;
    return p;
}

void kept_flies(struct kept *p, uintptr_t request)
{
    lock();
    outbox_sent(&p->parcel, p->key.bytes);
    p->request = request;
    p->state = KEPT_FLYING;
    p->has_flown = true;
    unlock();
}

void kept_drop(struct kept *p)
{
    lock();
    p->holds = false;
    p->state = KEPT_IDLE;
    unlock();
}

void kept_open(size_t room, kept_landed_fn *landed)
{
    lock();
    if (!kept_is_open) { /* Open MPI 4.1 may call a second attach a success */
        room_left = room;
        is_over = landed;
        kept_is_open = true;
    }
    unlock();
}

static bool all_landed(kept_of_fn *of, uintptr_t context)
{
    bool all = true;
    lock();
    for (uint64_t rest = used; rest;) {
        struct kept *p = take_place(&rest);
        all &= !of(p->key.comm, context) || has_landed(p);
    }
    unlock();
    return all;
}

void kept_drain(kept_of_fn *of, uintptr_t context)
{
    struct sync_wait wait = SYNC_WAIT;
    while (!all_landed(of, context))
        sync_pause(&wait);
}

void kept_forget(kept_of_fn *of, uintptr_t context)
{
    lock();
    for (uint64_t rest = used; rest;) {
        struct kept *p = take_place(&rest);
        if (of(p->key.comm, context))
            p->key.rank = -1;
    }
    unlock();
}

void kept_close(void)
{
    lock();
    kept_is_open = false;
    for (uint64_t rest = used; rest;) {
        struct kept *p = take_place(&rest);
        if (p->state == KEPT_IDLE) {
            release_copy(p);
            *p = (struct kept){0};
            used &= ~(UINT64_C(1) << (p - places));
        }
    }
    unlock();
}
