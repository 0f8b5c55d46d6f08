#include "coll_inplace/row.h"

#include "alloc/arena.h"
#include "alloc/node.h"

#include <string.h>

enum {
    STREAM_AT = TEAM_CELLS * CELL_ROOM, /* in the cells, at first */
    CELLS_SIZE = STREAM_AT + STREAM_CELLS * STREAM_CELL,
};

/* Some that were freed stay, empty and with their cells, for the next communicators: to have one
 * anew takes 0.6 us, and new pages, and some communicators live for 3 us. */
enum { SPARE_ROWS = 4 };
static struct row *_Atomic spare[SPARE_ROWS];

/* Acquire and release: what one thread has emptied another one uses. */
static struct row *take_spare(void)
{
    struct row *row = NULL;
    for (int i = 0; i < SPARE_ROWS && !row; i++)
        if (atomic_load_explicit(&spare[i], memory_order_relaxed))
            row = atomic_exchange_explicit(&spare[i], NULL, memory_order_acquire);
    return row;
}

static bool keep(struct row *row)
{
    bool kept = false;
    for (int i = 0; i < SPARE_ROWS && !kept; i++) {
        struct row *none = NULL;
        kept = atomic_compare_exchange_strong_explicit(&spare[i], &none, row, memory_order_release,
                                                       memory_order_relaxed);
    }
    return kept;
}

static void use_first_stream(struct row *row)
{
    row->stream = row->cells + STREAM_AT;
    row->stream_cells = STREAM_CELLS;
}

static void shorten_stream(struct row *row)
{
    if (row->stream_cells > STREAM_CELLS)
        arena_control_free((char *)row + row->stream);
    use_first_stream(row);
}

/* The cells are a piece of their own: they need no zeroes, and so no memory until they are used. */
struct row *row_make(void)
{
    struct row *row = take_spare();
    if (row)
        return row;
    row = arena_control_alloc(sizeof *row);
    char *cells = row ? arena_control_alloc_raw(CELLS_SIZE) : NULL;
    if (cells) {
        row->pid = node_member(node.me)->pid;
        row->cells = (uint64_t)(cells - (char *)row);
        use_first_stream(row);
        return row;
    }
    if (row)
        arena_control_free(row);
    return NULL;
}

/* Posts beyond the last operation's are empty. */
static void empty(struct row *row, uint32_t op)
{
    size_t posts = op < TEAM_POSTS ? op + 1 : TEAM_POSTS;
    memset(row, 0, offsetof(struct row, post) + posts * sizeof(struct post));
    row->departed = 0;
}

void row_free(struct row *row, uint32_t op)
{
    if (!row)
        return;
    shorten_stream(row);
    empty(row, op);
    if (keep(row))
        return;
    arena_control_free((char *)row + row->cells);
    arena_control_free(row);
}

void row_lengthen_stream(struct row *row)
{
    char *block = arena_control_alloc_raw(STREAM_CELLS_LONG * (size_t)STREAM_CELL);
    if (!block)
        return;
    row->stream = (uint64_t)(block - (char *)row);
    row->stream_cells = STREAM_CELLS_LONG;
}
