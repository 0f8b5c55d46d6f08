#include "rma_shm/win.h"

#include "alloc/arena.h"
#include "core/concurrency.h"
#include "core/copy.h"
#include "core/wait_times.h"
#include "node/node.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Words of a set of one bit per rank. */
static size_t post_words(uint32_t ranks)
{
    return (ranks + 31) / 32;
}

static struct barrier_flag *flags_of(struct win_shared *shared, uint32_t ranks)
{
    return (struct barrier_flag *)&shared->target[ranks];
}

_Atomic uint32_t *win_post_bits(struct win *win, uint32_t origin)
{
    _Atomic uint32_t *bits = (_Atomic uint32_t *)&flags_of(win->shared, win->size)[win->size];
    return bits + origin * post_words(win->size);
}

/* The part of the control words that rank 0 clears before each use: all but the answers. */
static size_t cleared_size(uint32_t ranks)
{
    return round_up(sizeof(struct win_shared) + ranks * sizeof(struct win_target) +
                        ranks * sizeof(struct barrier_flag) +
                        ranks * post_words(ranks) * sizeof(uint32_t),
                    LINE);
}

static size_t shared_size(uint32_t ranks)
{
    return cleared_size(ranks) + ranks * sizeof(struct win_answer);
}

static struct win_answer *answers_of(struct win *win)
{
    return (struct win_answer *)((char *)win->shared + cleared_size(win->size));
}

struct win *win_prepare(uint32_t size, uint32_t rank)
{
    /* calloc() of glibc 2.36 bypasses the thread's cache. The compiler would turn malloc() and one
     * memset() of the block into calloc(). */
    size_t arrays = size * (sizeof(struct peer) + sizeof(uint32_t));
    struct win *win = malloc(sizeof *win + arrays);
    if (!win)
        return NULL;
    *win = (struct win){.size = size, .rank = rank, .stamp = 1};
    struct peer *peers = (struct peer *)(win + 1);
    memset(peers, 0, arrays);
    win->peer = size == 1 ? &win->self : peers;
    win->group = (uint32_t *)(peers + size);
    return win;
}

bool win_make_dynamic(struct win *win)
{
    win->attached = attached_create(win->size);
    return win->attached;
}

/* ---- the shared control words ----
 *
 * Rank 0 keeps the control words of freed windows for the next windows. In a control part that is
 * otherwise empty, the allocator would set up a slab for each window and give it back. If all ranks
 * have kept the host's window, some of them may still read the answers, so these control words are
 * never given back, and the answers are not cleared: those of the next use have another number.
 * That remains so whatever happens to the windows of later uses, which may have other ranks. There
 * are about as many such control words as kept windows. */

enum { USES_MAX = (1 << 24) - 1 };

static struct win *spares; /* windows that have been freed, except for `shared` */
static pthread_mutex_t spares_mutex = PTHREAD_MUTEX_INITIALIZER;

/* A freed window with control words for so many ranks. NULL: there is none. */
static struct win *take_spare_window(uint32_t ranks)
{
    bool locked = lock_if_concurrent(&spares_mutex);
    struct win **link = &spares;
    while (*link && (*link)->size != ranks)
        link = &(*link)->next;
    struct win *found = *link;
    if (found)
        *link = found->next;
    unlock_if_locked(&spares_mutex, locked);
    return found;
}

/* Returns cleared control words, and how often they have been used. NULL: no memory. */
static struct win_shared *alloc_shared(uint32_t ranks, uint32_t *uses)
{
    struct win *spare = take_spare_window(ranks);
    *uses = 0;
    if (!spare)
        return arena_control_alloc(shared_size(ranks));
    struct win_shared *shared = spare->shared;
    *uses = spare->use;
    free(spare);
    return memset(shared, 0, cleared_size(ranks));
}

/* Set all answers of a use as if every rank had kept the host's window, so that the next use begins
 * as after such a use. Ranks of this use no longer read them. Those of earlier uses, which may be
 * ranks of other windows, find that their window has been kept, which is right. */
