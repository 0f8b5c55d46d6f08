/* The ranks of this job on this node, and the file that they share (core/layout.h).
 *
 * Every member maps the whole file once, so the memory of a member is at a position in the file
 * that is the same for all members, and at an address that differs between processes.
 * node/rendezvous.h describes how the members find each other and get the file.
 *
 * Two kinds of memory have a second address, an alias:
 *
 *   symmetric heap    this process maps its part of the file again, if possible at an address that
 *                     is the same on all PEs, i.e. ranks (alloc/symmetric.h).
 *   static variables  each process keeps them in a file of its own, which exists before the node's
 *                     file does (node/statics.h). All members map that file over the statics part
 *                     of the owner's slice, so a position in that part is a position in the owner's
 *                     variables.
 *
 * A child of fork belongs to no node, and its slice is a private mapping (node/fork.h).
 */
#ifndef MPIACCEL_NODE_H
#define MPIACCEL_NODE_H

#include "core/layout.h"

#include <sys/types.h>

struct node_alias {
    char *address;
    size_t size;
    uint64_t position; /* in the file */
};
enum { NODE_ALIASES_MAX = 64 };

struct node {
    struct layout_header *header; /* NULL: nothing is shared */
    char *base, *end;             /* of this process's mapping of the whole file */
    size_t slice_size;
    uint32_t me, size;   /* this rank's number among the members; number of members */
    enum reason why_not; /* why nothing is shared, if `header` is NULL */
    bool forked;         /* this process is a child of fork */
    /* The ranks of MPI_COMM_WORLD that node_member_of() finds, ascending: those of all members,
     * unless MPIACCEL_NODE_SIZE makes several nodes of this one. */
    int ranks_here;
    const int *rank_here;
    uint32_t aliases;
    struct node_alias alias[NODE_ALIASES_MAX];
};

extern struct node node;

/* ---- for node/rendezvous.c ---- */

/* The room that a member needs in the file, in bytes. */
struct node_needs {
    uint64_t heap;      /* the most bytes of the heap that it will use */
    uint64_t symmetric; /* the most bytes of the symmetric heap that it will use */
    uint64_t statics;   /* the size of the file with its static variables */
    uint64_t room;      /* address space that it has left */
};
/* `statics` of a member whose file has not arrived. No shared file has room for so much, so
 * node_create() reserves no room for static variables. */
#define NODE_STATICS_MISSING SIZE_MAX

/* Add the needs of one more member to those of all. */
void node_needs_combine(struct node_needs *all, const struct node_needs *more);

/* Create and map the file, as member 0 of `size` members, and fill in its header. Returns its
 * descriptor, or -1: not possible; the reason is logged. */
int node_create(uint32_t size, int world_size, const struct node_needs *needs);

/* Map the file, as member `me` of `size` members, and allocate an index of `world_size` ranks.
 * False: not possible; the reason is logged. */
bool node_map(int file, size_t file_size, uint32_t me, uint32_t size, int world_size);

/* Map the file with a member's static variables over the statics part of its slice. */
bool node_map_statics(uint32_t member, int file);

/* Call when all members have mapped the file and filled in their records. `file` stays open, for
 * fork and for aliases. */
void node_open(int file);

void node_unmap(enum reason why_not);

/* Let children of fork inherit the slices of other members, too, which remain shared. */
void node_let_children_inherit(void);

/* Whether the mapping that begins at `address`, of the file with this device and inode, is one of
 * the node's file, or one of the files that are mapped over it. */
bool node_maps_file_at(const char *address, dev_t device, ino_t inode);

/* In a child: share whole pages of this process's slice with the parent again. False: not
 * possible. */
bool node_map_shared(char *at, size_t size);

/* ---- members ---- */

/* The number of ranks in MPI_COMM_WORLD, on all nodes. */
int node_world_size(void);

/* The member that is `world_rank`, or -1 if that rank is not on this node. */
int node_member_of(int world_rank);

static inline struct layout_member *node_member(uint32_t member)
{
    return &node.header->member[member];
}

static inline char *node_slice(uint32_t member)
{
    return node.base + layout_header_size(node.size) + member * node.slice_size;
}

/* The member whose slice contains this address of our mapping, or -1. */
static inline int node_owner_of(const void *address)
{
    const char *at = address;
    return at >= node_slice(0) && at < node.end
               ? (int)((size_t)(at - node_slice(0)) / node.slice_size)
               : -1;
}

/* The worst shortage of processors among the members. Its cause is SHORTAGE_NONE if each member has
 * a processor. */
struct shortage node_shortage(void);

/* ---- positions ---- */

/* Convert an address in this process's mapping of the file to its position, and back; position 0,
 * where the header is, stands for NULL. */
static inline uint64_t node_offset(const void *shared)
{
    return (uint64_t)((const char *)shared - node.base);
}

static inline void *node_at(uint64_t position)
{
    return position ? node.base + position : NULL;
}

/* Register that [address, address + size) is the same memory as `position` in the file. False:
 * there are too many aliases. */
bool node_add_alias(char *address, size_t size, uint64_t position);

/* Map [position, position + size) of the file at `address` too, and register the alias. `replace`:
 * over existing mappings; otherwise only where nothing is mapped. False: not possible. */
bool node_map_alias(char *address, size_t size, uint64_t position, bool replace);
void node_unmap_alias(char *address);

/* node_position() for memory that has an alias. */
bool node_alias_position(const void *address, size_t bytes, uint64_t *position);

/* Whether [at, at + bytes) is memory that all members can access, and its position in the file. */
static inline bool node_position(const void *at, size_t bytes, uint64_t *position)
{
    const char *p = at;
    if (!node.header)
        return false;
    if (p < node.base || p >= node.end)
        return UNLIKELY(node.aliases) && node_alias_position(at, bytes, position);
    *position = (uint64_t)(p - node.base);
    return bytes <= (size_t)(node.end - p);
}

static inline bool node_shares(const void *at, size_t bytes)
{
    uint64_t position;
    return node_position(at, bytes, &position);
}

#endif
