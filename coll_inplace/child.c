#include "coll_inplace/child.h"

#include "alloc/arena.h"
#include "core/concurrency.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The children of a team, on this rank. */
struct children {
    struct child_offer *ring;           /* our offers, in shared memory */
    uint32_t all_offered;               /* every rank is known to have published so many offers */
    struct child *offered;              /* for the next child; NULL: declined */
    struct child *spare;                /* for the next offer; some of its memory may be missing */
    struct child *unread[CHILD_WINDOW]; /* by number: children that have read no offers */
};

/* Protects all of the above and `parent` of every child. No thread waits for another rank while it
 * holds the mutex. Not locked for a single thread: a mutex that nobody else takes would be a good
 * part of the cost of a child that is freed at once. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t unused; /* children and offers that have no team */

/* ---- memory ---- */

static struct child *new_child(const struct team *parent)
{
    uint32_t size = parent->size;
    struct child *child;
    size_t each = sizeof *child->offers + sizeof *child->rank_of_parent;
    child = malloc(sizeof *child + size * each + node.size * sizeof *child->rank_of_member);
    if (!child)
        return NULL;
    *child = (struct child){.parent_size = size};
    child->rank_of_parent = (uint16_t *)&child->offers[size];
    child->rank_of_member = child->rank_of_parent + size;
    return child;
}

static void free_child(struct child *child)
{
    if (!child)
        return;
    mailbox_free(child->mailbox, 0);
    if (child->common)
        team_common_free(child->common, child->parent_size);
    free(child->team);
    free(child);
}

static bool fill(struct child *child)
{
    if (!child->mailbox)
        team_reap();
    if (!child->team)
        child->team = team_reserve(child->parent_size);
    if (!child->mailbox)
        child->mailbox = mailbox_create();
    if (!child->common)
        child->common = team_common_create(child->parent_size);
    return child->team && child->mailbox && child->common;
}

/* Returns memory for an offer. NULL: there is none, or enough children are unused. */
static struct child *take_child(const struct team *parent, struct children *c)
{
    bool locked = lock_if_concurrent(&mutex);
    struct child *child = c->spare;
    bool many = unused >= CHILD_UNUSED_MAX;
    if (!many) {
        c->spare = NULL;
        unused++;
    }
    unlock_if_locked(&mutex, locked);
    if (many)
        return NULL;
    if (!child)
        child = new_child(parent);
    if (child && fill(child))
        return child;
    free_child(child);
    locked = lock_if_concurrent(&mutex);
    unused--;
    unlock_if_locked(&mutex, locked);
    return NULL;
}

/* Keep what remains of the child for the next offer, or free it. */
void child_cancel(struct child *child)
{
    bool locked = lock_if_concurrent(&mutex);
    struct team *parent = child->parent;
    unused--;
    if (parent) {
        struct children *c = parent->children;
        c->unread[child->number % CHILD_WINDOW] = NULL;
        child->parent = NULL;
        if (!c->spare) {
            child->has_ranks = false;
            c->spare = child;
            child = NULL;
        }
    }
    unlock_if_locked(&mutex, locked);
    if (UNLIKELY(child != NULL))
        free_child(child);
}

/* ---- offering ---- */

/* Returns the children of a team. NULL: no memory. The allocation is not tried again, since peers
 * may have read that there is no ring. */
static struct children *children_of(struct team *t)
{
    if (LIKELY(t->children != NULL) || t->children_offered)
        return t->children;
    struct children *c = calloc(1, sizeof *c);
    struct child_offer *ring = c ? arena_control_alloc(CHILD_RING * sizeof *ring) : NULL;
    if (!ring) {
        free(c);
        return NULL;
    }
    c->ring = ring;
    /* Release: peers see the ring empty before they see the entries. */
    atomic_store_explicit(&t->mine->child_offers, node_offset(ring), memory_order_release);
    t->children = c;
    return c;
}

/* Wait until every rank has published `count` offers. */
static COLD void await_offers(const struct team *t, struct children *c, uint32_t count)
{
    uint32_t least = t->children_offered;
    for (uint32_t r = 0; r < t->size; r++)
        if (t->mailbox[r] != t->mine) {
            struct sync_word *word = &t->mailbox[r]->children_offered;
            sync_wait_until(word, count);
            uint32_t published = sync_load(word);
            least = sync_reached(published, least) ? least : published;
        }
    c->all_offered = least;
}

