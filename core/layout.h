/* The byte layout of the file that the ranks of a node share.
 *
 *     header | member 0 | member 1 | …            rounded up to pages
 *     room 0 | room 1 | …                         for copies that the OS refuses
 *     slice 0: control part | heap part | gap | symmetric part | gap | statics | gap
 *     slice 1: …                                  one per member, slice_size bytes each
 *
 * Writers:
 *   header                    the leader, before any other rank maps the file, except:
 *     statics_shared, verdict the leader, in this order, when all members have answered
 *     why_not, verdict        the leader, when all members have published `membership`
 *     calibration             two members (peer_copy/calibrate.h)
 *     copy_policy             one of them, when the calibration is complete
 *   member                    that member: its identity before the verdict, the rest at any time
 *   room                      that member, and members from whose memory it wants a copy
 *   control part              the owner of the slice allocates; each structure names its writers
 *   heap, symmetric, statics  the program
 *
 * The control part holds the shared state of windows and collectives. The heap part is memory of
 * the program. The symmetric part has the same offsets on every PE (alloc/symmetric.h). The last
 * part is reserved address space: every member maps there the file of the owner's static variables
 * (node/statics.h).
 *
 * The metadata of the allocators are in private memory of the owner, where a program that writes
 * beyond its window cannot corrupt them. The gaps catch writes beyond the last allocation of a
 * part.
 *
 * The file is sparse: a page takes memory only when it is first touched, on the NUMA node of the
 * rank that touches it.
 */
#ifndef MPIACCEL_LAYOUT_H
#define MPIACCEL_LAYOUT_H

#include "core/processors.h"
#include "core/stats.h"
#include "core/thread.h"

enum {
    LAYOUT_VERSION = 30, /* of all shared structures; ranks with different versions do not share */
};
#define LAYOUT_MAGIC     UINT64_C(0x6c6363616970616d)
#define LAYOUT_PAGE      ((size_t)65536) /* the largest base page of the supported processors */
#define LAYOUT_GAP       ((size_t)1 << 20)
#define LAYOUT_COPY_ROOM LAYOUT_PAGE /* per member */

enum layout_verdict { LAYOUT_OPEN, LAYOUT_CONFIRM, LAYOUT_COMPLETE, LAYOUT_PARTIAL };
/* See node/verdict.h. */
enum nodes_verdict { NODES_UNKNOWN, NODES_NOT_ALL, NODES_NO_NAMES, NODES_ALL };
enum layout_membership { LAYOUT_UNCONFIRMED, LAYOUT_SAME_WORLD, LAYOUT_OTHER_WORLD };

/* A copy that the OS has refused this member. peer_copy/copy_request.h defines which member writes
 * when.
 */
struct copy_request {
    _Alignas(LINE) struct sync_word state;
    uint64_t address, bytes; /* of the memory, in the process of its owner */
    bool writes;             /* to that memory, from the room of this member */
};

struct layout_heap {
    uint64_t address; /* in the member's process */
    uint64_t size, position;
};

struct layout_member {
    /* Identity, written once. */
    _Alignas(LINE) int32_t world_rank;
    int32_t pid;
    uint64_t base; /* address at which the member maps the file */
    /* Its early heap or heap of malloc, in its file of static variables. Size 0: none. */
    struct layout_heap heap;
    uint64_t probe, probe_address; /* see core/peer_memory.h */
    uint64_t statics;              /* fingerprint of the moved static variables; 0: none */
    struct processors processors;
    uint32_t wait;                              /* enum wait_setting */
    bool prints_statistics;                     /* MPIACCEL_STATS is set */
    _Alignas(LINE) struct sync_word membership; /* enum layout_membership */
    /* Written by the threads of the member; read by ranks that change to bulk mode. */
    struct inflight inflight[INFLIGHT_SLOTS];
    /* Written by the member; read by ranks that copy from its memory. See alloc/send_buffer.h. */
    _Alignas(LINE) _Atomic uint64_t send_buffer;
    /* Incremented by members that have sent a message to this one (pmpi_wrap/host_wait.h), or want
     * a copy. */
    _Alignas(LINE) struct sync_word mail;
    /* Incremented by members that want a copy from or to private memory of this one. */
    _Alignas(LINE) struct sync_word copies_wanted;
    struct copy_request copy_request;
    /* Written once in MPI_Init, by the leader of each node: enum nodes_verdict. */
    _Alignas(LINE) struct sync_word nodes;
    /* Written once, when the node has settled: enum start_fact (abi/life_cycle/node_setup.h). */
    _Alignas(LINE) struct sync_word start_facts;
    /* Written when this member finalizes the host: enum finalize_step
     * (abi/life_cycle/node_setup.h). */
    _Alignas(LINE) struct sync_word finalize_step;
    /* Written whenever the host is finalized. */
    _Alignas(LINE) struct stats_snapshot stats;
};

