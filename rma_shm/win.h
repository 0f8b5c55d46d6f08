/* A fast window: one whose ranks are all on this node and whose memory all of them can reach.
 *
 * struct win is this rank's view of it, private. struct win_shared is what the ranks share about
 * it: locks, flags and counters, in the control part of the first rank's slice. The window's memory
 * is where the program allocated it.
 *
 * Access epochs. A peer is open for operations when its stamp equals the window's. Opening an epoch
 * towards all (fence, lock_all, start) only advances the window's stamp; the first operation on a
 * peer then finds the stamps unequal and takes the slow path, win_open(), which judges whether the
 * epoch admits it, waits for what that kind of epoch has to wait for, and sets the stamp. So every
 * later operation pays one comparison, and closing an epoch advances the stamp again: O(1).
 *
 * What may run beside what: operations of any ranks beside each other, under the rules of MPI;
 * several threads of a rank too, on different targets or inside one epoch. Synchronisation calls of
 * one rank on one window and target do not run beside each other.
 */
#ifndef MPIACCEL_WIN_H
#define MPIACCEL_WIN_H

#include "core/barrier.h"
#include "core/lock.h"
#include "core/stats.h"
#include "core/thread.h"

enum { WIN_RANKS_MAX = RWLOCK_MAX_RANKS };

/* What the ranks share about rank r's part of the window. */
struct win_target {
    /* Written by origins that lock r. */
    _Alignas(LINE) struct sync_word lock;
    /* Written by origins that combine into r's memory; see atomic.h. */
    _Alignas(LINE) struct sync_word combining;
    _Atomic uint32_t bulk;
    /* Written by origins that end an access epoch towards r: how many have. */
    _Alignas(LINE) struct sync_word completions;
    /* Written by targets that post towards r: how many have. */
    _Alignas(LINE) struct sync_word posts;
};

struct win_shared {
    _Alignas(LINE) struct sync_word lock_all; /* an rwlock whose readers hold all targets */
    _Alignas(LINE) struct sync_word departed; /* ranks that will not look at this again */
    /* Followed by three arrays, one entry a rank: targets, flags of the barrier, and rows of bits:
     * bit t of row o says that t has posted towards o. */
    struct win_target target[];
};

enum win_lock { WIN_UNLOCKED, WIN_SHARED, WIN_EXCLUSIVE, WIN_NOCHECK };

struct peer {
    char *base;   /* of its window memory, here */
    size_t size;  /* bytes */
    int64_t unit; /* bytes a displacement */
    struct win_target *target;
    struct inflight *inflight; /* INFLIGHT_SLOTS of its process; not in a window of one */
    uint32_t stamp;
    uint8_t lock; /* enum win_lock: what we hold on it */
};

/* Kinds of epoch; several LOCKs and one exposure epoch may be open at once. */
enum win_epoch {
    WIN_FENCE = 1,     /* opened by a fence; another kind may replace it while it is unused */
    WIN_LOCK_ALL = 2,  /* locked towards all */
    WIN_START = 4,     /* access towards a group */
    WIN_EXPOSED = 8,   /* exposure towards a group */
    WIN_UNCHECKED = 16 /* a lock_all that asserted that nobody holds conflicting locks */
};

struct win {
    uintptr_t handle; /* the host's */
    uint32_t size, rank;
    uint32_t stamp;
    _Atomic uint8_t written; /* a store may not be visible to all yet */
    uint8_t epochs;          /* set of enum win_epoch */
    bool fence_used;
    _Atomic uint64_t locked; /* targets that we hold locks on */
    uint32_t *group;         /* targets of the access epoch of START */
    uint32_t group_size;
    uint32_t completions_due; /* WIN_EXPOSED ends when our target's completions reach this */
    struct barrier barrier;
    struct win_shared *shared;
    struct peer *peer;
    void *memory;     /* of MPI_Win_allocate: freed with the window */
    struct peer self; /* our part as the program gave it; also peer[] of a window of one */
    int self_unit;    /* its unit, where an attribute can point */
};

