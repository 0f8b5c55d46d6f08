/* The arguments of collectives as the modules take them, and the ends of calls. */
#ifndef MPIACCEL_ARGUMENTS_H
#define MPIACCEL_ARGUMENTS_H

#include "coll_inplace/coll.h"
#include "pmpi_wrap/abi/coll.h"

#include <stdlib.h>

/* False: wrong, or more than there can be. */
static inline bool translate(struct data d, struct buffer *b)
{
    size_t bytes;
    *b = (struct buffer){(char *)d.at, typemap_of(d.type), (size_t)d.count};
    return d.count >= 0 && b->map && buffer_bytes(*b, &bytes);
}

enum { TYPES_ON_STACK = 32 };

/* The typemaps of the w kind, and room for a few of them. */
struct maps {
    const struct typemap **map, *few[TYPES_ON_STACK];
};

static inline void free_maps(struct maps *maps)
{
    if (maps->map != maps->few)
        free(maps->map);
}

HOT_INLINE bool blocks_are_good(const struct blocks *b, uint32_t size)
{
    size_t bytes;
    for (uint32_t r = 0; r < size; r++) {
        const struct typemap *map = b->maps ? b->maps[r] : b->map;
        if (!map || (b->counts && blocks_number(b, b->counts, r) < 0) ||
            !buffer_bytes(block_of(b, r), &bytes))
            return false;
    }
    return true;
}

/* The maps of the w kind. False: no memory. */
static inline bool find_maps(const struct all *a, uint32_t size, struct maps *maps)
{
    if (size > TYPES_ON_STACK)
        maps->map = malloc(size * sizeof *maps->map);
    for (uint32_t r = 0; maps->map && r < size; r++)
        maps->map[r] = typemap_of(a->types[r]);
    return maps->map;
}

/* False: wrong. With true the caller frees the maps. */
HOT_INLINE bool translate_all(const struct all *a, uint32_t size, struct blocks *b,
                                 struct maps *maps)
{
    size_t bytes;
    maps->map = maps->few;
    *b = (struct blocks){.at = (char *)a->at,
                         .count = (size_t)a->count,
                         .counts = a->counts,
                         .displs = a->displs,
                         .wide = a->wide};
    if (!a->types)
        b->map = typemap_of(a->type);
    else if (find_maps(a, size, maps))
        b->maps = maps->map;
    else
        return false;
    /* Without counts of their own all blocks are as good as one. */
    bool good = a->counts ? a->displs && blocks_are_good(b, size)
                          : b->map && a->count >= 0 && buffer_bytes(block_of(b, 0), &bytes);
    if (!good)
        free_maps(maps);
    return good;
}

static inline size_t bytes_of_all(const struct team *t, const struct blocks *all)
{
    size_t bytes = 0;
    for (uint32_t r = 0; r < t->size; r++)
        bytes += bytes_of(block_of(all, r));
    return bytes;
}

/* ---- ends of calls ---- */

/* The host will judge. Returns TO_HOST. */
int not_ours(enum call call, enum reason reason);

static inline int done(enum call call, MPI_Comm comm, enum coll_error error, size_t bytes)
{
    if (UNLIKELY(error & COLL_LEFT))
        return not_ours(call, REASON_NO_MEMORY);
    thread_count(thread_self(), call, bytes);
    if (LIKELY(error == COLL_OK))
        return MPI_SUCCESS;
    return report_on_comm(comm, error & COLL_UNREACHABLE ? MPI_ERR_OTHER
                                : error & COLL_NO_MEMORY ? MPI_ERR_NO_MEM
                                                         : MPI_ERR_TRUNCATE);
}

#endif
