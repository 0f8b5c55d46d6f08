/* Translation of MPI's arguments of collectives into those of coll_inplace/, and the ends of
 * calls. */
#ifndef MPIACCEL_ARGUMENTS_H
#define MPIACCEL_ARGUMENTS_H

#include "coll_inplace/coll.h"
#include "pmpi_wrap/abi/collectives/collectives.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/unseen_messages.h"

#include <assert.h>

/* Whether the address is not null, or need not be: there are no data, or the displacements of the
 * datatype are absolute addresses (MPI_BOTTOM). */
static inline bool has_address(const struct buffer *b, size_t bytes)
{
    return LIKELY(b->at != NULL) || !bytes || b->map->low;
}

/* Translate data into a buffer. False: the data are invalid, or too long for the address space. The
 * callers handle MPI_IN_PLACE where it is allowed. */
static inline bool translate(struct data d, struct buffer *b)
{
    size_t bytes;
    *b = (struct buffer){(char *)d.address, typemap_of_or_abort(d.type), (size_t)d.count};
    return d.count >= 0 && b->map && d.address != MPI_IN_PLACE && buffer_bytes(*b, &bytes) &&
           has_address(b, bytes);
}

/* Of data without elements whose datatype the host ignores. A rank that left the call to the host
 * because of that datatype would be the only rank to do so. */
static const struct typemap typemap_of_nothing = {.contiguous = true, .element = 1};

/* translate() for MPI_Bcast, in which some hosts ignore the datatype if there are no elements. */
static inline bool translate_bcast(struct data d, struct buffer *b)
{
    if (LIKELY(translate(d, b)))
        return true;
    *b = (struct buffer){.map = &typemap_of_nothing};
    return !d.count && quirk(QUIRK_IGNORES_TYPES_OF_EMPTY_BLOCKS);
}

HOT_INLINE bool blocks_are_valid(const struct blocks *b, uint32_t size)
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

/* Whether each block has an address if that of the buffer is null: an empty block needs none, and
 * displacements may be absolute (MPI_BOTTOM). */
static COLD bool blocks_have_addresses(const struct blocks *b, uint32_t size)
{
    for (uint32_t r = 0; r < size; r++) {
        struct buffer block = block_of(b, r);
        if (!has_address(&block, bytes_of(block)))
            return false;
    }
    return true;
}

/* The typemap of a block of MPI_Alltoallw. Some hosts ignore the datatypes of empty blocks. */
static inline const struct typemap *map_of_block(const struct blocks *b, uint32_t rank,
                                                 MPI_Datatype type)
{
    bool ignored = b->counts && !blocks_number(b, b->counts, rank) &&
                   quirk(QUIRK_IGNORES_TYPES_OF_EMPTY_BLOCKS);
    return ignored ? &typemap_of_nothing : typemap_of_or_abort(type);
}

/* Translate the blocks of all ranks. False: they are invalid. `maps`: room for the typemaps of
 * MPI_Alltoallw; NULL in the other calls. */
HOT_INLINE bool translate_blocks(const struct rank_blocks *all, uint32_t size, struct blocks *b,
                                 const struct typemap **maps)
{
    size_t bytes;
    *b = (struct blocks){.at = (char *)all->address,
                         .count = (size_t)all->count,
                         .counts = all->counts,
                         .displs = all->displs,
                         .wide = all->large_counts};
    if (all->types) {
        assert(maps);
        for (uint32_t r = 0; r < size; r++)
            maps[r] = map_of_block(b, r, all->types[r]);
        b->maps = maps;
    } else {
        b->map = typemap_of_or_abort(all->type);
    }
    if (all->address == MPI_IN_PLACE)
        return false;
    if (all->counts)
        return all->displs && blocks_are_valid(b, size) &&
               (LIKELY(b->at != NULL) || blocks_have_addresses(b, size));
    /* Blocks of equal counts are all valid if the first one is. */
    if (!b->map || all->count < 0)
        return false;
    struct buffer first = block_of(b, 0);
    return buffer_bytes(first, &bytes) && has_address(&first, bytes);
}

/* A datatype that this rank passes has not been committed, and the host would not notice. If this
 * rank left the call to the host, it would do so alone, since the other ranks take part here. So
 * commit the datatype, as the program should have. Returns whether it has been committed. */
bool commit_unchecked(MPI_Datatype type);

/* commit_unchecked() of those datatypes of a gather or scatter that the host does not check. */
bool commit_rooted(enum call call, bool is_root, MPI_Datatype own, MPI_Datatype all);

/* translate_blocks() of the blocks that each rank receives in an allgather. */
static inline bool translate_received(const struct rank_blocks *all, uint32_t size,
                                      struct blocks *b)
{
    return LIKELY(translate_blocks(all, size, b, NULL)) ||
           (commit_unchecked(all->type) && translate_blocks(all, size, b, NULL));
}

static inline size_t bytes_of_all(const struct team *t, const struct blocks *all)
{
    size_t bytes = 0;
    for (uint32_t r = 0; r < t->size; r++)
        bytes += bytes_of(block_of(all, r));
    return bytes;
}

/* ---- ends of calls ---- */

/* Leave the call to the host. Returns DEFERRED. */
int defer_call(enum call call, enum reason reason);

int report_coll_error(enum call call, MPI_Comm comm, enum coll_error error);

/* Count a call that is done, and report its error. */
static inline int finish_call(enum call call, MPI_Comm comm, enum coll_error error, size_t bytes)
{
    if (UNLIKELY(error & COLL_LEFT))
        return defer_call(call, REASON_NO_MEMORY);
    note_unseen_messages();
    thread_count_collective(thread_self(), call, bytes);
    if (LIKELY(error == COLL_OK))
        return MPI_SUCCESS;
    return report_coll_error(call, comm, error);
}

#endif
