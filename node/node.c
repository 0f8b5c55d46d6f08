#include "node/node.h"

#include "core/config.h"
#include "core/copy_policy.h"
#include "core/log.h"
#include "core/os_number.h"
#include "node/fd_message.h"
#include "node/fork.h"
#include "node/memfd.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

struct node node = {.why_not = REASON_NOT_INITIALISED};

static struct memfd node_file = {.file = -1}; /* once the node is open; fork needs it, too */

/* The member for each world rank, or -1, followed by the array node.rank_here. */
static struct {
    int count;
    int32_t *member;
} by_rank;

/* ---- mapping ---- */

bool node_map(int file, size_t file_size, uint32_t me, uint32_t size, int world_size)
{
    char *base = memfd_map(file, 0, file_size, NULL, 0);
    if (!base) {
        log_message(2, "the shared file of %zu bytes cannot be mapped: %m; see `ulimit -v`",
                    file_size);
        return false;
    }
    node.base = base;
    node.end = base + file_size;
    node.header = (struct layout_header *)base;
    node.me = me;
    node.size = size;
    node.slice_size = (file_size - layout_header_size(size)) / size;
    by_rank.count = world_size;
    by_rank.member = malloc(((size_t)world_size + size) * sizeof *by_rank.member);
    return by_rank.member;
}

bool node_map_statics(uint32_t member, int file)
{
    size_t size = memfd_sealed_size(file);
    char *part = node_slice(member) + layout_statics_at(node.header);
    return size && size <= node.header->statics_size && memfd_map(file, 0, size, part, MAP_FIXED);
}

bool node_maps_file_at(const char *address, dev_t device, ino_t inode)
{
    return (address >= node.base && address < node.end) ||
           (inode == node_file.inode && device == node_file.device);
}

void node_unmap(enum reason why_not)
{
    sync_set_host_mail(NULL, NULL);
    if (node.header)
        munmap(node.base, (size_t)(node.end - node.base));
    free(by_rank.member);
    by_rank.member = NULL;
    node = (struct node){.why_not = why_not};
}

/* ---- creating ---- */

static const size_t file_size_max = (size_t)1 << 45; /* of the 47 bits of an address */
static const size_t slice_size_min = (size_t)16 << 20;
static const size_t control_size_max = (size_t)5 << 28; /* 1280 mailboxes where pages have 64 KiB */
/* If address space is limited, the file gets an eighth of it; the rest is left to the program. */
enum { ADDRESS_SPACE_SHARE = 8 };

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

void node_needs_combine(struct node_needs *all, const struct node_needs *more)
{
    all->heap = max_size(all->heap, more->heap);
    all->symmetric = max_size(all->symmetric, more->symmetric);
    all->statics = max_size(all->statics, more->statics);
    all->room = min_size(all->room, more->room);
}

static uint64_t new_token(void)
{
    uint64_t token;
    if (getrandom(&token, sizeof token, GRND_NONBLOCK) != sizeof token)
        token = sync_now_ns() ^ (uint64_t)getpid() << 40;
    return token;
}

/* The sizes of the parts of the file (core/layout.h). False: there is not enough room. */
static bool choose_sizes(struct layout_header *h, const struct node_needs *needs)
{
    size_t header = layout_header_size(h->members);
    size_t most = min_size(min_size(needs->room / ADDRESS_SPACE_SHARE, file_size_max),
                           os_limit(RLIMIT_FSIZE));
    most = most > header ? (most - header) / h->members : 0;
    /* A small limit on the heap is enforced by the arena: a slice also holds what windows share. */
    size_t heap = max_size(needs->heap, slice_size_min);
    size_t arenas = round_up(min_size(heap, file_size_max), LAYOUT_PAGE) +
                    min_size(control_size_max, heap / 8) + LAYOUT_GAP;
    /* If room is short, the statics get what they need or nothing, and the symmetric heap a quarter
     * of the rest. */
    size_t spare =
        most > slice_size_min + layout_tail(0, 0) ? most - slice_size_min - layout_tail(0, 0) : 0;
    size_t statics = needs->statics <= spare ? round_up(needs->statics, LAYOUT_PAGE) : 0;
    spare -= min_size(spare, statics);
    size_t symmetric = round_up(min_size(needs->symmetric, file_size_max), LAYOUT_PAGE);
    if (symmetric + arenas > spare)
        symmetric = round_down(min_size(symmetric, spare / 4), LAYOUT_PAGE);
    size_t tail = layout_tail(symmetric, statics);
    size_t slice = round_down(min_size(arenas + tail, most), LAYOUT_PAGE);
    if (slice < slice_size_min + tail)
        return false;
    h->slice_size = slice;
    h->control_size = round_down(min_size(control_size_max, (slice - tail) / 8), LAYOUT_PAGE);
    h->symmetric_size = symmetric;
    h->statics_size = statics;
    return true;
}

/* Some batch systems, such as Grid Engine, limit each process to the address space of the whole
 * job, and end a job whose processes take more together. So the mappings of all members together
 * take at most half of the limit, unless the part of a member would be smaller than 32 MiB. */
static size_t room_of_one(size_t room, uint32_t members)
{
    size_t least = members * ((size_t)32 << 20);
    size_t most = min_size(max_size(room / (2 * (size_t)members), least), file_size_max);
    return min_size(room, ADDRESS_SPACE_SHARE * most);
}

/* Create and map the file. False: it cannot be mapped. */
static bool create_node_file(struct layout_header *h, int world_size, int *file)
{
    *file = memfd_create_sealed(layout_size(h));
    if (*file < 0 || node_map(*file, layout_size(h), 0, h->members, world_size))
        return true;
    node_unmap(node.why_not);
    fd_close(file);
    return false;
}

