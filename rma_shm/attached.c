#include "rma_shm/attached.h"

#include "alloc/arena.h"
#include "node/node.h"
#include "rma_shm/win.h"

#include <stdlib.h>

/* ---- creating ---- */

struct attached *attached_create(uint32_t size)
{
    struct attached *a = calloc(1, sizeof *a + size * sizeof *a->peer);
    struct attached_table *table = arena_control_alloc(sizeof *table);
    if (!a || !table) {
        free(a);
        if (table)
            arena_control_free(table);
        return NULL;
    }
    pthread_mutex_init(&a->mutex, NULL);
    a->own = table;
    a->capacity = ATTACHED_FIRST;
    atomic_init(&table->ranges, node_offset(table->first));
    return a;
}

void attached_destroy(struct attached *a, bool free_table)
{
    if (!a)
        return;
    for (uint32_t i = 0; free_table && i < a->array_count; i++)
        arena_control_free(a->arrays[i]);
    if (free_table)
        arena_control_free(a->own);
    pthread_mutex_destroy(&a->mutex);
    free(a->arrays);
    free(a);
}

uint64_t attached_position(const struct attached *a)
{
    return node_offset(a->own);
}

void attached_connect(struct attached *a, const struct win_offer *offers, uint32_t size)
{
    for (uint32_t r = 0; r < size; r++)
        a->peer[r].table = node_at(offers[r].position);
}

/* ---- changing ---- */

static uint64_t load_word(_Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static void store_word(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static struct attached_range *ranges_of(struct attached_table *table)
{
    return node_at(load_word(&table->ranges));
}

static void copy_range(struct attached_range *to, struct attached_range *from)
{
    store_word(&to->begin, load_word(&from->begin));
    store_word(&to->end, load_word(&from->end));
    store_word(&to->position, load_word(&from->position));
}

static void begin_change(struct attached_table *table)
{
    atomic_fetch_add_explicit(&table->sequence.value, 1, memory_order_relaxed);
}

static void end_change(struct attached_table *table)
{
    atomic_fetch_add_explicit(&table->sequence.value, 1, memory_order_seq_cst);
    sync_wake(&table->sequence);
}

/* Move the ranges to an array with twice the room. False: no memory. */
static bool grow_table(struct attached *a, uint32_t count)
{
    char **arrays = reallocarray(a->arrays, a->array_count + 1, sizeof *arrays);
    if (!arrays)
        return false;
    a->arrays = arrays;
    struct attached_range *from = ranges_of(a->own),
                          *to = arena_control_alloc((size_t)2 * a->capacity * sizeof *to);
    if (!to)
        return false;
    a->arrays[a->array_count++] = (char *)to;
    a->capacity *= 2;
    for (uint32_t i = 0; i < count; i++)
        copy_range(&to[i], &from[i]);
    begin_change(a->own);
    store_word(&a->own->ranges, node_offset(to));
    end_change(a->own);
    return true;
}

/* The first of `count` sorted ranges that ends after `low`, or `count`. */
static uint32_t first_after(struct attached_range *ranges, uint32_t count, uint64_t low)
{
    uint32_t first = 0;
    while (first < count) {
        uint32_t middle = first + (count - first) / 2;
        if (load_word(&ranges[middle].end) > low)
            count = middle;
        else
            first = middle + 1;
    }
    return first;
}

static bool add_range(struct attached *a, uint64_t begin, uint64_t end, uint64_t position)
{
    struct attached_table *table = a->own;
    uint32_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
    uint32_t at = first_after(ranges_of(table), count, begin);
    if (at < count && load_word(&ranges_of(table)[at].begin) < end)
        return false;
    if (count == a->capacity && !grow_table(a, count))
        return false;
    struct attached_range *ranges = ranges_of(table);
    begin_change(table);
    for (uint32_t i = count; i > at; i--)
        copy_range(&ranges[i], &ranges[i - 1]);
    store_word(&ranges[at].begin, begin);
    store_word(&ranges[at].end, end);
    store_word(&ranges[at].position, position);
    atomic_store_explicit(&table->count, count + 1, memory_order_release);
    end_change(table);
    return true;
}

bool attached_add(struct attached *a, const void *base, size_t bytes, uint64_t position)
{
    if (!bytes)
        return false;
    pthread_mutex_lock(&a->mutex);
    bool added = add_range(a, (uintptr_t)base, (uintptr_t)base + bytes, position);
    pthread_mutex_unlock(&a->mutex);
    return added;
}

void attached_remove(struct attached *a, const void *base)
{
    struct attached_table *table = a->own;
    pthread_mutex_lock(&a->mutex);
    struct attached_range *ranges = ranges_of(table);
    uint32_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
    uint32_t at = first_after(ranges, count, (uintptr_t)base);
    if (at < count && load_word(&ranges[at].begin) == (uintptr_t)base) {
        begin_change(table);
        for (uint32_t i = at; i + 1 < count; i++)
            copy_range(&ranges[i], &ranges[i + 1]);
        atomic_store_explicit(&table->count, count - 1, memory_order_release);
        end_change(table);
    }
    pthread_mutex_unlock(&a->mutex);
}

/* ---- reading ---- */

static uint32_t await_even(struct attached_table *table)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t sequence;
    while ((sequence = sync_load(&table->sequence)) % 2)
        sync_wait(&wait, &table->sequence, sequence);
    return sequence;
}

/* The first range that ends after `low`; one of no length if there is none. False: the table has
 * changed. The first check ensures that the array has room for `count` ranges. */
static bool find_after(struct attached_table *table, uint64_t low, struct attached_found *found)
{
    uint32_t sequence = await_even(table);
    uint32_t count = atomic_load_explicit(&table->count, memory_order_acquire);
    struct attached_range *ranges = ranges_of(table);
    if (!attached_unchanged(table, sequence))
        return false;
    uint32_t at = first_after(ranges, count, low);
    *found = (struct attached_found){.sequence = sequence};
    if (at < count)
        *found = (struct attached_found){load_word(&ranges[at].begin), load_word(&ranges[at].end),
                                         load_word(&ranges[at].position), sequence};
    return attached_unchanged(table, sequence);
}

enum attached_part attached_find(struct attached_table *table, uint64_t low, uint64_t high,
                                 struct attached_found *found)
{
    while (!find_after(table, low, found))
        continue;
    if (!found->end || found->begin >= high)
        return ATTACHED_NONE;
    return found->begin <= low && high <= found->end ? ATTACHED_ALL : ATTACHED_SOME;
}
