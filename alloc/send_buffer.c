#include "alloc/send_buffer.h"

#include "alloc/arena.h"
#include "alloc/ranges.h"
#include "node/node.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { PAGE = SEND_BUFFER_PAGE, UNITS_MAX = PAGE - 1 };

struct send_buffer {
    _Atomic uint64_t *bytes_read;
    _Atomic uint32_t *first_page;
    char *pages;
    uint64_t count;
};

static struct send_buffer send_buffer_at(uint64_t word)
{
    uint64_t units = word % PAGE, bytes = units * SEND_BUFFER_UNIT;
    char *start = node.base + (word - units);
    struct send_buffer b = {.count = bytes / (PAGE + sizeof *b.bytes_read + sizeof *b.first_page)};
    b.bytes_read = (_Atomic uint64_t *)start;
    b.first_page = (_Atomic uint32_t *)(start + b.count * sizeof *b.bytes_read);
    b.pages = start + bytes - b.count * PAGE;
    return b;
}

void send_buffer_count(uint64_t word, uint64_t position, size_t bytes)
{
    struct send_buffer b = send_buffer_at(word);
    uint64_t page = (uint64_t)(node.base + position - b.pages) / PAGE;
    if (page >= b.count)
        return;
    uint32_t first = atomic_load_explicit(&b.first_page[page], memory_order_relaxed);
    /* Release: this receiver's reads come before the owner's next writes to the block. */
    if (first < b.count)
        atomic_fetch_add_explicit(&b.bytes_read[first], bytes, memory_order_release);
}

/* ---- the owner ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct send_buffer own; /* no pages: no memory is allocated */
static struct ranges unused;
static char *memory;
static size_t length, wanted;

/* While there is room, a block is not reused before REST_BYTES of other blocks have been given
 * back. The lines of the block that was read last are in the reader's nearest cache, and writing
 * them again costs most: messages of 16 to 64 KiB take 1.2 to 1.4 times as long if one block is
 * reused every time (docs/measurements.md#buffered-sends). REST_BYTES is more than such a cache
 * holds. */
enum { REST_BYTES = 256 << 10, REST_BLOCKS = REST_BYTES / PAGE };
static struct resting {
    struct send_block blocks[REST_BLOCKS];
    size_t bytes;
    unsigned first, count;
} resting;

/* The block that has rested longest. NULL: fewer than `others` bytes have been given back since. */
static const struct send_block *rested_block(size_t others)
{
    const struct send_block *b = &resting.blocks[resting.first % REST_BLOCKS];
    return resting.count && resting.bytes - b->size >= others ? b : NULL;
}

static char *take_rested(const struct send_block *b)
{
    resting.first++;
    resting.count--;
    resting.bytes -= b->size;
    return b->at;
}

static void end_rest_of(const struct send_block *b)
{
    ranges_give(&unused, take_rested(b), b->size);
}

static void end_rest(size_t others)
{
    for (const struct send_block *b; (b = rested_block(others));)
        end_rest_of(b);
}

static void announce_buffer(uint64_t word)
{
    atomic_store_explicit(&node_member(node.me)->send_buffer, word, memory_order_relaxed);
}

static bool is_idle(void)
{
    end_rest(0);
    return !memory || (unused.root && unused.root->size == own.count * PAGE);
}

static void release(void)
{
    if (!memory)
        return;
    announce_buffer(0);
    arena_free(memory);
    ranges_clear(&unused);
    resting = (struct resting){0};
    own = (struct send_buffer){0};
    memory = NULL;
    length = 0;
}

static COLD void allocate_buffer(void)
{
    uint64_t position;
    release();
    if (!node.header || !(memory = arena_alloc(wanted, PAGE))) {
        wanted = 0;
        return;
    }
    length = wanted;
    if (node_position(memory, length, &position) && position % PAGE == 0) {
        own = send_buffer_at(position + length / SEND_BUFFER_UNIT);
        if (ranges_give(&unused, own.pages, own.count * PAGE)) {
            announce_buffer(position + length / SEND_BUFFER_UNIT);
            return;
        }
    }
    wanted = 0;
    release();
}

void send_buffer_open(size_t bytes)
{
    size_t most = (size_t)UNITS_MAX * SEND_BUFFER_UNIT;
    pthread_mutex_lock(&mutex);
    /* Double the size: each message begins on a page of its own, and free pages may be
     * scattered. */
    wanted = bytes < most / 4 ? round_up(2 * bytes + REST_BYTES, SEND_BUFFER_UNIT) : most;
    pthread_mutex_unlock(&mutex);
}

void send_buffer_close(void)
{
    pthread_mutex_lock(&mutex);
    wanted = 0;
    if (length > ARENA_KEEP && is_idle())
        release();
    pthread_mutex_unlock(&mutex);
}

static char *find_pages(size_t size)
{
    const struct send_block *b = rested_block(REST_BYTES);
    if (LIKELY(b && b->size == size)) /* as when all messages have the same length */
        return take_rested(b);
    end_rest(REST_BYTES);
    char *at = ranges_take(&unused, size, PAGE);
    if (at)
        return at;
    end_rest(0);
    return ranges_take(&unused, size, PAGE);
}

static char *take_pages(size_t size)
{
    pthread_mutex_lock(&mutex);
    if (UNLIKELY(length < wanted) && is_idle())
        allocate_buffer();
    char *at = find_pages(size);
    pthread_mutex_unlock(&mutex);
    return at;
}

struct send_block send_buffer_take(size_t bytes)
{
    size_t size = round_up(bytes, PAGE);
    char *at = bytes < SIZE_MAX / 2 ? take_pages(size) : NULL;
    if (!at)
        return (struct send_block){0};
    assert(at >= own.pages && at + size <= own.pages + own.count * PAGE);
    uint32_t first = (uint32_t)((size_t)(at - own.pages) / PAGE);
    /* A line that is not written stays in the readers' caches. */
    for (size_t i = 0; i < size / PAGE; i++)
        if (atomic_load_explicit(&own.first_page[first + i], memory_order_relaxed) != first)
            atomic_store_explicit(&own.first_page[first + i], first, memory_order_relaxed);
    const _Atomic uint64_t *bytes_read = &own.bytes_read[first];
    return (struct send_block){at, size, bytes_read,
                               atomic_load_explicit(bytes_read, memory_order_relaxed)};
}

void send_buffer_give(const struct send_block *block)
{
    pthread_mutex_lock(&mutex);
    assert(block->at >= own.pages);
    if (UNLIKELY(resting.count == REST_BLOCKS))
        end_rest_of(rested_block(0));
    resting.blocks[(resting.first + resting.count++) % REST_BLOCKS] = *block;
    resting.bytes += block->size;
    pthread_mutex_unlock(&mutex);
}
