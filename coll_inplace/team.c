#include "coll_inplace/team.h"

#include "alloc/arena.h"
#include "coll_inplace/child.h"
#include "core/concurrency.h"
#include "core/log.h"
#include "core/peer_memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- creation ---- */

static struct team *allocate_team(uint32_t size, uint32_t group)
{
    size_t mailboxes = size * (sizeof(struct ring *) + sizeof(struct mailbox *));
    size_t entries = (size > group ? size : group) + 1;
    size_t more = mailboxes + entries * TABLE_WORDS * sizeof(uint64_t);
    struct team *team = malloc(sizeof *team + more); /* calloc() bypasses the thread's cache */
    if (team) {
        *team = (struct team){.entries = (uint32_t)entries};
        memset(team + 1, 0, more);
    }
    return team;
}

void team_shape(struct team *team, uint32_t size, uint32_t rank)
{
    team->mailbox = (struct mailbox **)&team->ring[size];
    team->tables = (uint64_t *)&team->mailbox[size];
    team->size = team->group = size;
    team->rank = team->self = rank;
    team->peers = team->readers = size - 1;
    team->alone = size == 1;
    team->few = size > 1 && size <= TREE_FLAT;
    team->flat = size <= TREE_FLAT;
    team->first_partner = first_partner(rank, size, size);
    team->lag = SLOT_LAG;
    team->holders = &cell_holders;
    team->answered = atomic_load_explicit(&copy_requests_answered, memory_order_relaxed);
}

static struct team *create(uint32_t size, uint32_t group, uint32_t rank)
{
    struct team *team = allocate_team(size, group);
    if (team)
        team_shape(team, size, rank);
    return team;
}

struct team *team_reserve(uint32_t size)
{
    return allocate_team(size, size);
}

/* Freed structures of small teams are kept for the next teams, which may exist for only 3 us. */
enum { SPARE_RANKS = TREE_FLAT, SPARE_COMMONS = 512 };
static struct team_common *spare_common[SPARE_COMMONS];
static uint32_t spare_commons;
static pthread_mutex_t common_mutex = PTHREAD_MUTEX_INITIALIZER; /* protects these two */

static size_t common_bytes(uint32_t size)
{
    struct team_common *common;
    return sizeof *common + size * sizeof *common->flags;
}

static struct team_common *take_spare_common(void)
{
    bool locked = lock_if_concurrent(&common_mutex);
    struct team_common *common = spare_commons ? spare_common[--spare_commons] : NULL;
    unlock_if_locked(&common_mutex, locked);
    return common;
}

static bool keep_common(struct team_common *common)
{
    bool locked = lock_if_concurrent(&common_mutex);
    bool kept = spare_commons < SPARE_COMMONS;
    if (kept)
        spare_common[spare_commons++] = common;
    unlock_if_locked(&common_mutex, locked);
    return kept;
}

struct team_common *team_common_create(uint32_t size)
{
    struct team_common *common = size <= SPARE_RANKS ? take_spare_common() : NULL;
    return common ? common
                  : arena_control_alloc(common_bytes(size <= SPARE_RANKS ? SPARE_RANKS : size));
}

void team_common_free(struct team_common *common, uint32_t size)
{
    if (size <= SPARE_RANKS) {
        memset(common, 0, common_bytes(size));
        if (keep_common(common))
            return;
    }
    arena_control_free(common);
}

static struct team *create_between(uint32_t group, uint32_t rank, uint32_t size)
{
    struct team *team = create(size, group, rank);
    if (team) {
        team->alone = team->few = false;
        team->flat = true;
        team->group = team->readers = group;
        team->self = INTER_ROOT;
        team->peers = size;
        team->first_partner = first_partner(rank, group, size);
    }
    return team;
}

struct team *team_of_one(void)
{
    return create(1, 1, 0);
}

static bool can_access_peers(int neighbour)
{
    const struct layout_member *member = node_member((uint32_t)neighbour);
    return copy_policy_permits_os() &&
           peer_memory_works(member->pid, member->probe_address, member->probe);
}

static release_memory release_spares;

