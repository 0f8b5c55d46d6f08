#include "alloc/vm_copy.h"

#include "alloc/node.h"
#include "alloc/send_buffer.h"
#include "core/config.h"
#include "core/copy.h"

#include <stdlib.h>

/* By process number, in a table with room to spare. */
struct peer {
    int pid; /* 0: a free place */
    uint32_t member;
    uint64_t base; /* of its mapping; 0: more than one member has this number */
};
static struct peer *_Atomic peers; /* NULL: none are known */
static uint32_t mask;

static struct peer *place_of(struct peer *table, int pid)
{
    uint32_t i = (uint32_t)pid & mask;
    while (table[i].pid && table[i].pid != pid)
        i = (i + 1) & mask;
    return &table[i];
}

void vm_copy_open(void)
{
    uint32_t places = 2;
    while (places < 2 * node.size)
        places *= 2;
    struct peer *table = config.cma && node.header ? calloc(places, sizeof *table) : NULL;
    if (!table)
        return;
    mask = places - 1;
    for (uint32_t i = 0; i < node.size; i++) {
        const struct layout_member *member = node_member(i);
        struct peer *place = place_of(table, member->pid);
        *place = (struct peer){member->pid, i, place->pid ? 0 : member->base};
    }
    /* Release: threads of the host's may come at any time, and find all or nothing. */
    atomic_store_explicit(&peers, table, memory_order_release);
}

/* Whose memory that is, and where in the file; NULL: not in the file. */
static const struct peer *owner_of(int pid, uint64_t there, size_t bytes, uint64_t *position)
{
    struct peer *table = atomic_load_explicit(&peers, memory_order_acquire);
    if (!table || !node.header)
        return NULL;
    const struct peer *peer = place_of(table, pid);
    uint64_t size = (uint64_t)(node.end - node.base);
    *position = there - peer->base;
    bool inside = peer->pid && peer->base && *position < size && bytes <= size - *position;
    return inside ? peer : NULL;
}

bool vm_copy_read(int pid, void *here, uint64_t there, size_t bytes)
{
    uint64_t position;
    const struct peer *owner = owner_of(pid, there, bytes, &position);
    if (!owner)
        return false;
    copy_bytes(here, node.base + position, bytes);
    send_buffer_read(node_member(owner->member), position, bytes);
    stats_host_copy(bytes);
    return true;
}

bool vm_copy_write(int pid, uint64_t there, const void *here, size_t bytes)
{
    uint64_t position;
    if (!owner_of(pid, there, bytes, &position))
        return false;
    copy_bytes(node.base + position, here, bytes);
    stats_host_copy(bytes);
    return true;
}