/* The entry for a child in the ring of this rank. NULL: there is no ring, or not yet. */
static struct child_offer *entry_of(const struct team *t, uint32_t rank, uint32_t number)
{
    uint64_t ring = atomic_load_explicit(&t->mailbox[rank]->child_offers, memory_order_acquire);
    return ring ? (struct child_offer *)node_at(ring) + number % CHILD_RING : NULL;
}

static bool is_published(const struct team *t, uint32_t rank, uint32_t number)
{
    const struct child_offer *entry = entry_of(t, rank, number);
    uint32_t end = entry ? atomic_load_explicit(&entry->end, memory_order_acquire)
                         : sync_load(&t->mailbox[rank]->children_offered);
    return sync_reached(end, number + 1);
}

/* Call when the offer has been published. */
static struct child_offer read_offer(const struct team *t, uint32_t rank, uint32_t number)
{
    const struct child_offer *entry = entry_of(t, rank, number);
    if (!entry)
        return (struct child_offer){0};
    return (struct child_offer){.mailbox = entry->mailbox, .common = entry->common};
}

/* Copy the offers for a child of `t`, unless the child has read them. All of them have been
 * published. */
static COLD void copy_offers(const struct team *t, struct child **unread)
{
    bool locked = lock_if_concurrent(&mutex);
    struct child *child = *unread;
    if (child) {
        for (uint32_t r = 0; r < t->size; r++)
            child->offers[r] = read_offer(t, r, child->number);
        child->parent = NULL;
        *unread = NULL;
    }
    unlock_if_locked(&mutex, locked);
}

/* Take the two steps after which this rank may overwrite an entry: see child.h. */
static inline void make_room_for_offer(const struct team *t, struct children *c, uint32_t number)
{
    uint32_t count = number - CHILD_WINDOW + 1;
    if (UNLIKELY(!sync_reached(c->all_offered, count)))
        await_offers(t, c, count);
    bool locked = lock_if_concurrent(&mutex);
    struct child **unread = &c->unread[number % CHILD_WINDOW];
    bool is_unread = *unread;
    unlock_if_locked(&mutex, locked);
    if (UNLIKELY(is_unread))
        copy_offers(t, unread);
}

/* No rank sleeps on the entry, so none is woken. */
static inline void publish_offer(struct child_offer *entry, const struct child *child,
                                 uint32_t number)
{
    entry->mailbox = child ? node_offset(child->mailbox) : 0;
    entry->common = child ? node_offset(child->common) : 0;
    atomic_store_explicit(&entry->end, number + 1, memory_order_release);
}

void child_offer(struct team *t, bool declines)
{
    uint32_t number = t->children_created;
    struct children *c = children_of(t);
    if (c) {
        make_room_for_offer(t, c, number);
        struct child *child = declines ? NULL : take_child(t, c);
        publish_offer(&c->ring[number % CHILD_RING], child, number);
        c->offered = child;
    }
    t->children_offered = number + 1;
    sync_publish(&t->mine->children_offered, number + 1);
}

struct child *child_create(struct team *t)
{
    uint32_t number = t->children_created++;
    struct children *c = t->children;
    struct child *child = c ? c->offered : NULL;
    if (!child)
        return NULL;
    bool locked = lock_if_concurrent(&mutex);
    c->offered = NULL;
    child->parent = t;
    child->number = number;
    child->team->can_access_peers = t->can_access_peers;
    c->unread[number % CHILD_WINDOW] = child;
    unlock_if_locked(&mutex, locked);
    return child;
}

/* ---- reading ---- */

