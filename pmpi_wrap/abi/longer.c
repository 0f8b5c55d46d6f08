/* A longer buffer than the program's, for a host that learns late what has been received.
 *
 * MPICH learns that a long message has been received from an answer of its receiver's. Answers that
 * find no place on their way stay there until the receiver calls the host again. By a barrier of
 * the host's they would have come, by ours they need not have: then messages are in the way that
 * the program knows to be received, at most a buffer full of them. Most long messages are not in
 * the host's buffer at all (bsend/late.h), but the first one to a rank is, and what has no room
 * elsewhere. So the host gets one of twice the length; a message that is longer than the program's
 * is refused by us.
 */
#include "alloc/arena.h"
#include "alloc/node.h"
#include "pmpi_wrap/abi/bsend.h"

#include <stdlib.h>
#include <sys/mman.h>

struct longer {
    void *buffer; /* the program's */
    MPI_Count size;
    size_t room_bytes;
    _Alignas(LAYOUT_PAGE) char room[];
};
static struct longer *_Atomic in_use; /* a process has one buffer */

/* The last one: the program's own buffer has its pages when it is attached again, and so should
 * this, unless it has too many. */
static struct longer *_Atomic spare;

static _Atomic bool others_have;

static void discard(struct longer *l)
{
    if (l->room_bytes > ARENA_KEEP)
        madvise(l->room, l->room_bytes / LAYOUT_PAGE * LAYOUT_PAGE, MADV_DONTNEED);
    free(atomic_exchange(&spare, l));
}

static struct longer *make(void *buffer, MPI_Count size)
{
    size_t bytes = 2 * (size_t)size;
    struct longer *l = atomic_exchange(&spare, NULL);
    if (!l || l->room_bytes < bytes) {
        free(l);
        if (posix_memalign((void **)&l, LAYOUT_PAGE, sizeof *l + bytes))
            return NULL;
        l->room_bytes = bytes;
    }
    l->buffer = buffer;
    l->size = size;
    return l;
}

void *longer_take(void *buffer, MPI_Count size, MPI_Count most)
{
    if (!HOST_LEARNS_LATE || !node.header || !buffer || size < MPI_BSEND_OVERHEAD ||
        size > most / 2)
        return NULL;
    struct longer *l = make(buffer, size);
    return l ? l->room : NULL;
}

static struct longer *of_room(void *room)
{
    return (struct longer *)((char *)room - offsetof(struct longer, room));
}

void longer_attached(void *room, int result)
{
    if (!room)
        return;
    struct longer *l = of_room(room);
    if (result == MPI_SUCCESS) {
        in_use = l;
        bsend_limit(others_have ? BSEND_NO_LIMIT : (uint64_t)l->size);
    } else {
        discard(l);
    }
}

void longer_others_attached(void)
{
    others_have = true;
    bsend_limit(BSEND_NO_LIMIT);
}

MPI_Count longer_give_back(void **buffer, MPI_Count size)
{
    struct longer *l = in_use;
    if (!l || *buffer != l->room)
        return size;
    in_use = NULL;
    *buffer = l->buffer;
    size = l->size;
    discard(l);
    return size;
}