/* Fill in our offer for `team`, which is NULL if there is no memory. */
static void offer_mailbox(const struct team *team, int neighbour, bool with_common,
                          struct team_offer *offer)
{
    *offer =
        (struct team_offer){.reason = REASON_NONE, .can_access_peers = can_access_peers(neighbour)};
    arena_control_when_full(release_spares);
    struct mailbox *mailbox = team ? mailbox_create() : NULL;
    struct team_common *common = mailbox && with_common ? team_common_create(team->size) : NULL;
    if (mailbox)
        offer->mailbox = node_offset(mailbox);
    if (common)
        offer->common = node_offset(common);
    if (!mailbox || (with_common && !common))
        offer->reason = REASON_NO_MEMORY;
}

struct team *team_prepare(uint32_t size, uint32_t rank, int neighbour, struct team_offer *offer)
{
    struct team *team = create(size, size, rank);
    offer_mailbox(team, neighbour, rank == 0, offer);
    return team;
}

struct team *team_prepare_between(uint32_t group, uint32_t rank, uint32_t size, int neighbour,
                                  struct team_offer *offer)
{
    struct team *team = create_between(group, rank, size);
    offer_mailbox(team, neighbour, false, offer);
    if (offer->reason == REASON_NONE) {
        team->mine = node_at(offer->mailbox);
        team->can_access_peers = offer->can_access_peers;
    }
    return team;
}

void team_withdraw(struct team *team, const struct team_offer *offer)
{
    mailbox_free(node_at(offer->mailbox), 0);
    if (offer->common)
        team_common_free(node_at(offer->common), team->size);
    free(team);
}

/* Two ranks have measured the ways to copy while the others waited. The ranks of a large team copy
 * all at once and share the bandwidth of the memory, to which non-temporal stores go. */
static uint32_t configured_policy(const struct team *team)
{
    uint32_t measured = atomic_load_explicit(&node.header->copy_policy, memory_order_relaxed);
    return copy_policy_configured(team->size > COPY_RANKS_MEASURED ? COPY_POLICY_DEFAULT
                                                                   : measured);
}

static void open_rings(struct team *team)
{
    for (uint32_t r = 0; r < team->size; r++)
        team->ring[r] = &team->mailbox[r]->ring;
    team->own_ring = &team->mine->ring;
    team->done_at_change = team->op - 1;
}

void team_complete(struct team *team, struct team_common *common)
{
    team->policy = configured_policy(team);
    team->common = common;
    team->mine = team->mailbox[team->self];
    open_rings(team);
    team->barrier =
        (struct barrier){.flags = common->flags, .rank = team->rank, .size = team->size};
}

enum reason team_settle(struct team *team, const struct team_offer *offers, uint32_t size)
{
    for (uint32_t r = 0; r < size; r++)
        if (offers[r].reason != REASON_NONE)
            return (enum reason)offers[r].reason;
    bool inter = team_is_inter(team);
    if (!inter)
        team->can_access_peers = true;
    for (uint32_t r = 0; r < size; r++) {
        team->can_access_peers &= offers[r].can_access_peers;
        team->mailbox[r] = node_at(offers[r].mailbox);
    }
    if (inter) {
        team->policy = configured_policy(team);
        open_rings(team);
        return REASON_NONE;
    }
    team_complete(team, node_at(offers[0].common));
    return REASON_NONE;
}

/* ---- destruction ---- */

/* A block of team_hold(), which peers may still read. */
struct held {
    uint32_t op;
    char *block;
    struct held *next;
};

struct team *_Atomic teams_left;
static pthread_mutex_t left_mutex = PTHREAD_MUTEX_INITIALIZER;

void team_leave(struct team *team)
{
    if (team->alone) {
        free(team);
        return;
    }
    child_parent_leaves(team);
    cells_forget(team);
    /* The release orders our last reads of mailboxes and offers before their owners free them. */
    for (uint32_t r = 0; r < team->size && team_is_inter(team); r++)
        atomic_fetch_add_explicit(&team->mailbox[r]->departed, 1, memory_order_acq_rel);
    if (!team_is_inter(team))
        atomic_fetch_add_explicit(&team->common->departed, 1, memory_order_acq_rel);
    bool locked = lock_if_concurrent(&left_mutex);
    team->next = teams_left;
    teams_left = team;
    unlock_if_locked(&left_mutex, locked);
    team_reap_last();
}

