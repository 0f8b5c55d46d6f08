#include "rma_shm/kept.h"

#include "core/concurrency.h"

#include <stddef.h>

struct kept {
    struct kept_group group;
    uint64_t number; /* 0: not kept yet, room for a window that is being freed */
    uintptr_t handle;
    bool offered; /* by a thread that is creating a window */
};

static struct kept kept[KEPT_MAX];
static unsigned kept_count; /* including room for windows that are being freed */
static bool open;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects these three */

/* Remove an entry and return its handle. The order of the list has no meaning. */
static uintptr_t take_kept(struct kept *k)
{
    uintptr_t handle = k->handle;
    *k = kept[--kept_count];
    return handle;
}

static struct kept *kept_entry(uint64_t number)
{
    for (unsigned i = 0; i < kept_count; i++)
        if (kept[i].number == number)
            return &kept[i];
    return NULL;
}

static bool fits(const struct kept *k, struct kept_group group)
{
    return k->number && !k->offered && k->group.ranks == group.ranks &&
           k->group.size == group.size && k->group.rank == group.rank &&
           k->group.shared == group.shared;
}

uint64_t kept_offer(struct kept_group group)
{
    struct kept *lowest = NULL;
    bool locked = lock_if_concurrent(&mutex);
    for (unsigned i = 0; i < kept_count; i++)
        if (fits(&kept[i], group) && (!lowest || kept[i].number < lowest->number))
            lowest = &kept[i];
    uint64_t number = !open ? NOT_KEPT : lowest ? lowest->number : 0;
    if (lowest)
        lowest->offered = open;
    unlock_if_locked(&mutex, locked);
    return number;
}

void kept_withdraw(uint64_t number)
{
    bool locked = lock_if_concurrent(&mutex);
    struct kept *k = number ? kept_entry(number) : NULL; /* room has the number 0 */
    if (k) /* it is gone if another thread has called MPI_Finalize, which is an error */
        k->offered = false;
    unlock_if_locked(&mutex, locked);
}

uintptr_t kept_take(uint64_t number)
{
    bool locked = lock_if_concurrent(&mutex);
    uintptr_t handle = take_kept(kept_entry(number));
    unlock_if_locked(&mutex, locked);
    return handle;
}

bool kept_reserve(uint64_t ranks)
{
    unsigned of_group = 0;
    bool locked = lock_if_concurrent(&mutex);
    for (unsigned i = 0; i < kept_count; i++)
        of_group += kept[i].group.ranks == ranks;
    bool room = open && kept_count < KEPT_MAX && of_group < KEPT_PER_GROUP;
    if (room)
        kept[kept_count++] = (struct kept){.group.ranks = ranks};
    unlock_if_locked(&mutex, locked);
    return room;
}

/* Which of several reservations is used does not matter. */
static struct kept *reserved_entry(uint64_t ranks)
{
    struct kept *k = kept;
    while (k->number || k->group.ranks != ranks)
        k++;
    return k;
}

void kept_cancel(uint64_t ranks)
{
    bool locked = lock_if_concurrent(&mutex);
    take_kept(reserved_entry(ranks));
    unlock_if_locked(&mutex, locked);
}

void kept_add(struct kept_group group, uint64_t number, uintptr_t handle)
{
    bool locked = lock_if_concurrent(&mutex);
    *reserved_entry(group.ranks) = (struct kept){group, number, handle, false};
    unlock_if_locked(&mutex, locked);
}

static void set_open(bool now)
{
    bool locked = lock_if_concurrent(&mutex);
    open = now;
    unlock_if_locked(&mutex, locked);
}

void kept_open(void)
{
    set_open(true);
}

void kept_close(void)
{
    set_open(false);
}

bool kept_take_lowest(uintptr_t *handle)
{
    bool locked = lock_if_concurrent(&mutex);
    bool any = kept_count;
    struct kept *lowest = kept;
    for (unsigned i = 1; i < kept_count; i++)
        if (kept[i].number < lowest->number)
            lowest = &kept[i];
    if (any)
        *handle = take_kept(lowest);
    unlock_if_locked(&mutex, locked);
    return any;
}

void kept_forget(void)
{
    bool locked = lock_if_concurrent(&mutex);
    kept_count = 0;
    unlock_if_locked(&mutex, locked);
}
