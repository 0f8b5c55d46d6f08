/* A map from the host's handles (windows, datatypes, operations, communicators, requests) to this
 * library's objects.
 *
 * A lookup is one hash and one comparison. The cache in front holds addresses of entries. An entry
 * is never freed, only reused, so a thread may read an entry while another thread replaces it in
 * the cache: the entry's handle shows whether it is the right one. An entry is removed only when
 * the program frees the object or the host is finalized, after which the program must not use the
 * handle.
 *
 * While the host frees an object, it calls delete functions of the program's attributes, which may
 * still use the object. As soon as the host has freed the object, it may give the same handle to an
 * object of another thread. So from registry_begin_removal() on, only the thread that frees the
 * object finds its entry, and what this thread registers under the handle is removed with it.
 *
 * If the host cannot free the object, it calls an error handler, which may leave the call by
 * longjmp or a C++ exception: then neither registry_end_removal() nor registry_cancel_removal()
 * follows. Each thread therefore lists its removals in memory of its own, not on the stack. The
 * handler has left a removal if the same thread begins another one for the same handle, or one that
 * is not called from a deeper frame of the stack. The older removal is then cancelled. In a program
 * that switches stacks this may happen too early: other threads then find the entry until the
 * removal ends.
 */
#ifndef MPIACCEL_REGISTRY_H
#define MPIACCEL_REGISTRY_H

#include "core/base.h"

#include <pthread.h>
#include <stdatomic.h>

/* The handle of a removed entry, which may still be in the cache. Not 0, because a program may pass
 * 0 by mistake. */
#define NO_HANDLE UINTPTR_MAX

struct entry {
    _Atomic uintptr_t handle; /* NO_HANDLE after its removal */
    void *object;
    uint32_t detail; /* defined by the registry's owner */
    struct entry *next;
};

enum { REGISTRY_BITS = 10, REGISTRY_SIZE = 1 << REGISTRY_BITS };

struct registry {
    _Atomic(struct entry *) cache[REGISTRY_SIZE];
    struct entry *chain[REGISTRY_SIZE]; /* all entries in use; protected by the mutex,
                                          if several threads may be inside MPI */
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

/* The entry of a handle, or NULL if the handle is not registered. */
HOT_INLINE struct entry *registry_find(struct registry *registry, uintptr_t handle)
{
    struct entry *e =
        atomic_load_explicit(&registry->cache[registry_hash(handle)], memory_order_acquire);
    /* acquire: the object and the detail that registry_put() has stored before the handle */
    if (LIKELY(e != NULL) &&
        LIKELY(atomic_load_explicit(&e->handle, memory_order_acquire) == handle))
        return e;
    return registry_search(registry, handle);
}

/* Register a handle. Returns NULL if there is no memory. */
struct entry *registry_add(struct registry *registry, uintptr_t handle, void *object,
                           uint32_t detail);

/* Remove a handle. Returns its object, or NULL if it was not registered. */
void *registry_remove(struct registry *registry, uintptr_t handle);

/* Call before the host frees an object. Afterwards call registry_end_removal() if the host has
 * freed it, otherwise registry_cancel_removal(), unless an error handler of the program does not
 * return. Returns the object of the handle, or NULL if the handle is not registered. */
void *registry_begin_removal(struct registry *registry, uintptr_t handle);

/* Whether this thread is removing the handle. */
bool registry_is_removing(const struct registry *registry, uintptr_t handle);

/* Call when the host has freed the object. Returns the object, or another one that was registered
 * for the handle meanwhile. */
void *registry_end_removal(struct registry *registry, uintptr_t handle);

/* Call when the host has not freed the object. */
void registry_cancel_removal(struct registry *registry, uintptr_t handle);

/* Remove all entries for which `forget` returns true; it may free their objects. */
void registry_forget(struct registry *registry, bool (*forget)(const struct entry *entry));

/* Register in two steps, for a caller that must not fail once it has the handle. The first function
 * returns an unused entry, or NULL if there is no memory. Then call one of the other two, which
 * cannot fail. */
struct entry *registry_new_entry(struct registry *registry);
void registry_put(struct registry *registry, struct entry *entry, uintptr_t handle, void *object,
                  uint32_t detail);
void registry_discard(struct registry *registry, struct entry *entry);

#endif
