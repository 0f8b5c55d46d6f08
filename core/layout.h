/* The byte map of what the ranks of a node share: one file.
 *
 *     header | member 0 | member 1 | …            control: pages_of(header)
 *     slice 0: control part | heap part | gap | symmetric part | gap | statics | gap
 *     slice 1: …                                  one a member, slice_size each
 *
 * Who writes: the header, its leader, before anybody else maps the file; but `statics_shared` and
 * then `verdict` once, when all have answered, and `calibration` and `copy_policy`, which two
 * members write (alloc/calibrate.h). A member's record, that member, before the verdict (identity)
 * or at any time (inflight, send_buffer, statistics). The control part of a slice holds what
 * windows share; it is handed out by the slice's owner and written as the structures in it say. The
 * heap part is the program's memory. The symmetric part is the block of the same offsets on every
 * PE (alloc/symmetric.h); over the last part every member maps the file with the owner's static
 * variables (alloc/statics.h). What an allocator knows of either is private to the owner, out of
 * every writer's reach (H22); the gap at the end of a slice catches who runs over the end of the
 * last allocation.
 *
 * The file is sparse: a page costs memory when it is first touched, near who touches it.
 */
#ifndef MPIACCEL_LAYOUT_H
#define MPIACCEL_LAYOUT_H

#include "core/stats.h"
#include "core/thread.h"

enum {
    LAYOUT_VERSION = 11, /* of everything that ranks share; ranks of two versions do not mix */
    LAYOUT_CPUS = 8192,
};
#define LAYOUT_MAGIC UINT64_C(0x6c6363616970616d)
#define LAYOUT_PAGE  ((size_t)65536) /* the largest page of the processors we know */
#define LAYOUT_GAP   ((size_t)1 << 20)

enum layout_verdict { LAYOUT_OPEN, LAYOUT_COMPLETE, LAYOUT_PARTIAL };

struct layout_member {
    /* Identity: written once. */
    _Alignas(LINE) int32_t world_rank;
    int32_t pid;
    uint64_t base;                   /* where it has mapped this file */
    uint64_t probe, probe_address;   /* see alloc/peer_memory.h */
    uint64_t statics;                /* a hash of which variables are shared; 0: none */
    uint64_t cpus[LAYOUT_CPUS / 64]; /* it may run on */
    /* Written by the member's threads, read by whoever must know that none is at work. */
    struct inflight inflight[INFLIGHT_SLOTS];
    /* Written by the member, read by who fetches from its memory: see alloc/send_buffer.h. */
    _Alignas(LINE) _Atomic uint64_t send_buffer;
    /* Written once, at Finalize. */
    _Alignas(LINE) struct stats_snapshot stats;
};

struct layout_calibration {
    _Alignas(LINE) struct sync_word state;
    bool permitted;         /* the reader may use process_vm_readv() */
    uint64_t cells, source; /* a position in this file, and an address of the writer's */
    _Alignas(LINE) struct sync_word given;
    _Alignas(LINE) struct sync_word taken;
};

struct layout_header {
    uint64_t magic;
    uint32_t version, members;
    uint64_t slice_size, control_size, symmetric_size, statics_size;
    uint32_t statics_shared; /* whether every member has mapped all static variables */
    _Alignas(LINE) struct sync_word verdict;     /* enum layout_verdict */
    _Alignas(LINE) struct sync_word symmetric;   /* see alloc/symmetric.h */
    _Alignas(LINE) _Atomic uint32_t copy_policy; /* see core/copy_policy.h */
    struct layout_calibration calibration;
    _Alignas(LINE) struct layout_member member[];
};

static inline size_t layout_header_size(uint32_t members)
{
    return round_up(sizeof(struct layout_header) + members * sizeof(struct layout_member),
                    LAYOUT_PAGE);
}

/* Of a slice: where its parts begin. The heap part and its gap end where the symmetric part begins.
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
_Static_assert(offsetof(struct layout_header, member) == 7 * (size_t)LINE, "own line");
_Static_assert(sizeof(struct inflight) == LINE, "one writer a line");
_Static_assert(sizeof(struct layout_member) % LINE == 0, "members do not share lines");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2, "no hidden locks");

#endif