static void answer_for_all(struct win *win)
{
    for (uint32_t r = 0; r < win->size; r++)
        atomic_store_explicit(&answers_of(win)[r].word.value, win->use << 1, memory_order_relaxed);
}

/* Keep the window for its control words, or free both. */
static void give_shared(struct win *win)
{
    bool may_be_read = win->being_read || win->use > 1;
    if (!may_be_read)
        win->use = 0;
    if (!win->being_read)
        answer_for_all(win);
    bool locked = lock_if_concurrent(&spares_mutex);
    bool keep = may_be_read ? win->use < USES_MAX : !spares;
    if (keep) {
        win->next = spares;
        spares = win;
    }
    unlock_if_locked(&spares_mutex, locked);
    if (keep)
        return;
    if (!may_be_read)
        arena_control_free(win->shared);
    free(win);
}

/* ---- creation ---- */

void win_offer(struct win *win, void *base, size_t bytes, int64_t unit, enum reason reason,
               struct win_offer *offer)
{
    *offer = (struct win_offer){
        .reason = reason, .member = node.me, .size = bytes, .unit = (int32_t)unit};
    if (reason == REASON_NONE && !win)
        offer->reason = REASON_NO_MEMORY;
    else if (reason == REASON_NONE && bytes && !node_position(base, bytes, &offer->position))
        offer->reason = REASON_NOT_OUR_MEMORY;
    if (offer->reason != REASON_NONE)
        return;
    if (win->attached)
        offer->position = attached_position(win->attached);
    if (win->rank)
        return;
    uint32_t uses;
    struct win_shared *shared = alloc_shared(win->size, &uses);
    if (!shared) {
        offer->reason = REASON_NO_MEMORY;
        return;
    }
    for (uint32_t r = 0; r < win->size; r++)
        atomic_init(&shared->target[r].bulk_mode, 0);
    offer->control = (uint64_t)((char *)shared - node.base) / LINE;
    offer->use = uses + 1;
}

static struct win_shared *offered_shared(const struct win_offer *offer)
{
    return (struct win_shared *)(node.base + offer->control * LINE);
}

static void connect_peers(struct win *win)
{
    struct win_shared *shared = win->shared;
    for (uint32_t r = 0; r < win->size; r++)
        win->peer[r].target = &shared->target[r];
    win->barrier = (struct barrier){
        .flags = flags_of(shared, win->size), .rank = win->rank, .size = win->size};
}

enum reason win_agree(const struct win_offer *offers, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++)
        if (offers[r].reason != REASON_NONE)
            return (enum reason)offers[r].reason;
    return REASON_NONE;
}

enum reason win_settle(struct win *win, const struct win_offer *offers)
{
    enum reason reason = win_agree(offers, win->size);
    if (reason != REASON_NONE)
        return reason;
    win->shared = offered_shared(&offers[0]);
    win->use = offers[0].use;
    for (uint32_t r = 0; r < win->size; r++)
        win->peer[r] = (struct peer){
            .base = offers[r].size ? node.base + offers[r].position : NULL,
            .size = offers[r].size,
            .unit = offers[r].unit,
            .inflight = node_member(offers[r].member)->inflight,
        };
    connect_peers(win);
    if (win->attached)
        attached_connect(win->attached, offers, win->size);
    prefetch_to_write(&answers_of(win)[win->rank]);
    return REASON_NONE;
}

bool win_settle_alone(struct win *win)
{
    size_t size = round_up(shared_size(1), LINE);
    win->shared = aligned_alloc(LINE, size);
    if (!win->shared)
        return false;
    memset(win->shared, 0, size);
    win->use = 1;
    atomic_init(&win->shared->target[0].bulk_mode, 1);
    connect_peers(win);
    return true;
}

void win_open(struct win *win, uintptr_t handle, void *memory, void *base, size_t bytes,
              int64_t unit)
{
    assert(win->shared && !win->handle);
    win->handle = handle;
    win->memory = memory;
    win->self.base = base;
    win->self.size = bytes;
    win->self.unit = unit;
    win->self_unit = (int)unit;
}

