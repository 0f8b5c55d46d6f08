/* Whether a rank's long data go through more memory than they need.
 *
 * A line that is written again lies in the cache of who read it last, and is to be fetched from
 * there first. If so much is written before it is its turn again that it has left that cache, and
 * the writer's, for one that they share, it comes in a fraction of the time: cells of 8 KiB in two
 * thirds to a third, of 32 KiB in a quarter (EPYC 9004, 1 MiB of L2 and 2 MiB of cells). But each
 * new page costs 3 us, so that this is tried only where it would have paid for them; and if cells
 * are filled no faster then, it is given up, and tried again later and later.
 *
 * Local to each writer: where data lie is in their post (H13).
 */
#ifndef MPIACCEL_WIDE_H
#define MPIACCEL_WIDE_H

#include "core/config.h"
#include "core/fill.h"

enum wide_setting { WIDE_NEVER, WIDE_ALWAYS, WIDE_AS_MEASURED }; /* MPIACCEL_WIDE_CELLS */

enum {
    WIDE_AFTER = 256, /* timed fills until it is tried at first; */
    WIDE_LATER = 8,   /* so many times as many until it is tried the next time */
    WIDE_WINDOW = 32, /* so many say what a way takes; */
    WIDE_ROUND = 64,  /* those that go all the way round for the first time do not count */
    WIDE_WORTH = 75   /* per cent of the time at most */
};

struct wide {
    bool on;
    bool tried, settled;  /* it was before; and so it stays */
    uint32_t timed;       /* fills since we began with this way, */
    uint32_t after;       /* and after how many the other is tried */
    struct typical ticks; /* of this window, for FILL_SAMPLE bytes */
    uint64_t narrow;      /* the same of the last window of the narrow way */
};

/* `there_is`: memory for it, already. */
struct wide wide_begin(bool there_is);

/* Filling `bytes` bytes took so many ticks. True: more memory should be tried now, of which
 * wide_try() says whether there is any. */
bool wide_judge(struct wide *wide, uint64_t ticks, size_t bytes);
void wide_try(struct wide *wide, bool there_is);

#endif