COLD void team_release_held(struct team *t, uint32_t op, bool all)
{
    for (struct held **link = &t->held; *link;) {
        struct held *h = *link;
        if (all || sync_reached(op, h->op)) {
            *link = h->next;
            arena_control_free(h->block);
            free(h);
        } else {
            link = &h->next;
        }
    }
}

/* Whether all ranks that read our mailbox have left. */
static bool is_unread(const struct team *t)
{
    const _Atomic uint32_t *departed = team_is_inter(t) ? &t->mine->departed : &t->common->departed;
    return atomic_load_explicit(departed, memory_order_acquire) == t->size;
}

/* Free what can be freed. Returns whether that was all. Rank 0 keeps `common` until all other ranks
 * have accessed it for the last time. */
static bool reap(struct team *t)
{
    if (t->mine) {
        if (!is_unread(t))
            return false;
        team_release_held(t, t->op, true);
        child_parent_ends(t);
        mailbox_free(t->mine, t->op);
        t->mine = NULL;
        if (team_is_inter(t))
            return true;
        if (t->rank) {
            atomic_fetch_add_explicit(&t->common->released, 1, memory_order_release);
            return true;
        }
    }
    if (atomic_load_explicit(&t->common->released, memory_order_acquire) < t->size - 1)
        return false;
    team_common_free(t->common, t->size);
    return true;
}

void team_reap(void)
{
    bool locked = lock_if_concurrent(&left_mutex);
    struct team *first = teams_left;
    for (struct team **link = &first; *link;) {
        struct team *team = *link;
        if (reap(team)) {
            *link = team->next;
            free(team);
        } else {
            link = &team->next;
        }
    }
    teams_left = first;
    unlock_if_locked(&left_mutex, locked);
}

/* Free the teams that all ranks have left, and the memory that freed teams have left for the next
 * ones. */
static COLD void release_spares(void)
{
    team_reap();
    for (struct team_common *common; (common = take_spare_common());)
        arena_control_free(common);
    mailbox_free_spares();
}

/* Ranks usually free communicators in the same order, so if the last team is in use, so are most
 * others. */
COLD void team_reap_last(void)
{
    struct team *team;
    bool locked = lock_if_concurrent(&left_mutex);
    while ((team = teams_left) && reap(team)) {
        teams_left = team->next;
        free(team);
    }
    unlock_if_locked(&left_mutex, locked);
}

/* ---- operations ---- */

/* Returns the last operation with which all ranks are done. */
static uint32_t note_done(struct team *t)
{
    uint32_t least = t->op;
    for (uint32_t r = 0; r < t->size; r++)
        if (t->mailbox[r] != t->mine) {
            uint32_t done = sync_load(&t->mailbox[r]->done);
            least = sync_reached(done, least) ? least : done;
        }
    team_note_all_done(t, least);
    return least;
}

void team_wait_all(struct team *t, uint32_t op)
{
    for (uint32_t r = 0; r < t->size; r++)
        if (t->mailbox[r] != t->mine)
            sync_wait_until(&t->mailbox[r]->done, op);
    note_done(t);
}

/* ---- rings ---- */

/* How long a rank waits before it continues in another ring, whose lines are in no cache. Readers
 * that were late only because they had no processor are done by then: with 1 ms, gathers of 4 KiB
 * by four ranks on two processors took twice as long. If the slowest reader has done nothing since
 * the last change, waiting would not help. */
enum { RING_PATIENCE_NS = 10 * 1000 * 1000 };

static uint64_t patience(struct team *t)
{
    return note_done(t) == t->done_at_change ? 0 : RING_PATIENCE_NS;
}

