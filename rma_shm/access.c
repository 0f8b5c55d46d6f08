#include "rma_shm/access.h"

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
                       struct buffer there)
{
    const struct typemap *from = typemap_to_move(origin.map), *to = typemap_to_move(there.map);
    size_t bytes, room;
    if (!buffer_bytes(origin, &bytes) || !buffer_bytes(there, &room) || bytes > room)
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
                       struct buffer there)
{
    const struct typemap *to = typemap_to_move(origin.map), *from = typemap_to_move(there.map);
    size_t bytes, room;
    if (!buffer_bytes(there, &bytes) || !buffer_bytes(origin, &room) || bytes > room)
        return WIN_ERR_LENGTH;
    char *at;
    enum win_error error = win_locate_data(win, target, disp, from, bytes, &at);
    if (error)
        return error;
    typemap_copy(origin.at, to, at, from, bytes);
    return WIN_OK;
}
