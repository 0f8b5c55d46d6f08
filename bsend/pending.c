#include "bsend/pending.h"

#include "core/say.h"
#include "core/sync.h"
#include "core/thread.h"

#include <pthread.h>
#include <stdlib.h>

/* After the first one, which has waited for long. MOST: the host numbers its messages with 16 bits,
 * and sends new ones before those that wait. */
enum { PATIENCE_NS = 250000, MOST = 1 << 15 };

/* Up to here the host says truly when a message has left the buffer: Open MPI does up to 4 KiB,
 * and up to 1 KiB for those to itself, both with headers of its own. */
enum { SHORT = 512 };

struct pending {
    uintptr_t request;
    struct pending *next;
};

_Atomic uint32_t pending_count;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pending *first, **end = &first;
static size_t room;
static uint64_t first_ns;
static pending_sent_fn *has_been_sent;

/* Bytes of all that may have taken room since the buffer was known to be empty; no longer counted
 * when they are more than `room`. It is known to be when it is attached, and while there have been
 * `only_short` ones when none is kept. */
static _Atomic uint64_t begun;
static _Atomic bool only_short;

void pending_open(size_t bytes, uint64_t wait_ns, pending_sent_fn *sent)
{
    room = bytes;
    first_ns = wait_ns;
    begun = 0;
    only_short = true;
    has_been_sent = sent;
}

/* Whether all of them fit: one behind the other, as the host may find no better places. */
static bool count_begun(size_t bytes)
{
    return begun <= room && thread_add(&begun, min_size(bytes, room + 1)) <= room;
}

/* ---- the list ---- */

static void keep(struct pending *p)
{
    pthread_mutex_lock(&mutex);
    *end = p;
    end = &p->next;
    pending_count++;
    pthread_mutex_unlock(&mutex);
}

/* While a thread asks for the first one it is not in the list: others ask for the next. */
static struct pending *take_first(void)
{
    pthread_mutex_lock(&mutex);
    struct pending *p = first;
    if (p && !(first = p->next))
        end = &first;
    pthread_mutex_unlock(&mutex);
    return p;
}

static void put_back(struct pending *p)
{
    pthread_mutex_lock(&mutex);
    if (!(p->next = first))
        end = &p->next;
    first = p;
    pthread_mutex_unlock(&mutex);
}

/* (Another thread may be about to keep one that it has counted.) */
static void forget(struct pending *p)
{
    pthread_mutex_lock(&mutex);
    if (--pending_count == 0 && only_short && !thread_concurrent)
        begun = 0;
    pthread_mutex_unlock(&mutex);
    free(p);
}

/* The oldest, as far as they are complete. */
static void reap(void)
{
    struct pending *p;
    while ((p = take_first()) && has_been_sent(&p->request))
        forget(p);
    if (p)
        put_back(p);
}

/* ---- what others call ---- */

void pending_drain(void)
{
    struct sync_wait wait = SYNC_WAIT;
    for (reap(); pending_count; reap())
        sync_pause(&wait);
}

bool pending_reserve(size_t bytes)
{
    reap();
    if (!pending_count)
        return false;
    if (count_begun(bytes) && pending_count < MOST)
        return true;
    pending_drain();
    return false;
}

void pending_by_host(size_t bytes)
{
    only_short = false;
    count_begun(bytes);
}

static bool completes(uintptr_t *request, uint64_t within_ns)
{
    if (has_been_sent(request))
        return true;
    struct sync_wait wait = SYNC_WAIT;
    for (uint64_t end_ns = sync_now_ns() + within_ns; sync_now_ns() < end_ns;) {
        sync_pause(&wait);
        if (has_been_sent(request))
            return true;
    }
    return false;
}

void pending_add(uintptr_t request, size_t bytes, bool reserved)
{
    bool counted = reserved;
    if (bytes > SHORT)
        only_short = false;
    if (!counted && !only_short) { /* a short one may lie between two long ones, and leave a gap */
        count_begun(bytes);
        counted = true;
    }
    bool is_first = !pending_count;
    if (completes(&request, is_first ? first_ns : PATIENCE_NS))
        return;
    if (is_first)
        say_once(1,
                 "MPI_Bsend has waited %llu ms for its receiver and goes on; the message leaves in "
                 "a later call of this rank's; if that comes late, raise MPIACCEL_BSEND_WAIT",
                 (unsigned long long)(first_ns / 1000000));
    struct pending *p = malloc(sizeof *p);
    if (!p) {
        while (!completes(&request, first_ns)) {
        }
        return;
    }
    if (!counted)
        count_begun(bytes);
    *p = (struct pending){.request = request};
    keep(p);
}
