#include "core/timeline.h"

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Make one interval of two. */
static void coarsen(struct timeline *t)
{
    uint64_t first = t->first / 2, count = 0;
    for (uint64_t i = 0; i < t->count; i++) {
        uint64_t to = (t->first + i) / 2 - first; /* at most i */
        t->highest[to] = to < count ? higher(t->highest[to], t->highest[i]) : t->highest[i];
        count = to + 1;
    }
    t->interval *= 2;
    t->first = first;
    t->count = count;
}

void timeline_set(struct timeline *t, uint64_t now, uint64_t value)
{
    if (!t->interval)
        *t = (struct timeline){.interval = TIMELINE_SHORTEST_NS,
                               .first = now / TIMELINE_SHORTEST_NS};
    while (now / t->interval - t->first >= TIMELINE_LENGTH)
        coarsen(t);
    while (t->count <= now / t->interval - t->first)
        t->highest[t->count++] = t->current;
    t->current = value;
    t->highest[t->count - 1] = higher(t->highest[t->count - 1], value);
}

static uint64_t value_in(const struct timeline *t, uint64_t interval)
{
    if (interval < t->first)
        return 0;
    return interval - t->first < t->count ? t->highest[interval - t->first] : t->current;
}

static uint64_t begin_of(const struct timeline *a, const struct timeline *b)
{
    return a->first < b->first ? a->first : b->first;
}

static uint64_t end_of(const struct timeline *a, const struct timeline *b)
{
    return higher(a->first + a->count, b->first + b->count);
}

void timeline_add(struct timeline *sum, const struct timeline *more)
{
    struct timeline a = *sum, b = *more;
    if (!b.interval)
        return;
    if (!a.interval) {
        *sum = b;
        return;
    }
    while (a.interval != b.interval)
        coarsen(a.interval < b.interval ? &a : &b);
    while (end_of(&a, &b) - begin_of(&a, &b) > TIMELINE_LENGTH) {
        coarsen(&a);
        coarsen(&b);
    }
    *sum = (struct timeline){.interval = a.interval,
                             .first = begin_of(&a, &b),
                             .count = end_of(&a, &b) - begin_of(&a, &b),
                             .current = a.current + b.current};
    for (uint64_t i = 0; i < sum->count; i++)
        sum->highest[i] = value_in(&a, sum->first + i) + value_in(&b, sum->first + i);
}
