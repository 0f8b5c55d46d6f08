#include "alloc/outbox.h"

#include "alloc/arena.h"
#include "alloc/node.h"
#include "alloc/ranges.h"

#include <pthread.h>
#include <stdlib.h>

enum { PLACE = OUTBOX_PLACE, UNITS_MAX = PLACE - 1 };

struct outbox {
    _Atomic uint64_t *taken;
    _Atomic uint32_t *begins;
    char *places;
    uint64_t count;
};

static struct outbox outbox_at(uint64_t word)
{
    uint64_t units = word % PLACE, bytes = units * OUTBOX_UNIT;
    char *start = node.base + (word - units);
    struct outbox box = {.count = bytes / (PLACE + sizeof *box.taken + sizeof *box.begins)};
    box.taken = (_Atomic uint64_t *)start;
    box.begins = (_Atomic uint32_t *)(start + box.count * sizeof *box.taken);
    box.places = start + bytes - box.count * PLACE;
    return box;
}

void outbox_count(uint64_t word, uint64_t position, size_t bytes)
{
    struct outbox box = outbox_at(word);
    uint64_t place = (uint64_t)(node.base + position - box.places) / PLACE;
    if (place >= box.count)
        return;
    uint32_t begins = atomic_load_explicit(&box.begins[place], memory_order_relaxed);
    /* Release: the owner writes over what was fetched. */
    if (begins < box.count)
        atomic_fetch_add_explicit(&box.taken[begins], bytes, memory_order_release);
}

/* ---- the owner's ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct outbox mine; /* no places: none */
static struct ranges unused;
static char *memory;
static _Atomic size_t length, wanted;

static void announce(uint64_t word)
{
    atomic_store_explicit(&node_member(node.me)->outbox, word, memory_order_relaxed);
}

static void release(void)
{
    if (!memory)
        return;
    announce(0);
    arena_free(memory);
    free(unused.list);
    unused = (struct ranges){0};
    mine = (struct outbox){0};
    memory = NULL;
    length = 0;
}

static size_t length_for(size_t bytes)
{
    size_t most = (size_t)UNITS_MAX * OUTBOX_UNIT;
    return bytes < most / 2 ? round_up(2 * bytes, OUTBOX_UNIT) : most;
}

static void make(size_t bytes)
{
    uint64_t position;
    if (!node.header || !(memory = arena_alloc(bytes, PLACE)))
        return;
    if (!node_position(memory, bytes, &position) || position % PLACE) {
        arena_free(memory);
        memory = NULL;
        return;
    }
    length = bytes;
    uint64_t word = position + bytes / OUTBOX_UNIT;
    mine = outbox_at(word);
    if (ranges_give(&unused, mine.places, mine.count * PLACE))
        announce(word);
    else
        release();
}

/* Whether all of it is free. */
static bool is_idle(void)
{
    return unused.count == 1 && unused.list->size == mine.count * PLACE;
}

void outbox_open(size_t bytes)
{
    wanted = length_for(bytes);
}

void outbox_close(void)
{
    wanted = 0;
    if (length <= ARENA_KEEP)
        return;
    pthread_mutex_lock(&mutex);
    if (is_idle())
        release();
    pthread_mutex_unlock(&mutex);
}

static COLD void grow(void)
{
    if (memory && !is_idle())
        return;
    release();
    make(wanted);
    if (!memory)
        wanted = 0;
}

static char *take(size_t room)
{
    if (UNLIKELY(length < wanted))
        grow();
    return ranges_take(&unused, room, PLACE);
}

struct parcel outbox_take(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return (struct parcel){0};
    size_t room = round_up(bytes, PLACE);
    pthread_mutex_lock(&mutex);
    char *at = take(room);
    pthread_mutex_unlock(&mutex);
    if (!at)
        return (struct parcel){0};
    uint32_t first = (uint32_t)((size_t)(at - mine.places) / PLACE);
    for (size_t i = 0; i < room / PLACE; i++) /* a line that is not written stays with readers */
        if (atomic_load_explicit(&mine.begins[first + i], memory_order_relaxed) != first)
            atomic_store_explicit(&mine.begins[first + i], first, memory_order_relaxed);
    const _Atomic uint64_t *taken = &mine.taken[first];
    return (struct parcel){at, room, taken, atomic_load_explicit(taken, memory_order_relaxed)};
}

bool outbox_give(const struct parcel *parcel)
{
    if (!parcel->taken)
        return false;
    pthread_mutex_lock(&mutex);
    ranges_give(&unused, parcel->at, parcel->room);
    pthread_mutex_unlock(&mutex);
    return true;
}