int node_create(uint32_t size, int world_size, const struct node_needs *needs)
{
    struct node_needs left = *needs;
    struct layout_header header = {
        .magic = LAYOUT_MAGIC,
        .version = LAYOUT_VERSION,
        .members = size,
        .why_not = REASON_NO_SHARING,
        .token = new_token(),
        .copy_policy = COPY_POLICY_DEFAULT,
    };
    int file;
    if (left.room != SIZE_MAX)
        left.room = room_of_one(left.room, size);
    do {
        if (!choose_sizes(&header, &left)) {
            log_message(2, "no room for a shared file; see `ulimit -v` and `ulimit -f`");
            return -1;
        }
        /* If there is no address space for this file, try one of half the size: valgrind has
         * little. */
        left.room = layout_size(&header) * (ADDRESS_SPACE_SHARE / 2);
    } while (!create_node_file(&header, world_size, &file));
    if (file >= 0)
        *node.header = header;
    return file;
}

/* ---- opening ---- */

static bool same_node(int rank, int other)
{
    return !config.node_size ||
           (unsigned long)rank / config.node_size == (unsigned long)other / config.node_size;
}

static void index_ranks(void)
{
    int32_t *here = by_rank.member + by_rank.count;
    for (int r = 0; r < by_rank.count; r++)
        by_rank.member[r] = -1;
    for (uint32_t i = 0; i < node.size; i++)
        if (same_node(node_member(i)->world_rank, node_member(node.me)->world_rank))
            by_rank.member[node_member(i)->world_rank] = (int32_t)i;
    for (int r = 0; r < by_rank.count; r++)
        if (by_rank.member[r] >= 0)
            here[node.ranks_here++] = r;
    node.rank_here = here;
}

/* A child of fork has no use for the slices of other members. Core files do not contain the file:
 * the OS would fill each hole with a page first, up to the size of the machine's memory. Arenas
 * enable dumps of the memory that they use. */
static void limit_inheritance(void)
{
    char *slice = node_slice(node.me), *after = slice + node.slice_size;
    madvise(node.base, (size_t)(slice - node.base), MADV_DONTFORK);
    madvise(after, (size_t)(node.end - after), MADV_DONTFORK);
    madvise(node.base, (size_t)(node.end - node.base), MADV_DONTDUMP);
}

void node_let_children_inherit(void)
{
    madvise(node.base, (size_t)(node.end - node.base), MADV_DOFORK);
}

bool node_map_shared(char *at, size_t size)
{
    int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    return memfd_is_open(&node_file) && mmap(at, size, PROT_READ | PROT_WRITE, flags,
                                             node_file.file, at - node.base) != MAP_FAILED;
}

static void leave_node_in_child(void)
{
    if (!node.header)
        return;
    sync_set_host_mail(NULL, NULL); /* the word is not mapped here */
    node.header = NULL;
    node.forked = true;
    node.why_not = REASON_FORKED;
}

void node_open(int file)
{
    char *slice = node_slice(node.me);
    memfd_keep(&node_file, file);
    index_ranks();
    limit_inheritance();
    fork_add(FORK_HEAP, slice, node.slice_size, file, (uint64_t)(slice - node.base));
    pthread_atfork(NULL, NULL, leave_node_in_child);
}

/* ---- members ---- */

int node_world_size(void)
{
    return by_rank.count;
}

int node_member_of(int world_rank)
{
    bool known = node.header && world_rank >= 0 && world_rank < by_rank.count;
    return known ? by_rank.member[world_rank] : -1;
}

static const struct processors *processors_of(uint32_t member)
{
    return &node_member(member)->processors;
}

struct shortage node_shortage(void)
{
    return processors_shortage(node.header ? node.size : 0, processors_of);
}

/* ---- positions ---- */

bool node_add_alias(char *address, size_t size, uint64_t position)
{
    if (node.aliases == NODE_ALIASES_MAX)
        return false;
    node.alias[node.aliases++] = (struct node_alias){address, size, position};
    return true;
}

bool node_map_alias(char *address, size_t size, uint64_t position, bool replace)
{
    if (node.aliases == NODE_ALIASES_MAX || !memfd_is_open(&node_file))
        return false;
    char *mapped = memfd_map(node_file.file, position, size, address,
                             replace ? MAP_FIXED : MAP_FIXED_NOREPLACE);
    if (!mapped)
        return false;
    /* Before Linux 4.17 MAP_FIXED_NOREPLACE does not exist and the address is only a hint. */
    if (mapped != address || !fork_add(FORK_HEAP, address, size, node_file.file, position)) {
        munmap(mapped, size);
        return false;
    }
    return node_add_alias(address, size, position);
}

void node_unmap_alias(char *address)
{
    for (uint32_t i = 0; i < node.aliases; i++)
        if (node.alias[i].address == address) {
            fork_remove(address);
            munmap(address, node.alias[i].size);
            node.alias[i] = node.alias[--node.aliases];
            return;
        }
}

bool node_alias_position(const void *address, size_t bytes, uint64_t *position)
{
    const char *p = address;
    for (uint32_t i = 0; i < node.aliases; i++) {
        const struct node_alias *a = &node.alias[i];
        if (p >= a->address && p < a->address + a->size) {
            *position = a->position + (uint64_t)(p - a->address);
            return bytes <= (size_t)(a->address + a->size - p);
        }
    }
    return false;
}
