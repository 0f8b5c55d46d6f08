#include "pmpi_wrap/process_vm_entry.h"

#include "alloc/send_buffer.h"
#include "core/copy.h"
#include "core/copy_policy.h"
#include "node/node.h"
#include "pmpi_wrap/symbols.h"

#include <stdlib.h>
#include <sys/uio.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- copies without the OS ---- */

/* A hash table by process id, at most half full. */
struct vm_peer {
    int pid; /* 0: unused */
    uint32_t member;
    uint64_t base;           /* of its mapping; 0: several members have this process id */
    struct layout_heap heap; /* with its position in the node's file; size 0: it is not shared */
};
static struct vm_peer *_Atomic peers; /* NULL: not open */
static uint32_t mask;

static struct vm_peer *find_peer(struct vm_peer *table, int pid)
{
    uint32_t i = (uint32_t)pid & mask;
    while (table[i].pid && table[i].pid != pid)
        i = (i + 1) & mask;
    return &table[i];
}

static struct layout_heap heap_of(uint32_t member)
{
    struct layout_heap heap = node_member(member)->heap;
    heap.position += (uint64_t)(node_slice(member) - node.base) + layout_statics_at(node.header);
    heap.size = node.header->statics_shared ? heap.size : 0;
    return heap;
}

void process_vm_open(void)
{
    uint32_t size = 2;
    while (size < 2 * node.size)
        size *= 2;
    struct vm_peer *table =
        copy_policy_replaces_host_copies() && node.header ? calloc(size, sizeof *table) : NULL;
    if (!table)
        return;
    mask = size - 1;
    for (uint32_t i = 0; i < node.size; i++) {
        const struct layout_member *member = node_member(i);
        struct vm_peer *peer = find_peer(table, member->pid);
        *peer = (struct vm_peer){member->pid, i, peer->pid ? 0 : member->base, heap_of(i)};
    }
    /* Release: the host's threads may call at any time, and find the whole table or none. */
    atomic_store_explicit(&peers, table, memory_order_release);
}

/* Whether [remote, remote + bytes) is part of `size` bytes at `start`, and then its offset. */
static bool is_inside(uint64_t remote, size_t bytes, uint64_t start, uint64_t size,
                      uint64_t *offset)
{
    *offset = remote - start;
    return *offset < size && bytes <= size - *offset;
}

/* The owner of that memory, and its position in the file. NULL: it is not in the file. */
static const struct vm_peer *owner_of(int pid, uint64_t remote, size_t bytes, uint64_t *position)
{
    struct vm_peer *table = atomic_load_explicit(&peers, memory_order_acquire);
    if (!table || !node.header)
        return NULL;
    const struct vm_peer *peer = find_peer(table, pid);
    if (!peer->pid || !peer->base)
        return NULL;
    if (is_inside(remote, bytes, peer->base, (uint64_t)(node.end - node.base), position))
        return peer;
    bool inside = is_inside(remote, bytes, peer->heap.address, peer->heap.size, position);
    *position += peer->heap.position;
    return inside ? peer : NULL;
}

/* Count a copy that the host requested from the OS and that loads and stores have made instead. */
static void count_host_copy(size_t bytes)
{
    stats_count(&stats_own.host_copies, 1);
    stats_count(&stats_own.host_copied, bytes);
}

/* Copy between `local` and the address `remote` of process `pid`. False: nothing has been done, and
 * the copy is left to the OS. */
static bool copy_from_peer(int pid, void *local, uint64_t remote, size_t bytes)
{
    uint64_t position;
    const struct vm_peer *owner = owner_of(pid, remote, bytes, &position);
    if (!owner)
        return false;
    copy_bytes(local, node.base + position, bytes);
    send_buffer_read(node_member(owner->member), position, bytes);
    count_host_copy(bytes);
    return true;
}

static bool copy_to_peer(int pid, uint64_t remote, const void *local, size_t bytes)
{
    uint64_t position;
    if (!owner_of(pid, remote, bytes, &position))
        return false;
    copy_bytes(node.base + position, local, bytes);
    count_host_copy(bytes);
    return true;
}

/* ---- the next definition, which may be a tool's ---- */

typedef ssize_t transfer_fn(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                            unsigned long, unsigned long);

static transfer_fn *next_read, *next_write;

/* Threads that search at the same time find the same definition, so the order of their stores does
 * not matter. */
static COLD transfer_fn *find_definition(transfer_fn **next, const char *name)
{
    transfer_fn *found = (transfer_fn *)symbol_next(name);
    __atomic_store_n(next, found, __ATOMIC_RELAXED);
    return found;
}

HOT_INLINE transfer_fn *next_of(transfer_fn **next, const char *name)
{
    transfer_fn *known = __atomic_load_n(next, __ATOMIC_RELAXED);
    return LIKELY(known != NULL) ? known : find_definition(next, name);
}

/* ---- the functions of the C library ---- */

/* Whether there is one piece of memory on each side, both of the same length: this is how hosts
 * copy contiguous messages. */
HOT_INLINE bool is_plain(const struct iovec *local, unsigned long local_pieces,
                         const struct iovec *remote, unsigned long remote_pieces,
                         unsigned long flags)
{
    return local_pieces == 1 && remote_pieces == 1 && !flags && local->iov_len == remote->iov_len;
}

EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_pieces,
                                const struct iovec *remote, unsigned long remote_pieces,
                                unsigned long flags)
{
    if (is_plain(local, local_pieces, remote, remote_pieces, flags) &&
        copy_from_peer(pid, local->iov_base, (uintptr_t)remote->iov_base, local->iov_len))
        return (ssize_t)local->iov_len;
    return next_of(&next_read, "process_vm_readv")(pid, local, local_pieces, remote, remote_pieces,
                                                   flags);
}

EXPORT ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_pieces,
                                 const struct iovec *remote, unsigned long remote_pieces,
                                 unsigned long flags)
{
    if (is_plain(local, local_pieces, remote, remote_pieces, flags) &&
        copy_to_peer(pid, (uintptr_t)remote->iov_base, local->iov_base, local->iov_len))
        return (ssize_t)local->iov_len;
    return next_of(&next_write, "process_vm_writev")(pid, local, local_pieces, remote,
                                                     remote_pieces, flags);
}
