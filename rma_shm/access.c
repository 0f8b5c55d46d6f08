#include "rma_shm/access.h"

#include "rma_shm/epoch.h"

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
