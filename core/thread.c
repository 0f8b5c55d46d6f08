#include "core/thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

__thread struct thread *thread_current;

/* The list of all threads. */
struct thread_entry {
    struct thread thread;
    struct thread_entry *next, **link;
    unsigned slot; /* index + 1 of its inflight slot; 0: none */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key; /* false: the entries of threads that have ended remain */
static struct thread_entry *entries;
static struct inflight *slots;
static bool slot_taken[INFLIGHT_SLOTS];

/* Shared by all threads for which no memory could be allocated. Their statistics are inexact. */
static struct thread_entry shared_entry;

static void detach(void *value)
{
    struct thread_entry *entry = value;
    assert(!entry->thread.inflight || entry->thread.inflight->count % 2 == 0);
    pthread_mutex_lock(&mutex);
    assert(!entry->slot || slot_taken[entry->slot - 1]);
    stats_fold(&entry->thread.stats);
    if (entry->slot)
        slot_taken[entry->slot - 1] = false;
    *entry->link = entry->next;
    if (entry->next)
        entry->next->link = entry->link;
    pthread_mutex_unlock(&mutex);
    thread_current = NULL;
    free(entry);
}

static void lock_before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&mutex);
}

/* The slots are in shared memory that is not mapped in a child. Without a slot, a thread
 * accumulates in bulk mode. The child can do so only in windows of one rank, because all others are
 * in the same shared memory. */
static void leave_slots_in_child(void)
{
    slots = NULL;
    for (struct thread_entry *entry = entries; entry; entry = entry->next)
        entry->thread.inflight = NULL;
    pthread_mutex_unlock(&mutex);
}

/* A child of fork finds the mutex free and the list complete, whatever other threads are doing
 * (H6: fork). */
static void prepare_once(void)
{
    has_key = !pthread_key_create(&key, detach);
    pthread_atfork(lock_before_fork, unlock_after_fork, leave_slots_in_child);
}

COLD struct thread *thread_attach(void)
{
    pthread_once(&once, prepare_once);
    struct thread_entry *entry = aligned_alloc(LINE, round_up(sizeof *entry, LINE));
    if (!entry) /* for as long as the thread lives, since it has state such as `inside` */
        return thread_current = &shared_entry.thread;
    *entry = (struct thread_entry){.link = &entries};
    pthread_mutex_lock(&mutex);
    entry->next = entries;
    if (entry->next)
        entry->next->link = &entry->next;
    entries = entry;
    pthread_mutex_unlock(&mutex);
    if (has_key)
        pthread_setspecific(key, entry);
    return thread_current = &entry->thread;
}

void thread_offer_inflight(struct inflight *offered)
{
    pthread_mutex_lock(&mutex);
    slots = offered;
    pthread_mutex_unlock(&mutex);
}

COLD void thread_take_inflight(struct thread *thread)
{
    struct thread_entry *entry = (struct thread_entry *)thread;
    if (entry == &shared_entry || thread->inflight)
        return;
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; slots && i < INFLIGHT_SLOTS && !entry->slot; i++)
        if (!slot_taken[i]) {
            slot_taken[i] = true;
            entry->slot = i + 1;
            thread->inflight = &slots[i];
        }
    pthread_mutex_unlock(&mutex);
}

void thread_fold_all(void)
{
    pthread_mutex_lock(&mutex);
    stats_fold(&shared_entry.thread.stats);
    for (struct thread_entry *entry = entries; entry; entry = entry->next)
        stats_fold(&entry->thread.stats);
    pthread_mutex_unlock(&mutex);
}
