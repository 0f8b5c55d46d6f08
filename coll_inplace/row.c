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

/* What is wide costs memory: so many blocks in a process. */
enum { WIDE_MOST = 16 };
static _Atomic uint32_t wide_blocks;

/* With pages: who is about to see how fast these cells are filled should not see new ones. */
static char *make_wide(void)
{
    if (atomic_fetch_add_explicit(&wide_blocks, 1, memory_order_relaxed) < WIDE_MOST) {
        char *block = arena_control_alloc_raw(WIDE_SIZE);
        if (block) {
            memset(block, 0, WIDE_SIZE);
            return block;
        }
    }
    atomic_fetch_sub_explicit(&wide_blocks, 1, memory_order_relaxed);
    return NULL;
}

static void free_wide(char *block)
{
    arena_control_free(block);
    atomic_fetch_sub_explicit(&wide_blocks, 1, memory_order_relaxed);
}

static void narrow_stream(struct row *row)
{
    char *block = (char *)row + row->stream;
    if (row->stream_cells == STREAM_CELLS_WIDE)
        free_wide(block);
    else if (row->stream_cells > STREAM_CELLS)
        arena_control_free(block);
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
    narrow_stream(row);
    empty(row, op);
    if (keep(row))
        return;
    if (row->wide)
        free_wide((char *)row + row->wide);
    arena_control_free((char *)row + row->cells);
    arena_control_free(row);
}

bool row_widen(struct row *row)
{
    char *cells = make_wide();
    if (cells)
        row->wide = (uint64_t)(cells - (char *)row);
    return cells;
}

void row_widen_stream(struct row *row, uint32_t cells)
{
    bool wide = cells == STREAM_CELLS_WIDE;
    char *block = wide ? make_wide() : arena_control_alloc_raw(cells * (size_t)STREAM_CELL);
    if (!block)
        return;
    narrow_stream(row);
    row->stream = (uint64_t)(block - (char *)row);
    row->stream_cells = cells;
}
