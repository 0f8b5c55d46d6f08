/* A fast window: all its ranks are on this node, and each of them maps the window memory of all, or
 * in a dynamic window all attached memory that lies in the shared file (rma_shm/attached.h).
 *
 * struct win is the private view of one rank. struct win_shared holds the locks, flags and counters
 * that the ranks share; it lies in the control part of the slice of rank 0. The window memory stays
 * where the program allocated it.
 *
 * Access epochs. A peer is open for operations when its stamp equals the stamp of the window.
 * Opening an epoch towards several peers (fence, lock_all, start) advances the stamp of the window.
 * The first operation on a peer then finds unequal stamps and takes the slow path, win_open_peer()
 * in epoch.h. That function checks that the epoch admits the operation, waits for whatever this
 * kind of epoch requires, and sets the stamp of the peer. Every later operation pays one
 * comparison. Closing an epoch advances the stamp again. Opening and closing are O(1) in the number
 * of ranks, except for lock_all once a rank has requested an exclusive lock (sync_passive.h).
 *
 * Concurrency:
 *   operations of different ranks            concurrent, under the rules of MPI
 *   operations of several threads of a rank  concurrent on different targets or inside one epoch
 *   calls of one rank that begin or end      one at a time per window and target
 *     an access epoch
 *   post, wait and test of one rank          one at a time per window, concurrent with access
 *                                            epochs
 *
 * So `exposed` is a field of its own, and not a member of the set of access epochs.
 */
#ifndef MPIACCEL_WIN_H
#define MPIACCEL_WIN_H

#include "core/barrier.h"
#include "core/lock.h"
#include "core/stats.h"
#include "core/thread.h"
#include "rma_shm/attached.h"

#include <sys/queue.h>

enum { WIN_RANKS_MAX = RWLOCK_MAX_RANKS };

/* The shared state of target r. */
struct win_target {
    /* Written by origins that lock r. */
    _Alignas(LINE) struct sync_word lock;
    /* Written by origins that accumulate into the memory of r; see atomic.h. */
    _Alignas(LINE) struct sync_word bulk_mutex;
    _Atomic uint32_t bulk_mode;
    /* Number of access epochs towards r that origins have completed; written by the origins. */
    _Alignas(LINE) struct sync_word completions;
    /* Number of posts towards r; written by the targets that post. */
    _Alignas(LINE) struct sync_word posts;
};

struct win_shared {
    _Alignas(LINE) struct sync_word lock_all; /* an rwlock whose readers hold all targets */
    _Atomic uint32_t exclusive_used;          /* 1 once any rank has requested an exclusive lock */
    _Alignas(LINE) struct sync_word departed; /* number of ranks that no longer use the window */
    _Atomic uint32_t lingering;    /* ranks except 0 that will read `departed`; see win_linger() */
    _Atomic uint32_t lenient_used; /* 1 once any rank has been admitted only because the window is
                                      lenient (epoch.h) */
    /* Followed by four arrays with one entry per rank: the targets, the flags of the barrier, a set
     * of bits, and the answers. Bit t in the set of o is set while a post of t towards o is
     * pending. */
    struct win_target target[];
};

/* The answer of a rank to win_may_keep(), written by that rank or, after a timeout, by another:
 * the number of the use of these control words << 1 | whether the rank declines. */
struct win_answer {
    _Alignas(LINE) struct sync_word word;
};

enum win_lock { WIN_UNLOCKED, WIN_SHARED, WIN_EXCLUSIVE, WIN_NOCHECK };

struct peer {
    /* The memory that this rank can access: the window memory of the peer or, in a dynamic window,
     * the attached range that this rank has found last. */
    char *base;     /* address in this process */
    size_t size;    /* in bytes */
    int64_t unit;   /* displacement unit in bytes */
    uint64_t begin; /* its displacement in bytes: 0 or, in a dynamic window, the target's address */
    struct win_target *target;
    struct inflight *inflight; /* INFLIGHT_SLOTS of its process; NULL in a window of one rank */
    uint32_t stamp;
    uint32_t sequence; /* of the target's table when this rank has found the attached range */
    uint8_t lock;      /* enum win_lock: held by this rank */
};
_Static_assert(sizeof(struct peer) == 64, "a shift computes the offset of an entry");

/* Open access epochs, as a set. Lock epochs of single targets are in peer.lock. */
enum win_epoch {
    WIN_LOCK_ALL = 1, /* to all targets, passive */
    WIN_START = 2,    /* to a group */
    WIN_UNCHECKED = 4 /* the lock_all was called with MPI_MODE_NOCHECK */
};