/* As team_wait_all(), but returns false when patience() has passed. */
static bool await_all(struct team *t, uint32_t op)
{
    uint64_t start = 0, longest = patience(t);
    for (uint32_t r = 0; r < t->size; r++) {
        struct sync_wait wait = SYNC_WAIT;
        struct sync_word *done = &t->mailbox[r]->done;
        uint32_t seen;
        while (t->mailbox[r] != t->mine && !sync_reached(seen = sync_load(done), op)) {
            uint64_t now = sync_now_ns();
            start = start ? start : now;
            if (now - start >= longest)
                return false;
            sync_wait(&wait, done, seen);
        }
    }
    note_done(t);
    return true;
}

/* Returns the number of a ring that all ranks have read, or of a new one. TEAM_RINGS: there is
 * none. */
static uint32_t unread_ring(struct team *t)
{
    uint32_t least = note_done(t), rings = t->mine->rings;
    t->done_at_change = least;
    for (uint32_t i = 0; i < rings; i++)
        if (i != t->ring_number && sync_reached(least, t->ring_end[i]))
            return i;
    if (!mailbox_add_ring(t->mine, t->op - 1))
        return TEAM_RINGS;
    return rings ? rings : 1;
}

/* Continue in another ring from the last operation begun on. */
static bool change_ring(struct team *t)
{
    struct mailbox *mine = t->mine;
    uint32_t i = unread_ring(t);
    if (i == TEAM_RINGS)
        return false;
    if (!mine->rings) /* the ring of the mailbox still holds operations from this one on */
        atomic_store_explicit(&mine->ring_from[0], t->op - TEAM_SLOTS, memory_order_relaxed);
    t->ring_end[t->ring_number] = t->op - 1;
    t->ring_number = i;
    t->own_ring = mailbox_ring(mine, i);
    if (!team_is_inter(t))
        t->ring[t->self] = t->own_ring;
    t->reusable = t->op - 1;
    /* Releases: a rank that reads the number of rings, or the start of one, finds the ring
     * ready. */
    atomic_store_explicit(&mine->ring_from[i], t->op, memory_order_release);
    if (i >= mine->rings)
        atomic_store_explicit(&mine->rings, i + 1, memory_order_release);
    return true;
}

COLD void team_make_room(struct team *t, uint32_t op)
{
    if (!await_all(t, op) && !change_ring(t))
        team_wait_all(t, op);
}

COLD bool team_follow(struct team *t, uint32_t rank, uint32_t op)
{
    struct mailbox *mailbox = t->mailbox[rank];
    uint32_t rings = atomic_load_explicit(&mailbox->rings, memory_order_acquire), latest = 0;
    uint32_t latest_from = atomic_load_explicit(&mailbox->ring_from[0], memory_order_acquire);
    for (uint32_t i = 1; i < rings; i++) {
        uint32_t from = atomic_load_explicit(&mailbox->ring_from[i], memory_order_acquire);
        if (sync_reached(op, from) &&
            (!sync_reached(op, latest_from) || sync_reached(from, latest_from))) {
            latest = i;
            latest_from = from;
        }
    }
    struct ring *before = t->ring[rank];
    t->ring[rank] = mailbox_ring(mailbox, latest);
    return t->ring[rank] != before;
}

COLD const struct slot *team_wait_slow(struct team *t, uint32_t rank, uint32_t op)
{
    struct sync_wait wait = SYNC_WAIT;
    struct slot *slot;
    uint32_t seen;
    while ((seen = sync_load(&(slot = slot_of(t->ring[rank], op))->op)) != op) {
        bool several = atomic_load_explicit(&t->mailbox[rank]->rings, memory_order_relaxed);
        if (LIKELY(!several) || !team_follow(t, rank, op))
            sync_wait(&wait, &slot->op, seen);
    }
    return slot;
}

/* ---- cells ---- */

