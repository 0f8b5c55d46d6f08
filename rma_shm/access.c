#include "rma_shm/access.h"

#include "node/node.h"
#include "rma_shm/epoch.h"

void win_keep_range(struct peer *peer, const struct attached_found *range)
{
    if (thread_concurrent)
        return;
    peer->base = node_at(range->position);
    peer->size = range->end - range->begin;
    peer->begin = range->begin;
    peer->sequence = range->sequence;
}

/* Find [disp + low, disp + high) in a dynamic window, where `disp` is an address of the target. */
static enum win_error locate_attached(struct win *win, uint32_t target, int64_t disp, ptrdiff_t low,
                                      ptrdiff_t high, char **at)
{
    struct attached_found range;
    uint64_t first = (uint64_t)disp + (uint64_t)low, end = (uint64_t)disp + (uint64_t)high;
    *at = node.base; /* for no data */
    if (first == end)
        return WIN_OK;
    struct peer *peer = &win->peer[target];
    uint64_t offset = first - peer->begin;
    if (offset < peer->size && end - first <= peer->size - offset) {
        *at = peer->base + offset - low;
        return WIN_OK;
    }
    enum attached_part part =
        end < first ? ATTACHED_NONE
                    : attached_find(win->attached->peer[target].table, first, end, &range);
    if (part != ATTACHED_ALL)
        return part == ATTACHED_NONE ? WIN_HOST : WIN_DIVIDED;
    *at = (char *)((uintptr_t)node.base + range.position - range.begin + (uint64_t)disp);
    win_keep_range(peer, &range);
    return WIN_OK;
}

enum win_error win_locate(struct win *win, int target, int64_t disp, ptrdiff_t low, ptrdiff_t high,
                          char **at)
{
    if ((uint32_t)target >= win->size)
        return WIN_ERR_RANK;
    struct peer *peer = &win->peer[target];
    if (peer->stamp != win->stamp) {
        enum win_error error = win_open_peer(win, (uint32_t)target);
        if (error)
            return error;
    }
    if (win->attached)
        return locate_attached(win, (uint32_t)target, disp, low, high, at);
    if (disp < 0)
        return WIN_ERR_DISP;
    int64_t offset, first, end;
    if (__builtin_mul_overflow(disp, peer->unit, &offset) ||
        __builtin_add_overflow(offset, low, &first) || __builtin_add_overflow(offset, high, &end))
        return WIN_ERR_RANGE;
    /* An empty range cannot be outside the window. */
    if (low != high && (first < 0 || (uint64_t)end > peer->size))
        return WIN_ERR_RANGE;
    *at = peer->base + offset;
    return WIN_OK;
}

enum win_error win_locate_data(struct win *win, int target, int64_t disp, const struct typemap *map,
                               size_t bytes, char **at)
{
    ptrdiff_t low = 0, high = 0;
    size_t copies = map->size ? bytes / map->size + (bytes % map->size != 0) : 0;
    if (!typemap_span(map, copies, &low, &high))
        return WIN_ERR_RANGE;
    return win_locate(win, target, disp, low, high, at);
}

enum win_error win_put(struct win *win, struct buffer origin, int target, int64_t disp,
                       struct buffer target_data)
{
    const struct typemap *from = typemap_to_move(origin.map),
                         *to = typemap_to_move(target_data.map);
    size_t bytes, capacity;
    if (!buffer_bytes(origin, &bytes) || !buffer_bytes(target_data, &capacity) || bytes > capacity)
        return WIN_ERR_LENGTH;
    char *at;
    enum win_error error = win_locate_data(win, target, disp, to, bytes, &at);
    if (error)
        return error;
    typemap_copy(at, to, origin.at, from, bytes);
    win_wrote(win);
    return WIN_OK;
}

enum win_error win_get(struct win *win, struct buffer origin, int target, int64_t disp,
                       struct buffer target_data)
{
    const struct typemap *to = typemap_to_move(origin.map),
                         *from = typemap_to_move(target_data.map);
    size_t bytes, capacity;
    if (!buffer_bytes(target_data, &bytes) || !buffer_bytes(origin, &capacity) || bytes > capacity)
        return WIN_ERR_LENGTH;
    char *at;
    enum win_error error = win_locate_data(win, target, disp, from, bytes, &at);
    if (error)
        return error;
    typemap_copy(origin.at, to, at, from, bytes);
    return WIN_OK;
}
