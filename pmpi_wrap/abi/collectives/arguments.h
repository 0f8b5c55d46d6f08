/* The arguments of collectives as the modules take them, and the ends of calls. */
#ifndef MPIACCEL_ARGUMENTS_H
#define MPIACCEL_ARGUMENTS_H

#include "coll_inplace/coll.h"
#include "pmpi_wrap/abi/collectives/collectives.h"

/* For data of a collective: to leave it to the host alone would keep the other ranks waiting. NULL:
 * not a datatype, not committed. */
HOT_INLINE const struct typemap *map_of(MPI_Datatype type)
{
    struct entry *e = registry_find(&datatypes, BITS(type));
    return LIKELY(e != NULL) ? e->object : typemap_or_abort(type);
}

/* False: wrong, or more than there can be. */
static inline bool translate(struct data d, struct buffer *b)
{
    size_t bytes;
    *b = (struct buffer){(char *)d.at, map_of(d.type), (size_t)d.count};
    return d.count >= 0 && b->map && buffer_bytes(*b, &bytes);
}

/* The typemaps of the w kind. */
struct maps {
    const struct typemap *map[TEAM_RANKS_MAX];
};

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

/* False: wrong. `maps`: of the w kind; the others need none. */
HOT_INLINE bool translate_all(const struct all *a, uint32_t size, struct blocks *b,
                              struct maps *maps)
{
    size_t bytes;
    *b = (struct blocks){.at = (char *)a->at,
                         .count = (size_t)a->count,
                         .counts = a->counts,
                         .displs = a->displs,
                         .wide = a->wide};
    if (a->types) {
        for (uint32_t r = 0; r < size; r++)
            maps->map[r] = map_of(a->types[r]);
        b->maps = maps->map;
    } else {
        b->map = map_of(a->type);
    }
    /* Without counts of their own all blocks are as good as one. */
    return a->counts ? a->displs && blocks_are_good(b, size)
                     : b->map && a->count >= 0 && buffer_bytes(block_of(b, 0), &bytes);
}

static inline size_t bytes_of_all(const struct team *t, const struct blocks *all)
{
    size_t bytes = 0;
    for (uint32_t r = 0; r < t->size; r++)
        bytes += bytes_of(block_of(all, r));
    return bytes;
}

/* ---- ends of calls ---- */

/* The host will judge. Returns DEFERRED. */
int defer_call(enum call call, enum reason reason);

static inline int done(enum call call, MPI_Comm comm, enum coll_error error, size_t bytes)
{
    if (UNLIKELY(error & COLL_LEFT))
        return defer_call(call, REASON_NO_MEMORY);
    thread_count(thread_self(), call, bytes);
    if (LIKELY(error == COLL_OK))
        return MPI_SUCCESS;
    return report_on_comm(comm, error & COLL_UNREACHABLE ? MPI_ERR_OTHER
                                : error & COLL_NO_MEMORY ? MPI_ERR_NO_MEM
                                                         : MPI_ERR_TRUNCATE);
}

#endif