COLD void team_wait_cell_slow(struct team *t, size_t bytes)
{
    uint32_t before = t->op - TEAM_CELLS, first = t->op - TEAM_CELLS * CELL_PARTS;
    uint8_t *used = team_part(t, t->op);
    bool in_part = fits_into_part(bytes) && *used != WHOLE_CELL;
    note_done(t);
    if (!fits_into_cell(bytes))
        team_wait_all(t, before);
    else if (!sync_reached(t->reusable, in_part ? first : before))
        team_make_room(t, in_part ? first : before);
    if (sync_reached(t->reusable, before))
        team_take_cell(t, bytes);
    else
        *used = (*used + 1) % CELL_PARTS;
}

/* ---- counters ---- */

COLD void team_stop_references(struct team *t, uint32_t answered)
{
    t->answered = answered;
    t->can_access_peers = false;
    log_once(1,
             "the OS refuses copies from or to memory of this rank, so collectives copy it through "
             "shared memory");
}

/* All ranks are done with the other rings, so the current one must remain the latest. */
static void keep_ring_close(struct team *t, uint32_t i, uint32_t old)
{
    _Atomic uint32_t *from = &t->mine->ring_from[i];
    if (!sync_reached(atomic_load_explicit(from, memory_order_relaxed), old))
        atomic_store_explicit(from, i == t->ring_number ? old : old - 1, memory_order_relaxed);
    if (!sync_reached(t->ring_end[i], old))
        t->ring_end[i] = old;
}

/* Called every TEAM_FAR operations, because a rank that only reads neither writes its slots nor
 * updates all_done. No rank is so far behind that it still waits for a number that is overwritten
 * here. */
COLD void team_keep_counters_close(struct team *t, uint32_t op)
{
    uint32_t old = op - TEAM_FAR;
    team_note_all_done(t, old);
    for (uint32_t i = 0; i < TEAM_SLOTS; i++) {
        struct sync_word *number = &t->own_ring->slot[i].op;
        if (!sync_reached(sync_load(number), old))
            sync_publish(number, old);
    }
    for (uint32_t i = 0; i < t->mine->rings; i++)
        keep_ring_close(t, i, old);
}

/* A rank that does not wait for all others is not informed that they have read its blocks. When it
 * holds this many, it looks: a load per rank, much less than the copy that follows. */
enum { HELD_MANY = 4 };

static bool holds_many(const struct team *t)
{
    uint32_t blocks = 0;
    for (const struct held *h = t->held; h; h = h->next)
        blocks++;
    return blocks >= HELD_MANY;
}

char *team_hold(struct team *t, uint32_t op, size_t bytes)
{
    if (holds_many(t))
        note_done(t);
    struct held *h = malloc(sizeof *h);
    char *block = h ? arena_control_alloc_raw(bytes) : NULL;
    if (!block) {
        free(h);
        return NULL;
    }
    *h = (struct held){op, block, t->held};
    t->held = h;
    return block;
}

enum slot_kind team_publish_data(struct team *t, uint32_t op, struct buffer from,
                                 enum by_reference by_reference)
{
    size_t bytes = typemap_to_move(from.map)->size * from.count;
    if (LIKELY(fits_into_slot(bytes)) && from.map->contiguous && !from.map->without_holes) {
        team_publish_inline(t, op, from.at + from.map->low, bytes);
        return SLOT_INLINE;
    }
    remote_addr_t address;
    enum slot_kind kind = transport_of(t, from, bytes, by_reference, &address);
    team_wait_room(t, kind, bytes);
    struct slot *slot = slot_of(t->own_ring, op);
    if (kind == SLOT_REFERENCE) {
        memcpy(slot->data, &address, sizeof address);
    } else if (kind == SLOT_PIPELINED) {
        uint32_t start = team_stream_start(t);
        memcpy(slot->data, &start, sizeof start);
    } else if (kind == SLOT_INLINE) {
        buffer_read(slot->data, from, 0, bytes);
    } else {
        team_fill(t, team_cell(t, bytes), from, 0, bytes);
    }
    team_publish(t, op, kind, bytes);
    return kind;
}

void team_publish_piece(struct team *t, uint32_t op, struct buffer from, size_t first, size_t bytes)
{
    team_wait_cell(t, PIECE);
    team_fill(t, piece_of(t->own_ring, op), from, first, bytes);
    team_publish(t, op, SLOT_BUFFERED, bytes);
}