/* The epoch that a fence has opened. */
enum win_fence_epoch {
    WIN_NO_FENCE,
    WIN_FENCE_UNUSED, /* no operation yet: another access epoch may replace it */
    WIN_FENCE_USED
};

/* Identifies the window of the host that has the same handle. That window keeps the attributes,
 * group, name and error handler (pmpi_wrap/abi/windows/host_window.h). */
struct win_below {
    uint64_t number; /* the same on all its ranks; 0: it is not kept */
    uint64_t ranks;  /* a hash of its ranks */
    bool shared;     /* made by MPI_Win_allocate_shared */
    bool changed;    /* this rank has set an attribute or an info */
};

struct win {
    uintptr_t handle; /* MPI_Win of the host */
    uint32_t size, rank;
    uint32_t stamp;
    _Atomic uint8_t written;       /* a store of this rank may not be visible to all ranks yet */
    uint8_t epochs;                /* set of enum win_epoch */
    bool exposed;                  /* between post and wait */
    bool lenient;                  /* operations need no epoch (rma_shm/epoch.h) */
    bool lenient_in_locks;         /* a lock of any target admits operations on all */
    _Atomic bool uses_leniency;    /* this rank has waited in win_use_leniency() */
    _Atomic uint32_t epochs_below; /* targets towards which the host's window is in an epoch, since
                                      operations on a dynamic window have been left to the host */
    _Atomic uint8_t fence;         /* enum win_fence_epoch */
    _Atomic uint64_t locked;       /* number of targets that this rank holds a lock on */
    uint32_t *group;               /* targets of the access epoch of WIN_START */
    uint32_t group_size;
    uint32_t completions_due; /* value of `completions` at which the exposure epoch ends */
    struct barrier barrier;
    struct win_shared *shared;
    struct peer *peer;
    void *memory;     /* freed with the window. MPI_Win_allocate: this rank's memory.
                         MPI_Win_allocate_shared: that of all ranks, on rank 0. Otherwise NULL */
    struct peer self; /* this rank's part as the program passed it; serves as peer[] in a window of
                         one rank */
    int self_unit;    /* self.unit as an int, for the window attribute */
    struct win *next; /* in the list of windows that linger, or of those with spare control words */
    size_t shared_with_children; /* bytes of `memory` that children of fork share */
    LIST_ENTRY(win) among_shared;
    struct win_below below;
    struct attached *attached; /* NULL, except in a dynamic window */
    uint32_t use;              /* of the control words; the first one is 1 */
    bool answered;             /* this rank has published its answer to win_may_keep() */
    bool being_read;           /* other ranks may still read the answers of this use */
};

/* Errors of operations and synchronization; pmpi_wrap maps them to MPI error classes. The last two
 * are no errors, but results of operations on dynamic windows: nothing has been done. */
enum win_error {
    WIN_OK,
    WIN_ERR_RANK,   /* no such target */
    WIN_ERR_SYNC,   /* not allowed in the current epoch */
    WIN_ERR_DISP,   /* negative displacement */
    WIN_ERR_RANGE,  /* not inside the target's window */
    WIN_ERR_TYPE,   /* datatypes of origin, result and target do not match */
    WIN_ERR_LENGTH, /* more data than the receiving side has room for */
    WIN_ERR_MEMORY, /* out of memory; nothing was done */
    WIN_HOST,       /* the host performs the operation: none of the target memory is in the table */
    WIN_DIVIDED,    /* some of the target memory is in one range of the table, and some is not */
};

/* ---- creation and destruction ----
 *
 * Collective: each rank calls win_prepare() and win_offer(), the caller exchanges the offers by
 * an allgather, and each rank calls win_settle() with all of them. */

/* The contribution of one rank to a window, as plain bytes. */
struct win_offer {
    uint32_t reason : 8;  /* why the window cannot be fast; REASON_NONE: it can */
    uint32_t member : 23; /* number of the rank on its node */
    uint32_t counts : 1;  /* see team_can_count() in pmpi_wrap/abi/communicators/team_setup.h */
    int32_t unit;
    uint64_t position; /* position in the file of its memory or, in a dynamic window, its table */
    uint64_t size;
    /* Set by rank 0 only: the position of struct win_shared in lines, and the number of its use. */
    uint64_t control : 40;
    uint64_t use : 24;
    uint64_t kept;   /* see pmpi_wrap/abi/windows/host_window.h */
    uint64_t number; /* for a new window of the host; set by rank 0 only */
};
_Static_assert(REASON_COUNT <= 256, "a reason takes 8 bits");

/* A window of `size` ranks that has no memory yet. NULL: out of memory. */
struct win *win_prepare(uint32_t size, uint32_t rank);

