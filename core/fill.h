/* Filling shared memory that peers have read and will read: through our caches, or around them.
 *
 * A line that is written again lies in the cache of who read it last. Between cores that share a
 * cache it comes back in some nanoseconds. Between others it may take 40, and few come at once:
 * then streaming stores are better for both sides, as they leave the line in memory, where its
 * reader finds it. (Two processors of an EPYC 9004 hand over 8 KiB through 32 cells, ns a cell: if
 * they share no cache, 4800 through the caches and 580 around, and 4900 and 1800 where each waits
 * for the other every time; if they share one, 970 and 540, and 1400 and 1590.)
 *
 * What it costs its reader the writer cannot see: some 10 ns a line, where it would have been found
 * in a cache. So it goes around where that saves more of its own time, as a rule: 2 to 8 ns a line
 * if a cache is shared, 13 and more if not. From time to time the way through the caches is tried
 * again, as ranks may have moved, or the pages been new: soon, and ever later if that fails.
 *
 * Local to each writer: nothing depends on which way the others go.
 */
#ifndef MPIACCEL_FILL_H
#define MPIACCEL_FILL_H

#include "core/typical.h"

enum {
    FILL_LEAST = 1024,  /* what may go around */
    FILL_SHORT = 8192,  /* up to this only */
    FILL_SELDOM = 8,    /* one in so many is timed */
    FILL_SAMPLE = 4096, /* bytes that times are said for */
    FILL_WINDOW = 32,   /* timed fills by which a way is judged: by the second half, as the first
                           fetches what the other way has left elsewhere, of all cells */
    FILL_GAIN = 1750, /* ticks for FILL_SAMPLE bytes that it must save: 10 ns a line, at 2.6 GHz */
    FILL_HURRY = 8,   /* a trial is repeated after so many times the time that it took, */
    FILL_PATIENCE = 64, /* and at last after so many, if it fails each time */
};

struct fill {
    bool around, measures;
    uint32_t window;      /* FILL_WINDOW, or more where there are more cells to go around */
    uint32_t fills;       /* that may be timed */
    uint32_t timed;       /* in this window */
    struct typical ticks; /* of the window's second half, for FILL_SAMPLE bytes */
    uint64_t best[2];     /* the same of the last window through the caches, and around; 0: none */
    uint64_t since;       /* when this window began; sync_ticks() */
    uint64_t until;       /* when the way through the caches is tried again, */
    uint32_t patience;    /* in times that the last trial took */
};

struct fill fill_begin(void);

/* `bytes` bytes, FILL_LEAST at least. Returns the ticks that they took through the caches, if they
 * were timed; else 0. */
uint64_t fill_bytes(struct fill *fill, char *to, const char *from, size_t bytes);

/* Not timed. */
void fill_only(const struct fill *fill, char *to, const char *from, size_t bytes);

/* It took so many ticks, and is over `now`. */
void fill_took(struct fill *fill, uint64_t ticks, size_t bytes, uint64_t now);

#endif
