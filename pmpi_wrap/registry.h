/* A map from the host's handles (windows, datatypes, operations, communicators, requests) to this
 * library's objects.
 *
 * A lookup is one hash and one comparison. The cache in front holds addresses of entries. An entry
 * is never freed, only reused, so a thread may read an entry while another thread replaces it in
 * the cache: the entry's handle shows whether it is the right one. An entry is removed only when
 * the program frees the object or the host is finalized, after which it must not use the handle.
 */
#ifndef MPIACCEL_REGISTRY_H
#define MPIACCEL_REGISTRY_H

#include "core/base.h"

#include <pthread.h>
#include <stdatomic.h>

struct entry {
    _Atomic uintptr_t handle; /* 0: not in use */
    void *object;
    uint32_t detail; /* defined by the registry's owner */
    struct entry *next;
};

enum { REGISTRY_BITS = 10, REGISTRY_SIZE = 1 << REGISTRY_BITS };

struct registry {
    _Atomic(struct entry *) cache[REGISTRY_SIZE];
    struct entry *chain[REGISTRY_SIZE]; /* all entries in use; protected by the mutex */
    struct entry *unused;
    pthread_mutex_t mutex;
};

#define REGISTRY_INITIALIZER               \
    {                                      \
        .mutex = PTHREAD_MUTEX_INITIALIZER \
    }

static inline size_t registry_hash(uintptr_t handle)
{
    return (size_t)((uint64_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> (64 - REGISTRY_BITS));
}

struct entry *registry_search(struct registry *registry, uintptr_t handle);

/* NULL: the handle is not registered. */
HOT_INLINE struct entry *registry_find(struct registry *registry, uintptr_t handle)
{
    struct entry *e =
        atomic_load_explicit(&registry->cache[registry_hash(handle)], memory_order_acquire);
    if (LIKELY(e != NULL) &&
        LIKELY(atomic_load_explicit(&e->handle, memory_order_relaxed) == handle))
        return e;
    return registry_search(registry, handle);
}

/* NULL: no memory. */
struct entry *registry_add(struct registry *registry, uintptr_t handle, void *object,
                           uint32_t detail);

/* Returns the handle's object, NULL if it was not registered. */
void *registry_remove(struct registry *registry, uintptr_t handle);

/* Remove all entries for which `forget` returns true; it may free their objects. */
void registry_forget(struct registry *registry, bool (*forget)(const struct entry *entry));
/* registry_add() in two steps, for a caller that must not fail once it has the handle: an entry
 * that is in use by nobody (NULL: no memory), and then either of the other two, which cannot fail.
 */
struct entry *registry_new_entry(struct registry *registry);
void registry_put(struct registry *registry, struct entry *entry, uintptr_t handle, void *object,
                  uint32_t detail);
void registry_discard(struct registry *registry, struct entry *entry);

/* registry_remove() for a caller that may have to put the entry back: it keeps its object and
 * detail. NULL: the handle was not registered. */
struct entry *registry_take(struct registry *registry, uintptr_t handle);

#endif
