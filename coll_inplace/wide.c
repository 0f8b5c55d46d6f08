#include "coll_inplace/wide.h"

struct wide wide_begin(bool there_is)
{
    return (struct wide){.settled = config.wide_cells == WIDE_NEVER,
                         .after = there_is ? WIDE_WINDOW : WIDE_AFTER,
                         .ticks = typical_begin(),
                         .narrow = TYPICAL_NONE};
}

static void begin_way(struct wide *w, bool on)
{
    w->on = on;
    w->timed = 0;
    w->ticks = typical_begin();
}

/* Whether it was worth it. */
static void look_back(struct wide *w)
{
    w->settled = w->ticks.least <= w->narrow * WIDE_WORTH / 100;
    if (w->settled)
        return;
    w->after *= w->after < UINT32_MAX / WIDE_LATER ? WIDE_LATER : 1;
    begin_way(w, false);
}

bool wide_judge(struct wide *w, uint64_t ticks, size_t bytes)
{
    typical_add(&w->ticks, ticks * FILL_SAMPLE / bytes);
    w->timed++;
    if (w->on) {
        if (w->timed == WIDE_ROUND)
            w->ticks = typical_begin();
        else if (w->timed == WIDE_ROUND + WIDE_WINDOW)
            look_back(w);
    } else if (w->timed % WIDE_WINDOW == 0) {
        w->narrow = w->ticks.least;
        w->ticks = typical_begin();
        return w->timed >= w->after;
    }
    return false;
}

void wide_try(struct wide *w, bool there_is)
{
    w->tried = true;
    w->settled = !there_is || config.wide_cells == WIDE_ALWAYS;
    w->narrow = min_size(w->narrow, w->ticks.least);
    begin_way(w, there_is);
}