struct layout_calibration {
    _Alignas(LINE) struct sync_word state;
    bool permitted;         /* the reader may use process_vm_readv() */
    uint64_t cells, source; /* a position in this file; an address in the writer's process */
    _Alignas(LINE) struct sync_word given;
    _Alignas(LINE) struct sync_word taken;
};

struct layout_header {
    uint64_t magic;
    uint32_t version, members;
    uint64_t slice_size, control_size, symmetric_size, statics_size;
    uint32_t statics_shared; /* whether every member has mapped all static variables */
    uint32_t why_not;        /* enum reason, if the verdict is LAYOUT_PARTIAL */
    uint64_t token;          /* drawn by the leader for these members */
    _Alignas(LINE) struct sync_word verdict;     /* enum layout_verdict */
    _Alignas(LINE) struct sync_word symmetric;   /* see alloc/symmetric.h */
    _Alignas(LINE) _Atomic uint32_t copy_policy; /* see core/copy_policy.h */
    struct layout_calibration calibration;
    /* How many threads of the node are counted in the `sleepers` of a member's `mail`. */
    _Alignas(LINE) _Atomic uint32_t asleep;
    /* The member that creates a window of the host alone, plus 1 (host_window_create_alone()). */
    _Alignas(LINE) _Atomic uint32_t creates_window;
    _Alignas(LINE) struct layout_member member[];
};

static inline size_t layout_rooms_at(uint32_t members)
{
    return round_up(sizeof(struct layout_header) + members * sizeof(struct layout_member),
                    LAYOUT_PAGE);
}

static inline char *layout_copy_room(struct layout_header *h, uint32_t member)
{
    return (char *)h + layout_rooms_at(h->members) + member * LAYOUT_COPY_ROOM;
}

/* All that comes before the slices. */
static inline size_t layout_header_size(uint32_t members)
{
    return layout_rooms_at(members) + members * LAYOUT_COPY_ROOM;
}

/* Where the parts of a slice begin. The heap part and its gap end where the symmetric part begins.
 */
static inline size_t layout_tail(size_t symmetric, size_t statics)
{
    return symmetric + statics + 2 * LAYOUT_GAP;
}

static inline size_t layout_symmetric_at(const struct layout_header *h)
{
    return h->slice_size - layout_tail(h->symmetric_size, h->statics_size);
}

static inline size_t layout_statics_at(const struct layout_header *h)
{
    return h->slice_size - h->statics_size - LAYOUT_GAP;
}

static inline size_t layout_size(const struct layout_header *h)
{
    return layout_header_size(h->members) + h->members * h->slice_size;
}

_Static_assert(sizeof(struct sync_word) == 8, "a futex and its sleepers");
_Static_assert(offsetof(struct layout_header, verdict) == LINE, "own line");
_Static_assert(offsetof(struct layout_header, symmetric) == 2 * (size_t)LINE, "own line");
_Static_assert(offsetof(struct layout_header, copy_policy) == 3 * (size_t)LINE, "own line");
_Static_assert(offsetof(struct layout_header, member) == 9 * (size_t)LINE, "own line");
_Static_assert(sizeof(struct inflight) == LINE, "one writer per line");
_Static_assert(sizeof(struct layout_member) % LINE == 0, "members do not share lines");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2, "no hidden locks");

#endif
