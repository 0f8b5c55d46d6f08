#include "pmpi_wrap/registry.h"

#include "alloc/arena.h"
#include "core/concurrency.h"

#include <stdlib.h>

static struct entry *in_chain(struct registry *r, uintptr_t handle)
{
    struct entry *e = r->chain[registry_hash(handle)];
    while (e && atomic_load_explicit(&e->handle, memory_order_relaxed) != handle)
        e = e->next;
    return e;
}

struct removal {
    struct registry *registry;
    uintptr_t handle;
    struct entry *entry; /* NULL: none */
    const char *frame;   /* of the call that began it */
};

/* The removals of this thread that have begun, innermost last; a delete function may free other
 * objects. If there are more, the entry is found by all threads until the removal ends. */
enum { REMOVALS_MAX = 16 };
static __thread struct removal removals[REMOVALS_MAX];
static __thread unsigned removal_count;

static struct removal *removal_of(const struct registry *r, uintptr_t handle)
{
    for (unsigned i = removal_count; i-- > 0;)
        if (removals[i].registry == r && removals[i].handle == handle)
            return &removals[i];
    return NULL;
}

COLD struct entry *registry_search(struct registry *r, uintptr_t handle)
{
    bool locked = lock_if_concurrent(&r->mutex);
    struct entry *e = in_chain(r, handle);
    if (e) /* release: a thread that finds the entry in the cache sees its object and detail */
        atomic_store_explicit(&r->cache[registry_hash(handle)], e, memory_order_release);
    unlock_if_locked(&r->mutex, locked);
    const struct removal *removal = e ? NULL : removal_of(r, handle);
    return removal ? removal->entry : e;
}

/* The node's shared file may have memory left when the process has none. */
static struct entry *new_entry(void)
{
    struct entry *e = malloc(sizeof *e);
    /* cppcheck-suppress memleak ; false positive: it ignores the condition */
    return e ? e : arena_control_alloc_raw(sizeof *e);
}

struct entry *registry_new_entry(struct registry *r)
{
    bool locked = lock_if_concurrent(&r->mutex);
    struct entry *e = r->unused;
    if (e)
        r->unused = e->next;
    unlock_if_locked(&r->mutex, locked);
    return e ? e : new_entry();
}

void registry_discard(struct registry *r, struct entry *e)
{
    if (!e)
        return;
    bool locked = lock_if_concurrent(&r->mutex);
    e->next = r->unused;
    r->unused = e;
    unlock_if_locked(&r->mutex, locked);
}

void registry_put(struct registry *r, struct entry *e, uintptr_t handle, void *object,
                  uint32_t detail)
{
    size_t slot = registry_hash(handle);
    struct removal *removal = removal_of(r, handle);
    e->object = object;
    e->detail = detail;
    if (removal) {
        removal->entry = e;
        return;
    }
    bool locked = lock_if_concurrent(&r->mutex);
    e->next = r->chain[slot];
    atomic_store_explicit(&e->handle, handle, memory_order_release);
    r->chain[slot] = e;
    unlock_if_locked(&r->mutex, locked);
}

static struct entry *unlink_entry(struct entry **link)
{
    struct entry *e = *link;
    if (e) {
        *link = e->next;
        atomic_store_explicit(&e->handle, NO_HANDLE, memory_order_relaxed);
    }
    return e;
}

static struct entry *take_entry(struct registry *r, uintptr_t handle)
{
    bool locked = lock_if_concurrent(&r->mutex);
    struct entry **link = &r->chain[registry_hash(handle)];
    while (*link && atomic_load_explicit(&(*link)->handle, memory_order_relaxed) != handle)
        link = &(*link)->next;
    struct entry *e = unlink_entry(link);
    unlock_if_locked(&r->mutex, locked);
    return e;
}

struct entry *registry_add(struct registry *r, uintptr_t handle, void *object, uint32_t detail)
{
    struct entry *e = registry_new_entry(r);
    if (e)
        registry_put(r, e, handle, object, detail);
    return e;
}

void *registry_remove(struct registry *r, uintptr_t handle)
{
    struct entry *e = take_entry(r, handle);
    void *object = e ? e->object : NULL;
    registry_discard(r, e);
    return object;
}

/* ---- removals ---- */

static void cancel_last(void)
{
    struct removal last = removals[--removal_count];
    if (last.entry)
        registry_put(last.registry, last.entry, last.handle, last.entry->object,
                     last.entry->detail);
}

/* Cancel the removals of calls that an error handler has left. The stack grows downwards. */
static void cancel_left(const struct registry *r, uintptr_t handle, const char *frame)
{
    while (removal_count && removals[removal_count - 1].frame <= frame)
        cancel_last();
    for (const struct removal *same; (same = removal_of(r, handle));)
        while (&removals[removal_count] > same)
            cancel_last();
}

NOINLINE void *registry_begin_removal(struct registry *r, uintptr_t handle)
{
    const char *frame = __builtin_frame_address(0);
    cancel_left(r, handle, frame);
    if (removal_count == REMOVALS_MAX) {
        struct entry *found = registry_find(r, handle);
        return found ? found->object : NULL;
    }
    struct entry *e = take_entry(r, handle);
    removals[removal_count++] = (struct removal){r, handle, e, frame};
    return e ? e->object : NULL;
}

bool registry_is_removing(const struct registry *r, uintptr_t handle)
{
    return removal_of(r, handle);
}

/* Cancel the removals that began later: an error handler has left their calls. */
static void make_last(const struct removal *removal)
{
    while (&removals[removal_count - 1] > removal)
        cancel_last();
}

void *registry_end_removal(struct registry *r, uintptr_t handle)
{
    const struct removal *removal = removal_of(r, handle);
    if (!removal)
        return registry_remove(r, handle);
    make_last(removal);
    struct entry *e = removals[--removal_count].entry;
    void *object = e ? e->object : NULL;
    registry_discard(r, e);
    return object;
}

void registry_cancel_removal(struct registry *r, uintptr_t handle)
{
    const struct removal *removal = removal_of(r, handle);
    if (!removal)
        return;
    make_last(removal);
    cancel_last();
}

void registry_forget(struct registry *r, bool (*forget)(const struct entry *))
{
    bool locked = lock_if_concurrent(&r->mutex);
    for (size_t slot = 0; slot < REGISTRY_SIZE; slot++)
        for (struct entry **link = &r->chain[slot]; *link;)
            if (forget(*link)) {
                struct entry *e = unlink_entry(link);
                e->next = r->unused;
                r->unused = e;
            } else {
                link = &(*link)->next;
            }
    unlock_if_locked(&r->mutex, locked);
}
