/* Who brings long private data to their readers: the kernel, from process to process when they want
 * them, or the rank that has them, which fills cells that they read.
 *
 * Which is faster depends on what the kernel's copies cost on this machine, and on where the ranks
 * run: between cores that share a cache a cell is filled in a third of the time that it takes
 * between two that do not. So cells are tried first, and each that is filled is timed. If the
 * fastest of some took a rank too long, it is the kernel's turn, for all ranks of the team; after
 * some ten milliseconds of that cells are tried again, as ranks may have moved, or their caches
 * been cold. A trial that fails may cost an operation twice its time, so each that does doubles
 * the wait for the next, up to a second or so. It begins with cells that are in no cache, as those
 * are wide now (wide.h): what is not too slow goes on until all have been filled.
 *
 * Whose turn it is stands in a word of the team's that any rank changes. Each looks at it once an
 * operation, and says in its post what it does, so nothing depends on all seeing the same; but an
 * exchange where one waits for the kernel and the other for cells takes the time of both.
 */
#ifndef MPIACCEL_PACE_H
#define MPIACCEL_PACE_H

#include "core/base.h"

#include <stdatomic.h>

struct pace {
    bool fetches;            /* it is the kernel's turn */
    _Atomic uint32_t *turn;  /* the team's word; NULL: nothing ever changes */
    uint32_t op;             /* when we looked there */
    uint64_t limit;          /* what filling PACE_SAMPLE bytes may take; sync_ticks() */
    uint64_t best;           /* the least that it took since the turn began, */
    uint32_t filled, stayed; /* of so many cells; or so many buffers stayed, */
    uint32_t doubts;         /* so often in a row the fastest cells were slow, but not too slow */
    size_t bytes;            /* of so many bytes in all */
    uint32_t looks;          /* we found it the same so many times, since it changed */
    uint32_t patience;       /* the kernel's turn is so many times the shortest */
};

enum {
    PACE_SAMPLE = 32 << 10,
    PACE_LEAST = 8 << 10, /* what is worth being timed */
    PACE_CELLS = 16,      /* in a turn; the first have pages that nobody has touched */
    PACE_DOUBTS = 4,      /* go round all: WIDE_ROUND */
    PACE_BUFFERS = 16,
    PACE_BYTES = 64 << 20,
    PACE_PATIENCE = 32,
    PACE_TRIAL = 128, /* looks; a turn of the cells that lasts longer was no failure */
};

/* `reaches`: the kernel lets the readers. `turn`: NULL if none is shared; then, if nobody has
 * decided, it is the kernel's. */
struct pace pace_begin(bool reaches, _Atomic uint32_t *turn);

void pace_look_again(struct pace *pace);
void pace_change(struct pace *pace);

/* Whose turn is it in operation `op`? */
static inline bool pace_fetches(struct pace *pace, uint32_t op)
{
    if (pace->turn && pace->op != op) {
        pace->op = op;
        pace->looks++;
        if (pace->fetches != (bool)atomic_load_explicit(pace->turn, memory_order_relaxed))
            pace_look_again(pace);
    }
    return pace->fetches;
}

/* Whether it may ever change. */
static inline bool pace_measures(const struct pace *pace)
{
    return pace->turn;
}

/* A cell was filled with `bytes` bytes. */
static inline void pace_filled(struct pace *pace, uint64_t ticks, size_t bytes)
{
    if (pace->fetches || !pace_measures(pace) || bytes < PACE_LEAST)
        return;
    uint64_t sample = ticks * PACE_SAMPLE / bytes;
    pace->best = sample < pace->best ? sample : pace->best;
    if (++pace->filled >= PACE_CELLS)
        pace_change(pace);
}

/* A buffer of `bytes` bytes stays for the kernel. */
static inline void pace_stayed(struct pace *pace, size_t bytes)
{
    pace->bytes += bytes;
    if (++pace->stayed >= PACE_BUFFERS * pace->patience &&
        pace->bytes >= PACE_BYTES * (size_t)pace->patience && pace->turn)
        pace_change(pace);
}

#endif