/* Copied offers do not show which members have declined, but those are not needed. */
static void map_members(struct child *child)
{
    memset(child->rank_of_member, 0xff, node.size * sizeof *child->rank_of_member);
    bool locked = lock_if_concurrent(&mutex);
    for (uint32_t r = 0; r < child->parent_size; r++) {
        const struct team *t = child->parent;
        int member = node_owner_of(t ? t->mailbox[r] : node_at(child->offers[r].mailbox));
        if (member >= 0)
            child->rank_of_member[member] = (uint16_t)r;
    }
    /* The map remains valid when this structure is used for another child of the same parent. */
    child->mapped = child->parent;
    unlock_if_locked(&mutex, locked);
}

void child_set_rank(struct child *child, uint32_t rank, uint32_t rank_of_parent)
{
    child->rank_of_parent[rank] = (uint16_t)rank_of_parent;
    child->has_ranks = true;
}

void child_set_member(struct child *child, uint32_t rank, uint32_t member)
{
    if (!child->mapped && !rank)
        map_members(child);
    child_set_rank(child, rank, child->rank_of_member[member]);
}

static uint32_t parent_rank_of(const struct child *child, uint32_t rank)
{
    return child->has_ranks ? child->rank_of_parent[rank] : rank;
}

static bool are_published(const struct child *child, uint32_t size)
{
    for (uint32_t r = 0; r < size; r++)
        if (!is_published(child->parent, parent_rank_of(child, r), child->number))
            return false;
    return true;
}

/* Begin reading the offers. Until all of them have been published, another thread may free the
 * parent. Returns whether to unlock. */
static bool lock_with_offers(const struct child *child, uint32_t size)
{
    struct sync_wait wait = SYNC_WAIT;
    bool locked = lock_if_concurrent(&mutex);
    while (child->parent && !are_published(child, size)) {
        unlock_if_locked(&mutex, locked);
        sync_pause(&wait);
        locked = lock_if_concurrent(&mutex);
    }
    return locked;
}

static struct child_offer offer_of(const struct child *child, uint32_t rank)
{
    uint32_t parent_rank = parent_rank_of(child, rank);
    if (child->parent)
        return read_offer(child->parent, parent_rank, child->number);
    static const struct child_offer none;
    return parent_rank == CHILD_NO_RANK ? none : child->offers[parent_rank];
}

/* Returns rank 0's struct team_common; NULL: a rank has declined. */
static struct team_common *read_offers(struct child *child, uint32_t size)
{
    uint64_t common = 0;
    bool declined = false, locked = lock_with_offers(child, size);
    for (uint32_t r = 0; r < size; r++) {
        struct child_offer offer = offer_of(child, r);
        declined |= !offer.mailbox;
        common = r ? common : offer.common;
        child->team->mailbox[r] = node_at(offer.mailbox);
    }
    unlock_if_locked(&mutex, locked);
    return declined ? NULL : node_at(common);
}

struct team *child_settle(struct child *child, uint32_t size, uint32_t rank)
{
    struct team *team = child->team;
    team_shape(team, size, rank);
    struct team_common *common = read_offers(child, size);
    if (common) {
        team_complete(team, common);
        child->mailbox = NULL;
        if (!rank)
            child->common = NULL;
    } else {
        free(team);
        team = NULL;
    }
    child->team = NULL;
    child_cancel(child);
    return team;
}

/* ---- ending ---- */

void child_leave_unused(struct team *t, bool refused)
{
    child_parent_leaves(t);
    child_parent_ends(t);
    cells_forget(t);
    if (!refused)
        mailbox_free(t->mine, 0);
    if (!refused && !t->rank)
        team_common_free(t->common, t->size);
    free(t);
}

static void discard_child(struct child *child)
{
    if (!child)
        return;
    bool locked = lock_if_concurrent(&mutex);
    unused--;
    unlock_if_locked(&mutex, locked);
    free_child(child);
}

void child_parent_leaves(struct team *t)
{
    struct children *c = t->children;
    if (!c)
        return;
    for (uint32_t i = 0; i < CHILD_WINDOW; i++) {
        if (c->unread[i])
            await_offers(t, c, t->children_created);
        copy_offers(t, &c->unread[i]);
    }
    discard_child(c->offered);
    free_child(c->spare);
    c->offered = c->spare = NULL;
}

void child_parent_ends(struct team *t)
{
    if (!t->children)
        return;
    arena_control_free(t->children->ring);
    free(t->children);
    t->children = NULL;
}