void win_discard_prepared(struct win *win, const struct win_offer *offer)
{
    if (win && offer->control) {
        win->shared = offered_shared(offer);
        win->use = offer->use - 1;
        win->being_read = true; /* as at the end of that use */
    }
    win_free(win);
}

void win_discard_settled(struct win *win)
{
    if (win->size > 1 && win->shared) {
        win->shared = NULL;
        attached_destroy(win->attached, false);
        win->attached = NULL;
    }
    win_free(win);
}

bool win_idle(const struct win *win)
{
    return !win->epochs && !win->exposed && !atomic_load(&win->locked);
}

/* An answer never changes. A larger number than that of this use means that the rank has kept the
 * host's window: otherwise the control words would not be in use again. */
enum { DECLINES = 1 };

static uint32_t no_answer(const struct win *win)
{
    return (win->use - 1) << 1;
}

/* Answer for a rank that has not answered yet. On x86 the locked instruction orders non-temporal
 * stores, too. */
static void answer_for(struct win *win, uint32_t rank, bool yes)
{
    struct sync_word *word = &answers_of(win)[rank].word;
    uint32_t before = no_answer(win), own = win->use << 1 | (yes ? 0 : DECLINES);
    /* release: a rank that finds all answers, by the acquire of sync_load(), also finds the results
     * of all operations */
    if (atomic_compare_exchange_strong_explicit(&word->value, &before, own, memory_order_seq_cst,
                                                memory_order_relaxed))
        sync_wake(word);
}

static void publish_answer(struct win *win, bool yes)
{
    if (!win->answered)
        answer_for(win, win->rank, yes);
    win->answered = true;
}

/* The first rank, not before `first`, that has not answered. win->size: there is none.
 * RANK_DECLINES: a rank declines. */
#define RANK_DECLINES UINT32_MAX
static uint32_t first_missing(struct win *win, uint32_t first)
{
    uint32_t missing = win->size;
    for (uint32_t r = win->size; r-- > first;) {
        uint32_t found = sync_load(&answers_of(win)[r].word);
        if (found == (win->use << 1 | DECLINES))
            return RANK_DECLINES;
        if (found == no_answer(win))
            missing = r;
    }
    return missing;
}

bool win_may_keep(struct win *win, bool can)
{
    static const uint64_t patience_ns = UINT64_C(100000000);
    /* Most waits end within a few rounds, and reading the clock takes as long as a round, so the
     * first rounds, which only spin, do not read it. */
    enum { ROUNDS_WITHOUT_CLOCK = SPIN_OVERSUBSCRIBED };
    struct sync_wait wait = SYNC_WAIT;
    if (!can || win->answered) {
        publish_answer(win, false);
        return false;
    }
    publish_answer(win, true);
    uint32_t rank = 0;
    uint64_t start = 0;
    for (unsigned round = 0; (rank = first_missing(win, rank)) < win->size;) {
        uint64_t now = round++ < ROUNDS_WITHOUT_CLOCK ? 0 : sync_now_ns();
        start = start ? start : now;
        if (now - start > patience_ns)
            answer_for(win, rank, false);
        else
            sync_wait(&wait, &answers_of(win)[rank].word, no_answer(win));
    }
    win->being_read = rank == win->size;
    return win->being_read;
}

void win_depart(struct win *win)
{
    assert(sync_load(&win->shared->departed) < win->size);
    atomic_fetch_add_explicit(&win->shared->departed.value, 1, memory_order_seq_cst);
    sync_wake(&win->shared->departed);
}

/* ---- children of fork ---- */

static LIST_HEAD(win_list, win) shared_with_children = LIST_HEAD_INITIALIZER(shared_with_children);
static pthread_mutex_t shared_mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock_shared_windows(void)
{
    pthread_mutex_lock(&shared_mutex);
}

