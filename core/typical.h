/* What something takes as a rule, of a few times that it was measured: the least of what runs of
 * four took at most. A single one may have been interrupted, or been lucky: of lines that come
 * slowly, in one fill of some ten all happen to be near. */
#ifndef MPIACCEL_TYPICAL_H
#define MPIACCEL_TYPICAL_H

#include "core/base.h"

enum { TYPICAL_RUN = 4 };

struct typical {
    uint64_t least; /* TYPICAL_NONE: there was no run yet */
    uint64_t most;  /* of the run that has begun */
    uint32_t count; /* in it */
};
#define TYPICAL_NONE (UINT64_MAX / 100)

static inline struct typical typical_begin(void)
{
    return (struct typical){.least = TYPICAL_NONE};
}

static inline void typical_add(struct typical *t, uint64_t ticks)
{
    t->most = ticks > t->most ? ticks : t->most;
    if (++t->count < TYPICAL_RUN)
        return;
    t->least = t->most < t->least ? t->most : t->least;
    t->most = t->count = 0;
}

#endif
