#include "core/fill.h"

#include "core/config.h"
#include "core/copy.h"
#include "core/sync.h"

enum { NEVER, ALWAYS, AS_MEASURED }; /* MPIACCEL_STREAMING_STORES */

static void begin_window(struct fill *f, uint64_t now)
{
    f->timed = 0;
    f->ticks = typical_begin();
    f->since = now;
}

struct fill fill_begin(void)
{
    struct fill f = {.around = config.streaming_stores == ALWAYS,
                     .window = FILL_WINDOW,
                     .measures = config.streaming_stores >= AS_MEASURED,
                     .patience = FILL_HURRY};
    begin_window(&f, sync_ticks());
    return f;
}

static void judge(struct fill *f, uint64_t now)
{
    f->best[f->around] = f->ticks.least;
    bool worth = f->best[false] > f->best[true] + FILL_GAIN;
    if (!f->around && worth) {
        f->around = true;
        f->until = now + f->patience * (now - f->since);
        f->patience = f->patience < FILL_PATIENCE ? 2 * f->patience : FILL_PATIENCE;
    } else if (!f->around) {
        f->patience = FILL_HURRY;
    } else if (!worth || now > f->until) {
        f->around = false;
    }
    begin_window(f, now);
}

void fill_took(struct fill *f, uint64_t ticks, size_t bytes, uint64_t now)
{
    if (!f->measures)
        return;
    if (f->timed >= f->window / 2)
        typical_add(&f->ticks, ticks * FILL_SAMPLE / bytes);
    if (++f->timed >= f->window)
        judge(f, now);
}

void fill_only(const struct fill *f, char *to, const char *from, size_t bytes)
{
    if (f->around)
        copy_stream(to, from, bytes);
    else
        copy_to_peers(to, from, bytes);
}

static bool is_timed(struct fill *f, size_t bytes)
{
    return bytes > FILL_SHORT || f->fills++ % FILL_SELDOM == 0;
}

uint64_t fill_bytes(struct fill *f, char *to, const char *from, size_t bytes)
{
    bool timed = is_timed(f, bytes), around = f->around;
    uint64_t start = timed ? sync_ticks() : 0;
    fill_only(f, to, from, bytes);
    if (!timed)
        return 0;
    uint64_t now = sync_ticks();
    fill_took(f, now - start, bytes, now);
    return around ? 0 : now - start;
}
