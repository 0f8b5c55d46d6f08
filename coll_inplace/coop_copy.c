#include "coll_inplace/coop_copy.h"

#include <assert.h>

enum { CHUNKS = 16, CHUNK_MIN = 32768, CHUNK_ALIGN = 4096 };

static size_t chunk_of(size_t bytes)
{
    size_t chunk = (bytes / CHUNKS + CHUNK_ALIGN - 1) & ~(size_t)(CHUNK_ALIGN - 1);
    return chunk > CHUNK_MIN ? chunk : CHUNK_MIN;
}

static uint32_t chunks_in(size_t bytes)
{
    size_t chunk = chunk_of(bytes);
    return (uint32_t)((bytes + chunk - 1) / chunk);
}

/* Claim a chunk of operation `op`; false: none is left. The acquire makes visible what the receiver
 * wrote about this operation. It writes these fields again only after we have published that the
 * claimed chunk is copied. */
static bool claim_chunk(struct coop_copy *c, uint32_t op, uint32_t *left)
{
    uint64_t seen = atomic_load_explicit(&c->claims, memory_order_acquire);
    do {
        *left = (uint32_t)seen;
        if (seen >> 32 != op || !*left)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&c->claims, &seen, seen - 1,
                                                    memory_order_acquire, memory_order_acquire));
    return true;
}

/* The chunk that was claimed when `left` chunks were left: its length and first byte. */
static size_t chunk_at(size_t bytes, uint32_t left, size_t *first)
{
    size_t chunk = chunk_of(bytes);
    *first = (chunks_in(bytes) - left) * chunk;
    return min_size(chunk, bytes - *first);
}

/* The release orders the stores to the other fields before the number of the operation in `claims`,
 * with which a claim succeeds. */
void coop_copy_begin(const struct team *t, struct coop_copy *c, uint32_t op, struct buffer to,
                     size_t bytes)
{
    assert(!(uint32_t)atomic_load_explicit(&c->claims, memory_order_relaxed)); /* nothing is left */
    c->bytes = min_size(bytes, bytes_of(to));
    c->target = remote_addr_to_write(t, to, c->bytes);
    if (!c->target)
        c->bytes = 0;
    c->before = sync_load(&c->helped);
    sync_store_fence();
    atomic_store_explicit(&c->claims, (uint64_t)op << 32 | chunks_in(c->bytes),
                          memory_order_release);
    sync_publish(&c->opened, op);
}

static bool receive_chunk(const struct team *t, const struct coop_copy *c, uint32_t left,
                          uint32_t peer, remote_addr_t from, char *to)
{
    size_t first, some = chunk_at(c->bytes, left, &first);
    const char *local = remote_addr_local(from);
    if (!local)
        return remote_read(t, peer, from, first, to + first, some);
    memcpy(to + first, local + first, some);
    return true;
}

enum coll_error coop_copy_receive(struct team *t, struct coop_copy *c, uint32_t op, uint32_t peer,
                                  remote_addr_t from, struct buffer to, size_t bytes)
{
    if (!c->target)
        return receive_reference(t, peer, from, to, bytes);
    char *at = to.at + to.map->low;
    uint32_t left, by_peer = chunks_in(c->bytes);
    bool done = true;
    for (; claim_chunk(c, op, &left); by_peer--)
        done &= receive_chunk(t, c, left, peer, from, at);
    sync_wait_until(&c->helped, c->before + by_peer);
    team_note_refusals(t);
    return (done ? COLL_OK : COLL_UNREACHABLE) | (bytes > c->bytes ? COLL_TRUNCATE : COLL_OK);
}

static bool send_chunk(const struct team *t, const struct coop_copy *c, uint32_t left,
                       uint32_t peer, const char *from)
{
    size_t first, some = chunk_at(c->bytes, left, &first);
    char *local = remote_addr_local(c->target);
    if (!local)
        return remote_write(t, peer, c->target, first, from + first, some);
    memcpy(local + first, from + first, some);
    return true;
}

void coop_copy_help(const struct team *t, struct coop_copy *c, uint32_t op, uint32_t peer,
                    struct buffer from)
{
    uint32_t left;
    bool done = true;
    sync_wait_until(&c->opened, op);
    for (uint32_t helped = 1; done && claim_chunk(c, op, &left); helped++) {
        done = send_chunk(t, c, left, peer, from.at + from.map->low);
        assert(sync_load(&c->helped) == c->before + helped - 1); /* only the sender writes it */
        sync_publish(&c->helped, c->before + helped);
    }
}
