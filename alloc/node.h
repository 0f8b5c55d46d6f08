/* The ranks of this job on this node: who they are, and the memory they share.
 *
 * How they find each other. Before the host's MPI_Init each rank takes or joins an abstract Unix
 * socket whose name is made of the user and the job: the first one binds it and leads, the others
 * connect and send a greeting. The host's MPI_Init synchronises all ranks, with the plugin or
 * without. So once it has returned the leader has every connection that will ever come, and nobody
 * waits for a rank that does not know us (H3): as many as the launcher started here, the node is
 * complete; fewer, it is partial, and the ranks that have the plugin defer everything. A rank that
 * comes later still finds no listener, leads a group of one and sees that it is partial.
 *
 *   member                              leader
 *   connect, greeting ─────────────────▸ (queued in the socket)
 *   ─ host's MPI_Init ─                  ─ host's MPI_Init ─
 *                                        accepts all, counts, creates the file
 *           ◂───────────────────────────  offer: the file's descriptor, or none
 *   maps it, writes its record
 *   answer ─────────────────────────────▸ all answered well?
 *   waits for header.verdict             header.verdict = complete or partial
 *
 * Greeting, offer and answer are checked: user (the kernel's word for it), magic, version. Sockets
 * and a memfd have no name in any file system: nothing is left behind, whoever dies when, no limit
 * of /dev/shm applies, and no /proc is needed. If the leader dies in between, the others see the
 * end of its connection, or the host ends the job.
 *
 * After a fork the child's copy of its slice becomes private and nothing is fast there (H6).
 */
#ifndef MPIACCEL_NODE_H
#define MPIACCEL_NODE_H

#include "alloc/job.h"
#include "core/layout.h"

/* Memory of this process that is a second view of a part of its slice. */
struct node_alias {
    char *at;
    size_t size;
    uint64_t position; /* in the file */
    bool variables;    /* of the program: a child of fork gets them as they were */
    char *copy;        /* of those, while the process forks */
};
enum { NODE_ALIASES_MAX = 64 };

struct node {
    struct layout_header *header; /* NULL: nothing is shared */
    char *base, *end;             /* of the whole file here */
    size_t slice_size;
    uint32_t me, size;   /* this rank's place among the members */
    enum reason why_not; /* nothing is shared */
    bool forked;         /* this is a child */
    uint32_t aliases;
    struct node_alias alias[NODE_ALIASES_MAX];
};

extern struct node node;

/* Before the host's MPI_Init, and after it. */
void node_enter(const struct job *job);
void node_settle(int world_rank, int world_size);

/* Bytes that the symmetric heap (0: as much as the other one) and the statics want of each slice;
 * before node_enter(). */
void node_want(size_t symmetric, size_t statics);

/* Ranks of MPI_COMM_WORLD, here or not. */
int node_world_size(void);

/* The member that is `world_rank`, -1 if that rank is not on this node. */
int node_member_of(int world_rank);

static inline struct layout_member *node_member(uint32_t member)
{
    return &node.header->member[member];
}

static inline char *node_slice(uint32_t member)
{
    return node.base + layout_header_size(node.size) + member * node.slice_size;
}

/* Once the file is mapped: see views.c. It stays open, for fork. */
void node_open_views(int file);

/* Map a part of our slice at `at` too: over what is there, or, if not `replace`, only where nothing
 * is. False: not possible. */
bool node_add_alias(char *at, size_t size, uint64_t position, bool variables, bool replace);
void node_drop_alias(char *at);

bool node_alias_position(const void *at, size_t bytes, uint64_t *position);

/* Whether [at, at + bytes) is memory that all members can reach, and where it is in the file. */
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

/* More members than processors that they may run on. */
bool node_oversubscribed(void);

#endif
