#include "core/thread.h"

#include <pthread.h>
#include <stdlib.h>

__thread struct thread *thread_current;
bool thread_concurrent;

struct member {
    struct thread thread;
    struct member *next, **link;
    unsigned slot; /* + 1; 0: none */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static struct member *members;
static struct inflight *slots;
static bool slot_taken[INFLIGHT_SLOTS];

/* If there is no memory for a thread's counters, all such threads share these, miscounting. */
static struct member shared_member;

static void leave(void *value)
{
    struct member *m = value;
    pthread_mutex_lock(&mutex);
    stats_fold(&m->thread.stats);
    if (m->slot)
        slot_taken[m->slot - 1] = false;
    *m->link = m->next;
    if (m->next)
        m->next->link = m->link;
    pthread_mutex_unlock(&mutex);
    thread_current = NULL;
    free(m);
}

static void create_key(void)
{
    pthread_key_create(&key, leave);
}

COLD struct thread *thread_attach(void)
{
    pthread_once(&once, create_key);
    struct member *m = aligned_alloc(LINE, round_up(sizeof *m, LINE));
    if (!m)
        return &shared_member.thread;
    *m = (struct member){.link = &members};
    pthread_mutex_lock(&mutex);
    m->next = members;
    if (m->next)
        m->next->link = &m->next;
    members = m;
    pthread_mutex_unlock(&mutex);
    pthread_setspecific(key, m);
    return thread_current = &m->thread;
}

void thread_offer_inflight(struct inflight *offered)
{
    pthread_mutex_lock(&mutex);
    slots = offered;
    pthread_mutex_unlock(&mutex);
}

COLD void thread_take_inflight(struct thread *thread)
{
    struct member *m = (struct member *)thread;
    if (m == &shared_member || thread->inflight)
        return;
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; slots && i < INFLIGHT_SLOTS && !m->slot; i++)
        if (!slot_taken[i]) {
            slot_taken[i] = true;
            m->slot = i + 1;
            thread->inflight = &slots[i];
        }
    pthread_mutex_unlock(&mutex);
}

void thread_fold_all(void)
{
    pthread_mutex_lock(&mutex);
    stats_fold(&shared_member.thread.stats);
    for (struct member *m = members; m; m = m->next)
        stats_fold(&m->thread.stats);
    pthread_mutex_unlock(&mutex);
}
