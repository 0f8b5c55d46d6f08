#include "coll_inplace/mailbox.h"

#include "alloc/arena.h"
#include "node/node.h"

#include <string.h>

enum {
    STREAM_AT = TEAM_CELLS * CELL_ROOM, /* the short stream lies behind the cells */
    CELLS_SIZE = STREAM_AT + STREAM_CELLS * STREAM_CELL + STREAM_EXTRA,
    STREAM_LONG_SIZE = STREAM_CELLS_LONG * STREAM_CELL + STREAM_EXTRA,
};

/* A few freed mailboxes are kept, empty and with their cells, for the next communicators. Creating
 * one takes 0.6 us and touches new pages, and some communicators exist for only 3 us. */
enum { SPARE_MAILBOXES = 4 };
static struct mailbox *_Atomic spare[SPARE_MAILBOXES];

/* The acquire pairs with the release in keep(): the thread that takes a mailbox sees the stores
 * with which another thread emptied it. */
static struct mailbox *take_spare(void)
{
    struct mailbox *mailbox = NULL;
    for (int i = 0; i < SPARE_MAILBOXES && !mailbox; i++)
        if (atomic_load_explicit(&spare[i], memory_order_relaxed))
            mailbox = atomic_exchange_explicit(&spare[i], NULL, memory_order_acquire);
    return mailbox;
}

static bool keep(struct mailbox *mailbox)
{
    bool kept = false;
    for (int i = 0; i < SPARE_MAILBOXES && !kept; i++) {
        struct mailbox *none = NULL;
        kept = atomic_compare_exchange_strong_explicit(&spare[i], &none, mailbox,
                                                       memory_order_release, memory_order_relaxed);
    }
    return kept;
}

static void use_first_stream(struct mailbox *mailbox)
{
    mailbox->stream = mailbox->cells + STREAM_AT;
    mailbox->stream_cells = STREAM_CELLS;
}

static void shorten_stream(struct mailbox *mailbox)
{
    if (mailbox->stream_cells > STREAM_CELLS)
        arena_control_free_written((char *)mailbox + mailbox->stream, STREAM_LONG_SIZE);
    use_first_stream(mailbox);
}

/* The cells are allocated separately: they need not be zero, so they take no memory until used. The
 * addresses are reserved here, so that no rank runs out of them in the middle of a call. */
struct mailbox *mailbox_create(void)
{
    struct mailbox *mailbox = take_spare();
    if (mailbox)
        return mailbox;
    mailbox = arena_control_alloc(sizeof *mailbox);
    char *cells = mailbox ? arena_control_alloc_raw(CELLS_SIZE) : NULL;
    if (cells) {
        mailbox->pid = node_member(node.me)->pid;
        mailbox->cells = (uint64_t)(cells - (char *)mailbox);
        use_first_stream(mailbox);
        return mailbox;
    }
    if (mailbox)
        arena_control_free(mailbox);
    return NULL;
}

/* Slots beyond the last operation were never written. */
static size_t written_bytes(uint32_t op)
{
    size_t used = op < TEAM_SLOTS ? op + 1 : TEAM_SLOTS;
    return offsetof(struct mailbox, slot) + used * sizeof(struct slot);
}

static void empty(struct mailbox *mailbox, uint32_t op)
{
    size_t first = offsetof(struct mailbox, done);
    memset((char *)mailbox + first, 0, written_bytes(op) - first);
    mailbox->departed = 0;
    if (atomic_load_explicit(&mailbox->children_offered.value, memory_order_relaxed)) {
        mailbox->child_offers = 0;
        memset(&mailbox->children_offered, 0, sizeof mailbox->children_offered);
    }
}

void mailbox_free(struct mailbox *mailbox, uint32_t op)
{
    if (!mailbox)
        return;
    shorten_stream(mailbox);
    size_t cells = mailbox->cells_used ? CELLS_SIZE : 0;
    empty(mailbox, op);
    if (keep(mailbox))
        return;
    arena_control_free_written((char *)mailbox + mailbox->cells, cells);
    arena_control_free_written(mailbox, written_bytes(op));
}

void mailbox_lengthen_stream(struct mailbox *mailbox)
{
    char *block = arena_control_alloc_raw(STREAM_LONG_SIZE);
    if (!block)
        return;
    mailbox->stream = (uint64_t)(block - (char *)mailbox);
    mailbox->stream_cells = STREAM_CELLS_LONG;
}
