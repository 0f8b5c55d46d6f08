#include "coll_inplace/transport.h"

#include "coll_inplace/coll.h"
#include "core/peer_memory.h"
#include "peer_copy/copy_request.h"

#include <errno.h>

/* ---- addresses ---- */

/* The address of contiguous data in the shared heap, or 0. `*start` is where the data begin, or
 * NULL if they are not contiguous. */
static remote_addr_t shared_address(struct buffer b, size_t bytes, char **start)
{
    uint64_t position;
    *start = b.map->contiguous && !b.map->without_holes ? b.at + b.map->low : NULL;
    return *start && node_position(*start, bytes, &position) ? (remote_addr_t)position << 1 : 0;
}

static remote_addr_t private_address(const char *start)
{
    return (remote_addr_t)(uintptr_t)start << 1 | 1;
}

remote_addr_t remote_addr_to_read(const struct team *t, struct buffer b, size_t bytes)
{
    char *start;
    remote_addr_t address = shared_address(b, bytes, &start);
    if (address || !start || !t->can_access_peers || !(t->policy & COPY_POLICY_BY_OS))
        return address;
    return private_address(start);
}

remote_addr_t remote_addr_to_write(const struct team *t, struct buffer b, size_t bytes)
{
    char *start;
    remote_addr_t address = shared_address(b, bytes, &start);
    return address || !start || !t->can_access_peers ? address : private_address(start);
}

remote_addr_t remote_addr_to_scan(const struct team *t, struct buffer from, size_t bytes)
{
    if (t->size == 2)
        return remote_addr_to_read(t, from, bytes);
    char *start;
    return shared_address(from, bytes, &start);
}

/* Let the owner make a copy that has just failed, unless the owner has died. */
static COLD bool copy_instead(const struct team *t, uint32_t owner, uint64_t remote, char *to,
                              const char *from, size_t bytes)
{
    if (errno == ESRCH)
        return false;
    copy_through_owner((uint32_t)node_owner_of(t->mailbox[owner]), remote, to, from, bytes);
    return true;
}

bool remote_read(const struct team *t, uint32_t owner, remote_addr_t address, size_t first,
                 void *to, size_t bytes)
{
    uint64_t from = (address >> 1) + first;
    return LIKELY(peer_memory_read(t->mailbox[owner]->pid, to, from, bytes)) ||
           copy_instead(t, owner, from, to, NULL, bytes);
}

bool remote_write(const struct team *t, uint32_t owner, remote_addr_t address, size_t first,
                  const void *from, size_t bytes)
{
    uint64_t to = (address >> 1) + first;
    return LIKELY(peer_memory_write(t->mailbox[owner]->pid, to, from, bytes)) ||
           copy_instead(t, owner, to, NULL, from, bytes);
}

/* ---- decisions ---- */

/* The address at which peers read the data; 0: they are copied. Reading through the OS gains
 * nothing over a cell, unless all ranks would have to wait until the cell is written. */
static remote_addr_t address_to_send(const struct team *t, struct buffer from, size_t bytes,
                                     enum by_reference by_reference)
{
    bool short_in_heap =
        by_reference == BY_REFERENCE_LONG ? bytes <= EAGER_MAX : bytes < BY_REFERENCE_MIN;
    bool short_in_private =
        bytes <= (by_reference == BY_REFERENCE ? ALLGATHER_COPY_MAX : TEAM_CELL);
    if (by_reference == BY_REFERENCE_NEVER || short_in_heap)
        return 0;
    remote_addr_t address = remote_addr_to_read(t, from, bytes);
    return short_in_private && !remote_addr_local(address) ? 0 : address;
}

enum slot_kind transport_of(const struct team *t, struct buffer from, size_t bytes,
                            enum by_reference by_reference, remote_addr_t *address)
{
    enum slot_kind copied = transport_of_copy(bytes);
    *address = copied == SLOT_INLINE ? 0 : address_to_send(t, from, bytes, by_reference);
    return *address ? SLOT_REFERENCE : copied;
}

/* Whether the others can read all blocks by reference. `*shared`: whether all blocks are in the
 * heap. */
static bool have_addresses(const struct team *t, const struct blocks *all, bool *shared)
{
    *shared = true;
    for (uint32_t r = 0; r < t->size; r++) {
        struct buffer block = block_of(all, r);
        size_t bytes = r == t->self ? 0 : bytes_of(block);
        remote_addr_t address = bytes ? remote_addr_to_read(t, block, bytes) : 0;
        if (bytes && !address)
            return false;
        *shared = *shared && (!address || remote_addr_local(address));
    }
    return true;
}

enum slot_kind transport_of_blocks(const struct team *t, const struct blocks *all, size_t bytes,
                                   size_t table, enum by_reference by_reference)
{
    bool shared, fits = fits_into_cell(bytes + table);
    if (fits_into_slot(bytes + t->size))
        return SLOT_INLINE;
    if (by_reference != BY_REFERENCE_NEVER && bytes >= BY_REFERENCE_MIN &&
        !(by_reference == BY_REFERENCE_LONG && fits) && have_addresses(t, all, &shared) &&
        (shared || !fits))
        return SLOT_REFERENCE;
    return fits ? SLOT_BUFFERED : SLOT_PIPELINED;
}
