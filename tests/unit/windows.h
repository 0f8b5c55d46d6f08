/* Windows whose ranks are threads. The process is a node with one member. Every rank of a window
 * has its own view (struct win) of one shared structure, and its own memory in the heap. */
#ifndef UNIT_WINDOWS_H
#define UNIT_WINDOWS_H

#include "alloc/arena.h"
#include "core/config.h"
#include "core/kernels.h"
#include "node/node.h"
#include "node/rendezvous.h"
#include "peer_copy/copy_request.h"
#include "rma_shm/access.h"
#include "rma_shm/sync_active.h"
#include "rma_shm/sync_passive.h"
#include "tests/unit/unit.h"

#include <string.h>

static inline void open_heap(void)
{
    struct job job = {.local_size = 1};
    if (node.header)
        return;
    /* An eighth is for teams, which take 1 MiB each where pages have 64 KiB. */
    config.heap_size = (size_t)1 << 30;
    config.kernel_copies = 1;
    thread_concurrent = true;
    rendezvous_enter(&job);
    rendezvous_settle(0, 1, 0, NULL);
    ck_assert(node.header != NULL);
    copy_requests_open();
    ck_assert(arena_open(node_slice(0), node.slice_size, node.header->control_size, SIZE_MAX));
}

/* The window of a case. A case may fill `part` before it creates the window. */
static struct win *view[UNIT_RANKS_MAX];
static struct part {
    char *base;
    size_t bytes;
    int64_t unit;
} part[UNIT_RANKS_MAX];

static inline void create_window_over_parts(unsigned size)
{
    struct win_offer offers[UNIT_RANKS_MAX];
    for (unsigned r = 0; r < size; r++) {
        view[r] = win_prepare(size, r);
        win_offer(view[r], part[r].base, part[r].bytes, part[r].unit, REASON_NONE, &offers[r]);
    }
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(win_settle(view[r], offers), REASON_NONE);
}

static inline void create_window(unsigned size, size_t bytes, int64_t unit)
{
    open_heap();
    for (unsigned r = 0; r < size; r++) {
        part[r] = (struct part){arena_alloc(bytes, ARENA_GRAIN), bytes, unit};
        memset(part[r].base, 0, bytes);
    }
    create_window_over_parts(size);
}

static inline void leave_window(unsigned me)
{
    EXPECT(win_idle(view[me]));
    win_depart(view[me]);
    win_free(view[me]);
}

static inline void free_window(unsigned size)
{
    as_ranks(size, leave_window);
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(arena_free(part[r].base), ARENA_FREED);
}

/* ---- operations ---- */

static inline const struct typemap *type_of(enum prim prim, size_t size, size_t extent)
{
    static struct typemap *known[PRIM_COUNT];
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (!known[prim])
        known[prim] = typemap_predefined(1000 + prim, prim, size, extent);
    pthread_mutex_unlock(&mutex);
    return known[prim];
}
#define I64   type_of(PRIM_I64, 8, 8)
#define I32   type_of(PRIM_I32, 4, 4)
#define BYTES type_of(PRIM_BYTE, 1, 1)

static inline struct buffer buffer(const void *at, const struct typemap *map, size_t count)
{
    return (struct buffer){.at = (char *)at, .map = map, .count = count};
}

static inline enum win_error put_words(unsigned me, const int64_t *from, int target, int64_t disp,
                                       size_t count)
{
    return win_put(view[me], buffer(from, I64, count), target, disp, buffer(NULL, I64, count));
}

static inline enum win_error get_words(unsigned me, int64_t *to, int target, int64_t disp,
                                       size_t count)
{
    return win_get(view[me], buffer(to, I64, count), target, disp, buffer(NULL, I64, count));
}

#endif