/* Make it a dynamic window, before win_offer(). False: out of memory. */
bool win_make_dynamic(struct win *win);

/* Fill the offer for [base, base + bytes). `reason`: the caller's reason against a fast window, or
 * REASON_NONE. */
void win_offer(struct win *win, void *base, size_t bytes, int64_t unit, enum reason reason,
               struct win_offer *offer);

/* `offers`: of all ranks. Returns REASON_NONE, or why the window cannot be fast. The result is the
 * same on all ranks. win_settle() also makes the window ready for use, if it can be fast. */
enum reason win_agree(const struct win_offer *offers, uint32_t ranks);
enum reason win_settle(struct win *win, const struct win_offer *offers);

/* Settle a window of one rank, whose memory may lie anywhere. The control words are private. False:
 * out of memory. */
bool win_settle_alone(struct win *win);

/* Complete a settled window: `handle` is that of the host's window, `memory` was allocated by
 * MPI_Win_allocate or is NULL, and the rest is this rank's part as the program passed it. */
void win_open(struct win *win, uintptr_t handle, void *memory, void *base, size_t bytes,
              int64_t unit);

/* Let the memory of a window of MPI_Win_allocate_shared remain shared in children of fork, as it
 * does under any host. `bytes`: of win->memory, whole pages; 0 if that is NULL. */
void win_share_with_children(struct win *win, size_t bytes);

/* Discard a window that was prepared but not settled. */
void win_discard_prepared(struct win *win, const struct win_offer *offer);

/* Discard a settled window that some rank could not complete. The shared control words are never
 * freed, because other ranks may still access them. */
void win_discard_settled(struct win *win);

/* Whether the window may be freed: no epoch is open, except for a fence epoch that is unused. */
bool win_idle(const struct win *win);

/* Collective, at the beginning of MPI_Win_free: whether all ranks keep the host's window. A rank
 * that can keep it waits for the answers of the others. A rank that cannot keep it does not wait: a
 * host may call delete functions before it synchronises, and other ranks may be waiting for what
 * this rank's delete functions do. A rank that frees the window past this library may never answer,
 * so after 100 ms the others give up. A second call, after the host could not free the window,
 * returns false. */
bool win_may_keep(struct win *win, bool can);

/* win_depart() publishes that this rank no longer uses the window; win_free() follows. Rank 0 waits
 * in win_free() until all ranks have departed, since it frees the shared control words. The other
 * ranks do not wait. After win_may_keep() has returned true, only call win_free(), in which no rank
 * waits. */
void win_depart(struct win *win);
void win_free(struct win *win);

/* Call win_linger() instead of win_depart() and win_free() if this rank must not wait, and other
 * ranks may still access its window memory. win_free_lingering() frees the memory when all ranks
 * have departed. A rank counts as lingering from before it departs until it has read that all ranks
 * have departed. Rank 0 keeps the control words as long as any rank lingers, also if rank 0 calls
 * win_free(). */
void win_linger(struct win *win);
void win_free_lingering(void);

/* Bit t of the set is set while a post of t towards `origin` is pending; see sync_active.h. */
_Atomic uint32_t *win_post_bits(struct win *win, uint32_t origin);

/* ---- access ---- */

/* Address of `bytes` bytes at displacement `disp` of the target. NULL if the peer is not open yet
 * or an argument is wrong: win_locate() in access.h then opens the peer or finds the error. */
HOT_INLINE char *win_at(struct win *win, int target, int64_t disp, size_t bytes)
{
    if (UNLIKELY((uint32_t)target >= win->size))
        return NULL;
    struct peer *peer = &win->peer[target];
    int64_t product;
    if (UNLIKELY(peer->stamp != win->stamp) ||
        UNLIKELY(__builtin_mul_overflow(disp, peer->unit, &product)))
        return NULL;
    uint64_t offset = (uint64_t)product - peer->begin;
    if (UNLIKELY(offset > peer->size) || UNLIKELY(bytes > peer->size - offset))
        return NULL;
    return peer->base + offset;
}

/* Record that a plain store to a target was issued. Release: a thread that reads the mark also
 * observes the store. */
HOT_INLINE void win_wrote(struct win *win)
{
    atomic_store_explicit(&win->written, 1, memory_order_release);
}

/* Complete the operations of this rank. */
HOT_INLINE void win_complete_operations(struct win *win)
{
    /* Orders the loads of gets before all later loads and stores; no instruction on x86. */
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&win->written, memory_order_acquire)) {
        atomic_store_explicit(&win->written, 0, memory_order_relaxed);
        /* Orders the stores before any later store that notifies a peer, and before later loads:
         * a put, a flush and a get must not be reordered. */
        sync_full_fence();
    }
}

#endif
