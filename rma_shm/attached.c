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
    atomic_init(&table->blocks, node_offset(table->first));
    return a;
}

void attached_destroy(struct attached *a, bool free_table)
{
    if (!a)
        return;
    for (uint32_t i = 0; free_table && i < a->allocated_count; i++)
        arena_control_free(a->allocated[i]);
    if (free_table)
        arena_control_free(a->own);
    pthread_mutex_destroy(&a->mutex);
    free(a->allocated);
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

static uint32_t load_count(_Atomic uint32_t *count)
{
    return atomic_load_explicit(count, memory_order_acquire);
}

static void store_count(_Atomic uint32_t *count, uint32_t value)
{
    atomic_store_explicit(count, value, memory_order_release);
}

/* The array of the positions of all blocks. */
static _Atomic uint64_t *blocks_of(struct attached_table *table)
{
    return node_at(load_word(&table->blocks));
}

static struct attached_block *block_at(_Atomic uint64_t *blocks, uint32_t b)
{
    return node_at(load_word(&blocks[b]));
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

/* Allocate memory that is freed with the window. NULL: no memory. */
static void *allocate(struct attached *a, size_t size)
{
    void **list = reallocarray(a->allocated, a->allocated_count + 1, sizeof *list);
    if (!list)
        return NULL;
    a->allocated = list;
    void *memory = arena_control_alloc(size);
    if (memory)
        a->allocated[a->allocated_count++] = memory;
    return memory;
}

/* Replace the array by one with twice the room. False: no memory. */
static bool grow_table(struct attached *a)
{
    _Atomic uint64_t *from = blocks_of(a->own),
                     *to = allocate(a, (size_t)2 * a->capacity * sizeof *to);
    if (!to)
        return false;
    a->capacity *= 2;
    for (uint32_t b = 0; b < a->made; b++)
        store_word(&to[b], load_word(&from[b]));
    begin_change(a->own);
    store_word(&a->own->blocks, node_offset(to));
    end_change(a->own);
    return true;
}

/* Ensure that an empty block follows those in use. False: no memory. */
static bool prepare_block(struct attached *a)
{
    if (load_count(&a->own->count) < a->made)
        return true;
    if (a->made == a->capacity && !grow_table(a))
        return false;
    struct attached_block *block = allocate(a, sizeof *block);
    if (!block)
        return false;
    store_word(&blocks_of(a->own)[a->made++], node_offset(block));
    return true;
}

/* Insert the prepared block at the index `b`, and shift later ones. */
static struct attached_block *insert_block(struct attached_table *table, uint32_t b)
{
    _Atomic uint64_t *blocks = blocks_of(table);
    uint32_t count = load_count(&table->count);
    uint64_t prepared = load_word(&blocks[count]);
    for (uint32_t i = count; i > b; i--)
        store_word(&blocks[i], load_word(&blocks[i - 1]));
    store_word(&blocks[b], prepared);
    store_count(&table->count, count + 1);
    return node_at(prepared);
}

/* Move an empty block behind those in use. */
static void remove_block(struct attached_table *table, uint32_t b)
{
    _Atomic uint64_t *blocks = blocks_of(table);
    uint32_t last = load_count(&table->count) - 1;
    uint64_t removed = load_word(&blocks[b]);
    for (uint32_t i = b; i < last; i++)
        store_word(&blocks[i], load_word(&blocks[i + 1]));
    store_word(&blocks[last], removed);
    store_count(&table->count, last);
}

/* The first of `count` sorted blocks with a range that ends after `low`, or `count`. A reader may
 * find a block empty while the owner changes it. */
static uint32_t first_block_after(_Atomic uint64_t *blocks, uint32_t count, uint64_t low)
{
    uint32_t first = 0;
    while (first < count) {
        uint32_t middle = first + (count - first) / 2;
        struct attached_block *block = block_at(blocks, middle);
        uint32_t ranges = load_count(&block->count);
        if (ranges && load_word(&block->range[ranges - 1].end) > low)
            count = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* The first of the sorted ranges of a block that ends after `low`, or their number. */
static uint32_t first_after(struct attached_block *block, uint64_t low)
{
    uint32_t first = 0, count = load_count(&block->count);
    while (first < count) {
        uint32_t middle = first + (count - first) / 2;
        if (load_word(&block->range[middle].end) > low)
            count = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* Add a range to a block that is not full. */
static void insert_range(struct attached_block *block, uint32_t at, uint64_t begin, uint64_t end,
                         uint64_t position)
{
    uint32_t count = load_count(&block->count);
    for (uint32_t i = count; i > at; i--)
        copy_range(&block->range[i], &block->range[i - 1]);
    store_word(&block->range[at].begin, begin);
    store_word(&block->range[at].end, end);
    store_word(&block->range[at].position, position);
    store_count(&block->count, count + 1);
}

/* Move the ranges from `kept` on to another block, which is empty. */
static void move_ranges(struct attached_block *block, uint32_t kept, struct attached_block *to)
{
    uint32_t count = load_count(&block->count);
    for (uint32_t i = kept; i < count; i++)
        copy_range(&to->range[i - kept], &block->range[i]);
    store_count(&to->count, count - kept);
    store_count(&block->count, kept);
}

static bool add_range(struct attached *a, uint64_t begin, uint64_t end, uint64_t position)
{
    struct attached_table *table = a->own;
    uint32_t count = load_count(&table->count), at = 0, kept = ATTACHED_BLOCK;
    uint32_t b = first_block_after(blocks_of(table), count, begin);
    struct attached_block *block = NULL;
    if (count) {
        bool behind_all = b == count;
        b -= behind_all;
        block = block_at(blocks_of(table), b);
        at = first_after(block, begin);
        if (!behind_all && load_word(&block->range[at].begin) < end)
            return false;
        kept = behind_all ? at : ATTACHED_BLOCK / 2;
    }
    bool divides = block && load_count(&block->count) == ATTACHED_BLOCK;
    if ((!block || divides) && !prepare_block(a))
        return false;
    begin_change(table);
    if (!block)
        block = insert_block(table, 0);
    if (divides) {
        struct attached_block *next = insert_block(table, b + 1);
        move_ranges(block, kept, next);
        if (at >= kept) {
            block = next;
            at -= kept;
        }
    }
    insert_range(block, at, begin, end, position);
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

static void remove_range(struct attached_table *table, uint64_t begin)
{
    uint32_t b = first_block_after(blocks_of(table), load_count(&table->count), begin);
    if (b == load_count(&table->count))
        return;
    struct attached_block *block = block_at(blocks_of(table), b);
    uint32_t at = first_after(block, begin), count = load_count(&block->count);
    if (load_word(&block->range[at].begin) != begin)
        return;
    begin_change(table);
    for (uint32_t i = at; i + 1 < count; i++)
        copy_range(&block->range[i], &block->range[i + 1]);
    store_count(&block->count, count - 1);
    if (count == 1)
        remove_block(table, b);
    end_change(table);
}

void attached_remove(struct attached *a, const void *base)
{
    pthread_mutex_lock(&a->mutex);
    remove_range(a->own, (uintptr_t)base);
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
 * changed. The first check ensures that the array has room for `count` blocks. */
static bool find_after(struct attached_table *table, uint64_t low, struct attached_found *found)
{
    uint32_t sequence = await_even(table), count = load_count(&table->count);
    _Atomic uint64_t *blocks = blocks_of(table);
    if (!attached_unchanged(table, sequence))
        return false;
    uint32_t b = first_block_after(blocks, count, low);
    *found = (struct attached_found){.sequence = sequence};
    if (b < count) {
        struct attached_block *block = block_at(blocks, b);
        uint32_t at = first_after(block, low);
        if (at < ATTACHED_BLOCK) /* otherwise the table has changed, and the check below fails */
            *found = (struct attached_found){load_word(&block->range[at].begin),
                                             load_word(&block->range[at].end),
                                             load_word(&block->range[at].position), sequence};
    }
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
