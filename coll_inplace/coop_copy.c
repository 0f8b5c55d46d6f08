#include "coll_inplace/coop_copy.h"

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

/* Whether a chunk is left, which is then ours. Acquire: what the opener wrote about this operation,
 * and it does not write there again before we have helped. */
static bool claim(struct coop_copy *j, uint32_t op, uint32_t *left)
{
    uint64_t seen = atomic_load_explicit(&j->claims, memory_order_acquire);
    do {
        *left = (uint32_t)seen;
        if (seen >> 32 != op || !*left)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&j->claims, &seen, seen - 1,
                                                    memory_order_acquire, memory_order_acquire));
    return true;
}

/* Bytes [first, first + bytes) of the chunk at whose claim there were `left`. */
static size_t part_of(size_t bytes, uint32_t left, size_t *first)
{
    size_t chunk = chunk_of(bytes);
    *first = (chunks_in(bytes) - left) * chunk;
    return min_size(chunk, bytes - *first);
}

void coop_copy_begin(const struct team *t, struct coop_copy *j, uint32_t op, struct buffer to,
                     size_t bytes)
{
    j->bytes = min_size(bytes, bytes_of(to));
    j->end = team_target_address(t, to, j->bytes);
    if (!j->end)
        j->bytes = 0;
    j->failed = 0;
    j->before = sync_load(&j->helped);
    atomic_store_explicit(&j->claims, (uint64_t)op << 32 | chunks_in(j->bytes),
                          memory_order_release);
    sync_publish(&j->opened, op);
}

static bool take(const struct team *t, const struct coop_copy *j, uint32_t left, uint32_t peer,
                 remote_addr_t from, char *to)
{
    size_t first, some = part_of(j->bytes, left, &first);
    const char *here = remote_addr_local(from);
    if (!here)
        return remote_read(t, peer, from, first, to + first, some);
    memcpy(to + first, here + first, some);
    return true;
}

enum coll_error coop_copy_receive(const struct team *t, struct coop_copy *j, uint32_t op,
                                  uint32_t peer, remote_addr_t from, struct buffer to, size_t bytes)
{
    if (!j->end)
        return coll_take_place(t, peer, from, to, bytes);
    char *at = to.at + to.map->low;
    uint32_t left, by_peer = chunks_in(j->bytes);
    bool done = true;
    for (; claim(j, op, &left); by_peer--)
        done &= take(t, j, left, peer, from, at);
    sync_wait_until(&j->helped, j->before + by_peer);
    done = done && (!j->failed || take(t, j, j->failed, peer, from, at));
    return (done ? COLL_OK : COLL_UNREACHABLE) | (bytes > j->bytes ? COLL_TRUNCATE : COLL_OK);
}

static bool give(const struct team *t, const struct coop_copy *j, uint32_t left, uint32_t peer,
                 const char *from)
{
    size_t first, some = part_of(j->bytes, left, &first);
    char *here = remote_addr_local(j->end);
    if (!here)
        return remote_write(t, peer, j->end, first, from + first, some);
    memcpy(here + first, from + first, some);
    return true;
}

void coop_copy_help(const struct team *t, struct coop_copy *j, uint32_t op, uint32_t peer,
                    struct buffer from)
{
    uint32_t left;
    bool done = true;
    sync_wait_until(&j->opened, op);
    for (uint32_t helped = 1; done && claim(j, op, &left); helped++) {
        done = give(t, j, left, peer, from.at + from.map->low);
        if (!done)
            j->failed = left;
        sync_publish(&j->helped, j->before + helped);
    }
}