/* Errors of the operations; pmpi_wrap knows their MPI classes. */
enum win_error {
    WIN_OK,
    WIN_ERR_RANK,   /* no such target */
    WIN_ERR_SYNC,   /* not in this epoch */
    WIN_ERR_DISP,   /* negative displacement */
    WIN_ERR_RANGE,  /* not inside the target's window */
    WIN_ERR_TYPE,   /* datatypes that cannot be combined */
    WIN_ERR_OP,     /* not defined for the datatype */
    WIN_ERR_LENGTH, /* the data does not fit the receiving side */
    WIN_ERR_MEMORY, /* no memory for the work; nothing was done */
};

/* ---- creating and freeing: collective, with an exchange of offers by the caller in between ----
 */

/* What a rank brings to a window. Plain bytes: goes through an allgather. */
struct win_offer {
    int32_t reason;    /* REASON_COUNT: none against it */
    uint32_t member;   /* of the node: which one the rank is */
    uint64_t position; /* of its memory in the node's file */
    uint64_t size;
    int64_t unit;
    uint64_t control; /* position of struct win_shared: rank 0's */
};

/* A window of `size` ranks as yet without memory. NULL: no memory. */
struct win *win_prepare(uint32_t size, uint32_t rank);

/* Fill the offer for [base, base + bytes). `reason` speaks against it already, or REASON_COUNT. */
void win_offer(struct win *win, void *base, size_t bytes, int64_t unit, enum reason reason,
               struct win_offer *offer);

/* With the offers of all ranks: REASON_COUNT and a window ready for use, or why it cannot be fast,
 * the same on all ranks. */
enum reason win_settle(struct win *win, const struct win_offer *offers);

/* A window of one rank over any memory; its control words are private. */
bool win_settle_alone(struct win *win, void *base, size_t bytes, int64_t unit);

/* Discard what was prepared but not settled. */
void win_discard_prepared(struct win *win, const struct win_offer *offer);

/* Discard a settled window that some rank could not complete: what is shared is left alone, since
 * others may be using it. */
void win_discard_settled(struct win *win);

/* May the window be freed: no epoch is open but an unused or ended fence. */
bool win_idle(const struct win *win);

/* This rank no longer uses the window. Then win_free(), when all ranks have departed: that is not
 * waited for here, except that rank 0 does before it frees what is shared. */
void win_depart(struct win *win);
void win_free(struct win *win);

/* ---- access ---- */

/* Where [disp * unit + low, disp * unit + high) of the target is; the slow and complete way. */
enum win_error win_locate(struct win *win, int target, int64_t disp, ptrdiff_t low, ptrdiff_t high,
                          char **at);

/* The same for `bytes` bytes if the peer is open already and all is well; else NULL. */
HOT_INLINE char *win_at(struct win *win, int target, int64_t disp, size_t bytes)
{
    if (UNLIKELY((uint32_t)target >= win->size))
        return NULL;
    struct peer *peer = &win->peer[target];
    int64_t offset;
    if (UNLIKELY(peer->stamp != win->stamp) ||
        UNLIKELY(__builtin_mul_overflow(disp, peer->unit, &offset)) ||
        UNLIKELY((uint64_t)offset > peer->size) || UNLIKELY(bytes > peer->size - (uint64_t)offset))
        return NULL;
    return peer->base + offset;
}

/* A plain store went to a target. Release: who sees the mark sees the store. */
HOT_INLINE void win_wrote(struct win *win)
{
    atomic_store_explicit(&win->written, 1, memory_order_release);
}

/* Complete what this rank has stored. Loads are complete when they return. */
HOT_INLINE void win_complete_stores(struct win *win)
{
    if (atomic_load_explicit(&win->written, memory_order_acquire)) {
        atomic_store_explicit(&win->written, 0, memory_order_relaxed);
        /* Orders the stores before whatever tells a peer of them, and before later loads: a put,
         * a flush and a get must not be reordered (H19). */
        sync_full_fence();
    }
}

#endif
