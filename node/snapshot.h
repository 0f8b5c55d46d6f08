/* Memory of a shared file as it was at a fork, for the child.
 *
 * The parent copies the memory before it forks, since what the child finds must not depend on what
 * the parent does afterwards, and the child moves the copy over the mapping. */
#ifndef MPIACCEL_SNAPSHOT_H
#define MPIACCEL_SNAPSHOT_H

#include "core/base.h"

/* Data of a file between two holes. The OS finds the end of an extent by going through all its
 * pages, so extents are kept from call to call. Begin with {0}. */
struct snapshot_extent {
    uint64_t start, end;
};

/* The next part of [position, position + size) of a file, from `*end` on, that is not a hole. Its
 * start and end are relative to `position`. False: there is none. Calls with the same extent
 * must have ascending positions. */
bool snapshot_next_data(int file, struct snapshot_extent *extent, uint64_t position, size_t size,
                        size_t *start, size_t *end);

/* An upper limit of the data in a part of a file that has `most` bytes. */
size_t snapshot_bytes(int file, size_t most);

/* Whether memory is left for a copy of so many bytes by each rank of the node, plus one. */
bool snapshot_has_room(size_t bytes);

/* Map private memory for a copy: new memory if `file` is -1, otherwise a part of `file`. NULL: no
 * memory. */
char *snapshot_map(int file, uint64_t position, size_t size);

/* Copy `size` bytes at `from`, which is mapped from this position of the file, but not the holes:
 * to read them would fill them. */
void snapshot_copy(int file, struct snapshot_extent *extent, uint64_t position, char *to,
                   const char *from, size_t size);

/* Replace the mapping at `old` by the one at `new`. False: `old` is unchanged, and `new` is
 * gone. */
bool snapshot_replace(char *old, char *new, size_t size);

#endif
