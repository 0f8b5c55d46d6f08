#include "pmpi_wrap/registry.h"

#include "alloc/arena.h"

#include <stdlib.h>

static struct entry *in_chain(struct registry *r, uintptr_t handle)
{
    struct entry *e = r->chain[registry_hash(handle)];
    while (e && atomic_load_explicit(&e->handle, memory_order_relaxed) != handle)
        e = e->next;
    return e;
}

COLD struct entry *registry_search(struct registry *r, uintptr_t handle)
{
    pthread_mutex_lock(&r->mutex);
    struct entry *e = in_chain(r, handle);
    if (e) /* release: a thread that finds the entry in the cache sees its object and detail */
        atomic_store_explicit(&r->cache[registry_hash(handle)], e, memory_order_release);
    pthread_mutex_unlock(&r->mutex);
    return e;
}

/* The node's shared file may have memory where the process has none. */
static struct entry *new_entry(void)
{
    struct entry *e = malloc(sizeof *e);
    /* cppcheck-suppress memleak ; false positive: it ignores the condition */
    return e ? e : arena_control_alloc_raw(sizeof *e);
}

struct entry *registry_new_entry(struct registry *r)
{
    pthread_mutex_lock(&r->mutex);
    struct entry *e = r->unused;
    if (e)
        r->unused = e->next;
    pthread_mutex_unlock(&r->mutex);
    return e ? e : new_entry();
}

void registry_discard(struct registry *r, struct entry *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&r->mutex);
    e->next = r->unused;
    r->unused = e;
    pthread_mutex_unlock(&r->mutex);
}

void registry_put(struct registry *r, struct entry *e, uintptr_t handle, void *object,
                  uint32_t detail)
{
    size_t slot = registry_hash(handle);
    pthread_mutex_lock(&r->mutex);
    e->object = object;
    e->detail = detail;
    e->next = r->chain[slot];
    atomic_store_explicit(&e->handle, handle, memory_order_release);
    r->chain[slot] = e;
    pthread_mutex_unlock(&r->mutex);
}

static struct entry *unlink_entry(struct entry **link)
{
    struct entry *e = *link;
    if (e) {
        *link = e->next;
        atomic_store_explicit(&e->handle, 0, memory_order_relaxed);
    }
    return e;
}

struct entry *registry_take(struct registry *r, uintptr_t handle)
{
    pthread_mutex_lock(&r->mutex);
    struct entry **link = &r->chain[registry_hash(handle)];
    while (*link && atomic_load_explicit(&(*link)->handle, memory_order_relaxed) != handle)
        link = &(*link)->next;
    struct entry *e = unlink_entry(link);
    pthread_mutex_unlock(&r->mutex);
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
    struct entry *e = registry_take(r, handle);
    void *object = e ? e->object : NULL;
    registry_discard(r, e);
    return object;
}

void registry_forget(struct registry *r, bool (*forget)(const struct entry *))
{
    pthread_mutex_lock(&r->mutex);
    for (size_t slot = 0; slot < REGISTRY_SIZE; slot++)
        for (struct entry **link = &r->chain[slot]; *link;)
            if (forget(*link)) {
                struct entry *e = unlink_entry(link);
                e->next = r->unused;
                r->unused = e;
            } else {
                link = &(*link)->next;
            }
    pthread_mutex_unlock(&r->mutex);
}