static void unlock_shared_windows(void)
{
    pthread_mutex_unlock(&shared_mutex);
}

/* The slice of this process has become private (node/fork.h); those of others are inherited. */
static void share_in_child(void)
{
    struct win *win;
    LIST_FOREACH(win, &shared_with_children, among_shared)
    if (!node_map_shared(win->memory, win->shared_with_children))
        break; /* the child still reads what the parent writes */
    pthread_mutex_init(&shared_mutex, NULL);
}

void win_share_with_children(struct win *win, size_t bytes)
{
    static bool registered;
    pthread_mutex_lock(&shared_mutex);
    if (!registered) {
        node_let_children_inherit();
        pthread_atfork(lock_shared_windows, unlock_shared_windows, share_in_child);
    }
    registered = true;
    win->shared_with_children = bytes;
    if (bytes)
        LIST_INSERT_HEAD(&shared_with_children, win, among_shared);
    pthread_mutex_unlock(&shared_mutex);
}

static void stop_sharing(struct win *win)
{
    pthread_mutex_lock(&shared_mutex);
    LIST_REMOVE(win, among_shared);
    pthread_mutex_unlock(&shared_mutex);
}

/* ---- freeing ---- */

/* Windows that this rank has given up, but that other ranks may still use. */
static struct win *_Atomic lingering;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void list_window(struct win *win)
{
    pthread_mutex_lock(&mutex);
    win->next = lingering;
    lingering = win;
    pthread_mutex_unlock(&mutex);
}

static struct win *unlist_all(void)
{
    pthread_mutex_lock(&mutex);
    struct win *all = lingering;
    lingering = NULL;
    pthread_mutex_unlock(&mutex);
    return all;
}

/* A peer may still be reading its last flag when rank 0 has already left the barrier. */
static void await_departures(struct win *win)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t seen;
    while ((seen = sync_load(&win->shared->departed)) != win->size)
        sync_wait(&wait, &win->shared->departed, seen);
}

/* Whether other ranks will still read the control words of this rank, after all have departed. */
static bool is_lingered(const struct win *win)
{
    /* acquire: with the release in end_lingering(), the last reads come before the words are used
     * for something else */
    return win->size > 1 && !win->rank &&
           atomic_load_explicit(&win->shared->lingering, memory_order_acquire);
}

/* Call when no rank uses the window any more. The control words lie in the slice of rank 0, so rank
 * 0 frees them. */
static void free_unused_window(struct win *win)
{
    if (win->shared_with_children)
        stop_sharing(win);
    if (win->memory)
        arena_free(win->memory);
    attached_destroy(win->attached, true);
    if (win->shared && win->size > 1 && !win->rank) {
        give_shared(win);
        return;
    }
    if (win->size == 1)
        free(win->shared);
    free(win);
}

void win_free(struct win *win)
{
    if (!win)
        return;
    if (win->shared && win->size > 1 && !win->rank && !win->being_read)
        await_departures(win);
    if (win->shared && is_lingered(win))
        list_window(win);
    else
        free_unused_window(win);
}

void win_linger(struct win *win)
{
    publish_answer(win, false);
    if (win->rank) /* a rank that finds all departed also finds that this one lingers */
        atomic_fetch_add_explicit(&win->shared->lingering, 1, memory_order_seq_cst);
    win_depart(win);
    list_window(win);
}

/* Free a window that this rank has given up. False: it is still needed. */
static bool end_lingering(struct win *win)
{
    if (sync_load(&win->shared->departed) != win->size)
        return false;
    if (win->rank)
        atomic_fetch_sub_explicit(&win->shared->lingering, 1, memory_order_release);
    if (is_lingered(win))
        return false;
    free_unused_window(win);
    return true;
}

void win_free_lingering(void)
{
    struct win *next;
    if (LIKELY(!atomic_load_explicit(&lingering, memory_order_relaxed)))
        return;
    for (struct win *win = unlist_all(); win; win = next) {
        next = win->next;
        if (!end_lingering(win))
            list_window(win);
    }
}
