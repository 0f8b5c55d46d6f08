#include "coll_inplace/mailbox.h"

#include "alloc/arena.h"
#include "core/concurrency.h"
#include "node/node.h"
#include "peer_copy/calibrate.h"

#include <string.h>

enum {
    STREAM_AT = TEAM_CELLS * CELL_ROOM, /* the short stream lies behind the cells */
    CELLS_SIZE = STREAM_AT + STREAM_CELLS * STREAM_CELL + STREAM_EXTRA,
    STREAM_LONG_SIZE = STREAM_CELLS_LONG * STREAM_CELL + STREAM_EXTRA,
    RING_SIZE = sizeof(struct ring) + (size_t)TEAM_CELLS * CELL_ROOM,
};
_Static_assert((int)SAMPLE_CELLS == TEAM_CELLS && (int)SAMPLE_ROOM == CELL_ROOM,
               "calibrate() measures cells like these");

/* Freed mailboxes are kept for the next communicators, empty and with their cells: a few with any
 * number of pages, and as many with one page as take 2 MiB. A new mailbox takes page faults in all
 * ranks that read it, and some communicators exist for only 3 us. The mailbox that was freed last
 * is used first: its lines are in the cache. */
enum { SPARE_MAILBOXES = 512, SPARE_WITH_CELLS = 4, SPARE_PAGE = 4096 };
static struct mailbox *spare[SPARE_MAILBOXES];
static uint32_t spares, spares_with_cells;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects these */

static bool is_short_mailbox(const struct mailbox *mailbox)
{
    return !mailbox->cells_used && mailbox->written <= SPARE_PAGE;
}

static struct mailbox *take_spare(void)
{
    bool locked = lock_if_concurrent(&mutex);
    struct mailbox *mailbox = spares ? spare[--spares] : NULL;
    if (mailbox && !is_short_mailbox(mailbox))
        spares_with_cells--;
    unlock_if_locked(&mutex, locked);
    return mailbox;
}

static bool keep(struct mailbox *mailbox)
{
    bool with_cells = !is_short_mailbox(mailbox);
    bool locked = lock_if_concurrent(&mutex);
    bool kept = spares < SPARE_MAILBOXES && (!with_cells || spares_with_cells < SPARE_WITH_CELLS);
    if (kept) {
        spare[spares++] = mailbox;
        spares_with_cells += with_cells;
    }
    unlock_if_locked(&mutex, locked);
    return kept;
}

static void use_first_stream(struct mailbox *mailbox)
{
    mailbox->stream = offsetof(struct mailbox, ring) + mailbox->ring.cells + STREAM_AT;
    mailbox->stream_cells = STREAM_CELLS;
}

static void shorten_stream(struct mailbox *mailbox)
{
    if (mailbox->stream_cells > STREAM_CELLS)
        arena_control_free_written((char *)mailbox + mailbox->stream, STREAM_LONG_SIZE);
    use_first_stream(mailbox);
}

/* The cells are allocated separately: they need not be zero, so they take no memory until used. The
 * addresses are reserved here, so that no rank runs out of addresses in the middle of a call. */
struct mailbox *mailbox_create(void)
{
    struct mailbox *mailbox = take_spare();
    if (mailbox)
        return mailbox;
    mailbox = arena_control_alloc(sizeof *mailbox);
    char *cells = mailbox ? arena_control_alloc_raw(CELLS_SIZE) : NULL;
    if (cells) {
        mailbox->pid = node_member(node.me)->pid;
        mailbox->ring.cells = (uint64_t)(cells - (char *)&mailbox->ring);
        use_first_stream(mailbox);
        return mailbox;
    }
    if (mailbox)
        arena_control_free(mailbox);
    return NULL;
}

/* ---- further rings ---- */

struct ring *mailbox_ring(struct mailbox *mailbox, uint32_t i)
{
    return i ? node_at(mailbox->ring_at[i - 1]) : &mailbox->ring;
}

struct ring *mailbox_add_ring(struct mailbox *mailbox, uint32_t op)
{
    uint32_t rings = atomic_load_explicit(&mailbox->rings, memory_order_relaxed);
    rings += !rings;
    struct ring *ring = rings < TEAM_RINGS ? arena_control_alloc_raw(RING_SIZE) : NULL;
    if (!ring)
        return NULL;
    ring->cells = sizeof *ring;
    for (uint32_t i = 0; i < TEAM_SLOTS; i++)
        ring->slot[i].op = (struct sync_word){.value = op};
    mailbox->ring_at[rings - 1] = node_offset(ring);
    return ring;
}

static void free_rings(struct mailbox *mailbox)
{
    for (uint32_t i = 1; i < mailbox->rings; i++)
        arena_control_free_written(mailbox_ring(mailbox, i), RING_SIZE);
    mailbox->rings = 0;
}

/* ---- freeing ---- */

/* Slots beyond the last operation were never written. */
static size_t written_bytes(uint32_t op)
{
    size_t used = op < TEAM_SLOTS ? op + 1 : TEAM_SLOTS;
    return offsetof(struct mailbox, ring.slot) + used * sizeof(struct slot);
}

static void empty(struct mailbox *mailbox, uint32_t op)
{
    uint64_t cells = mailbox->ring.cells;
    size_t first = offsetof(struct mailbox, done);
    memset((char *)mailbox + first, 0, written_bytes(op) - first);
    mailbox->ring.cells = cells;
    mailbox->departed = 0;
    if (atomic_load_explicit(&mailbox->children_offered.value, memory_order_relaxed)) {
        mailbox->child_offers = 0;
        memset(&mailbox->children_offered, 0, sizeof mailbox->children_offered);
    }
}

static void return_memory(struct mailbox *mailbox)
{
    size_t written = mailbox->written, cells = mailbox->cells_used ? CELLS_SIZE : 0;
    arena_control_free_written((char *)&mailbox->ring + mailbox->ring.cells, cells);
    arena_control_free_written(mailbox, written);
}

void mailbox_free(struct mailbox *mailbox, uint32_t op)
{
    if (!mailbox)
        return;
    shorten_stream(mailbox);
    free_rings(mailbox);
    empty(mailbox, op);
    if (mailbox->written < written_bytes(op))
        mailbox->written = (uint32_t)written_bytes(op);
    if (!keep(mailbox))
        return_memory(mailbox);
}

void mailbox_free_spares(void)
{
    for (struct mailbox *mailbox; (mailbox = take_spare());)
        return_memory(mailbox);
}

void mailbox_lengthen_stream(struct mailbox *mailbox)
{
    char *block = arena_control_alloc_raw(STREAM_LONG_SIZE);
    if (!block)
        return;
    mailbox->stream = (uint64_t)(block - (char *)mailbox);
    mailbox->stream_cells = STREAM_CELLS_LONG;
}

/* The positions of the cells are relative to their mailbox. */
void mailbox_swap_cells(struct mailbox *a, struct mailbox *b)
{
    uint64_t distance = (uint64_t)((char *)b - (char *)a);
    uint64_t cells = a->ring.cells, stream = a->stream;
    uint32_t stream_cells = a->stream_cells;
    bool used = a->cells_used;
    a->ring.cells = b->ring.cells + distance;
    a->stream = b->stream + distance;
    a->stream_cells = b->stream_cells;
    a->cells_used = b->cells_used;
    b->ring.cells = cells - distance;
    b->stream = stream - distance;
    b->stream_cells = stream_cells;
    b->cells_used = used;
}
