/* Which pages of the heap of malloc are in use: an allocator of runs of pages.
 *
 * A table with an entry per page describes the heap, so nothing is stored inside it (H22:
 * overruns). From the first page up to `next` the pages form runs, each of which is live, kept or
 * empty:
 *
 *     live    a block
 *     kept    unused; its pages may still take memory, and have any content
 *     empty   unused; holes of the file, which take no memory and read as zeroes
 *
 * Neighbours of the same kind are joined. Kept and empty runs are not joined with each other, so
 * all of a run reads as zeroes, or none of it is known to. A live run may have spare pages behind
 * its block, into which the block can grow; like those of empty runs, they take no memory and read
 * as zeroes. The first and the last entry of a run hold its length and kind, which is how a
 * neighbour is found on either side. Unused runs are in lists by size class, four classes per
 * doubling, as in most allocators of this kind. A request looks at the first few runs of its own
 * class and, if none is long enough, of the next class that is not empty. It takes the shortest run
 * that is long enough, so that long runs stay whole.
 *
 * The caller serialises the calls.
 */
#ifndef MPIACCEL_HEAP_BLOCKS_H
#define MPIACCEL_HEAP_BLOCKS_H

#include "core/base.h"

#define BLOCKS_NONE UINT32_MAX /* no page */

enum run_kind { RUN_INSIDE, RUN_LIVE, RUN_KEPT, RUN_EMPTY };

struct page_run {
    uint32_t pages;
    union {
        uint32_t before; /* in the list of its class, by their first pages */
        uint32_t spare;  /* of a live run: pages at its end that do not belong to the block */
    };
    uint32_t after;
    uint16_t offset; /* of the block in its first page, set by the caller */
    uint8_t kind;    /* enum run_kind; RUN_INSIDE: neither the first nor the last page */
    bool is_first;
};

enum { RUN_CLASSES = 128 };

struct run_lists {
    uint32_t first[RUN_CLASSES];
    uint64_t is_filled[RUN_CLASSES / 64];
};

struct block_heap {
    struct page_run
        *run;       /* by page; must read as zeroes at first, and be writable before `ready` */
    size_t base;    /* the number of the first page in the address space, for alignment */
    uint32_t next;  /* pages from here on were never used, or are empty */
    uint32_t ready; /* pages before this one may be used; the caller increases it */
    uint32_t live, kept;
    struct run_lists lists[2]; /* of kept and empty runs */
};

void blocks_open(struct block_heap *b, struct page_run *run, size_t base);

/* Take `pages` pages, aligned to `align` pages, a power of two. `is_empty` becomes whether they
 * read as zeroes. BLOCKS_NONE: there is no room before `ready`. */
uint32_t blocks_take(struct block_heap *b, uint32_t pages, uint32_t align, bool *is_empty);

/* Take `pages` kept pages, or if there are none, as many empty ones and `spare` more behind them,
 * into which the block can grow. `is_empty` becomes whether they read as zeroes. BLOCKS_NONE: there
 * is no room before `ready`. */
uint32_t blocks_take_growing(struct block_heap *b, uint32_t pages, uint32_t spare, bool *is_empty);

/* The length of the block that begins at this page. 0: none does. */
uint32_t blocks_length(const struct block_heap *b, uint32_t at);

/* Give a block back, with its pages kept or empty. */
void blocks_give(struct block_heap *b, uint32_t at, enum run_kind kind);

/* Make a block longer or shorter, in place; its offset stays. False: there is no room behind it. */
bool blocks_resize(struct block_heap *b, uint32_t at, uint32_t pages);

/* Turn one of the longest kept runs into a block, so that the caller can free its pages and give it
 * back as empty. BLOCKS_NONE: there is none. */
uint32_t blocks_take_kept(struct block_heap *b);

#endif
