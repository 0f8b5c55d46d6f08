#include "coll_inplace/cells.h"

#include "coll_inplace/team.h"
#include "core/concurrency.h"

struct cell_holders cell_holders;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* for cells_forget() */

/* The most holders that a team looks at: each may take a cache miss per rank. */
enum { HOLDERS_TRIED = 4 };

/* ---- the list ---- */

static void append_holder(struct cell_holders *h, struct team *t)
{
    t->newer_holder = NULL;
    t->older_holder = h->last;
    *(h->last ? &h->last->newer_holder : &h->first) = t;
    h->last = t;
    h->count++;
}

static void remove_holder(struct cell_holders *h, struct team *t)
{
    *(t->older_holder ? &t->older_holder->newer_holder : &h->first) = t->newer_holder;
    *(t->newer_holder ? &t->newer_holder->older_holder : &h->last) = t->older_holder;
    h->count--;
}

/* ---- exchanging ---- */

static bool all_are_done(const struct team *t, uint32_t op)
{
    for (uint32_t r = 0; r < t->size; r++)
        if (t->mailbox[r] != t->mine && !sync_reached(sync_load(&t->mailbox[r]->done), op))
            return false;
    return true;
}

/* Whether the team can give its cells away. A rank that has run ahead uses the cells of another
 * ring. */
static bool can_give(const struct team *t)
{
    return t->cell_op == t->cell_op_seen && !t->mine->rings && all_are_done(t, t->cell_op);
}

/* Take a holder whose cells no rank reads any more off the list. NULL: none was found. */
static struct team *take_unread_holder(struct cell_holders *h)
{
    for (unsigned i = 0; i < HOLDERS_TRIED && h->first; i++) {
        struct team *t = h->first;
        bool found = can_give(t);
        remove_holder(h, t);
        if (found)
            return t;
        t->cell_op_seen = t->cell_op;
        append_holder(h, t);
    }
    return NULL;
}

static void publish_done(struct team *t)
{
    if (t->published != t->op)
        team_done(t, t->op);
}

/* Publish `done` of the team whose cells this rank has read last, but not of `t`, which has an
 * operation in progress and may still have to read the data of others. */
COLD void cells_turn_to(struct team *t)
{
    struct cell_holders *h = t->holders;
    if (thread_concurrent)
        return;
    struct team *before = atomic_load_explicit(&h->current, memory_order_relaxed);
    if (before && before != t)
        publish_done(before);
    atomic_store_explicit(&h->current, t, memory_order_relaxed);
}

static void exchange_cells(struct team *t, struct team *other)
{
    mailbox_swap_cells(t->mine, other->mine);
    other->is_holder = other->cells_used = false;
}

/* Whether a new holder writes the cells that its mailbox has. */
static bool has_cells(const struct cell_holders *h, const struct team *t)
{
    return t->mine->cells_used || t->mine->rings || h->count < CELL_HOLDERS;
}

static void become_holder(struct team *t)
{
    struct cell_holders *h = t->holders;
    struct team *other = has_cells(h, t) ? NULL : take_unread_holder(h);
    if (other)
        exchange_cells(t, other);
    t->cell_op_seen = t->op;
    t->is_holder = true;
    append_holder(h, t);
}

/* Call when another team takes cells. Publishes that this rank is done with the operations of the
 * holders. The newest of them is treated as if its cells had just been looked at, so only later
 * operations count as use. */
static void finish_with_holders(struct cell_holders *h)
{
    struct team *t = h->first;
    for (unsigned i = 0; i < CELL_HOLDERS && t; i++, t = t->newer_holder)
        publish_done(t);
    if (h->last)
        h->last->cell_op_seen = h->last->cell_op;
}

COLD void cells_take(struct team *t)
{
    if (!thread_concurrent) {
        cells_turn_to(t);
        finish_with_holders(t->holders);
        become_holder(t);
    }
    t->cells_used = t->mine->cells_used = true;
}

/* Several threads may leave teams that became holders while there was only one thread. */
void cells_forget(struct team *t)
{
    struct cell_holders *h = t->holders;
    bool locked = lock_if_concurrent(&mutex);
    if (atomic_load_explicit(&h->current, memory_order_relaxed) == t)
        atomic_store_explicit(&h->current, NULL, memory_order_relaxed);
    if (t->is_holder)
        remove_holder(h, t);
    t->is_holder = false;
    unlock_if_locked(&mutex, locked);
}
