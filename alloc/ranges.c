#include "alloc/ranges.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool make_room_for_range(struct ranges *r)
{
    if (r->list && r->count < r->room)
        return true;
    size_t room = r->room ? 2 * r->room : 64;
    struct range *list = reallocarray(r->list, room, sizeof *list);
    if (!list)
        return false;
    r->list = list;
    r->room = room;
    return true;
}

static void insert(struct ranges *r, size_t i, struct range range)
{
    memmove(r->list + i + 1, r->list + i, (r->count++ - i) * sizeof *r->list);
    r->list[i] = range;
}

static void drop_range(struct ranges *r, size_t i)
{
    memmove(r->list + i, r->list + i + 1, (--r->count - i) * sizeof *r->list);
}

/* Whether the ranges are in order and do not touch. */
__attribute__((unused)) static bool valid(const struct ranges *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (!r->list[i].size ||
            (i && r->list[i - 1].start + r->list[i - 1].size >= r->list[i].start))
            return false;
    return r->count <= r->room;
}

/* The number of ranges before an address. */
static size_t count_before(const struct ranges *r, const char *address)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->list[middle].start < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool ranges_give(struct ranges *r, char *start, size_t size)
{
    if (!make_room_for_range(r))
        return false;
    size_t i = count_before(r, start);
    struct range *last = i ? &r->list[i - 1] : NULL;
    bool joins_last = last && last->start + last->size == start;
    bool joins_next = i < r->count && start + size == r->list[i].start;
    if (joins_last) {
        last->size += size;
        if (joins_next) {
            last->size += r->list[i].size;
            drop_range(r, i);
        }
    } else if (joins_next) {
        r->list[i].start = start;
        r->list[i].size += size;
    } else
        insert(r, i, (struct range){start, size});
    assert(valid(r));
    return true;
}

char *ranges_take(struct ranges *r, size_t size, size_t align)
{
    if (!make_room_for_range(r)) /* what is left of a range may be two ranges */
        return NULL;
    for (size_t i = 0; i < r->count; i++) {
        struct range *range = &r->list[i];
        char *start = (char *)round_up((uintptr_t)range->start, align);
        size_t head = (size_t)(start - range->start);
        if (head > range->size || range->size - head < size)
            continue;
        size_t tail = range->size - head - size;
        range->size = head;
        if (tail)
            insert(r, i + 1, (struct range){start + size, tail});
        if (!head)
            drop_range(r, i);
        assert(valid(r));
        return start;
    }
    return NULL;
}

char *ranges_take_last(struct ranges *r, const char *end)
{
    const struct range *last = r->count ? &r->list[r->count - 1] : NULL;
    if (!last || last->start + last->size != end)
        return NULL;
    r->count--;
    return last->start;
}
