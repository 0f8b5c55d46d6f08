/* A library for RDMA keeps the physical pages of a message registered until it sees this process
 * unmap them, by munmap() or madvise(), which it intercepts, as this program does. A page that a
 * pipe refers to takes the place of a registered one here. When a shared window is freed and
 * another one has the same addresses, each rank must have seen that its part was unmapped, unless
 * the pages are still the same (H24: stale mappings). With an argument, the addresses must be the
 * same. */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WINDOWS = 4, LENGTH = 8 };
static const MPI_Aint SIZE = 1 << 20;

static char *part;               /* of this rank */
static bool forgotten, returned; /* `returned`: the same addresses */

static void note(const char *at, size_t size)
{
    forgotten |= part && at <= part + SIZE / 2 && at + size > part + SIZE / 2;
}

int munmap(void *at, size_t size)
{
    note(at, size);
    return (int)syscall(SYS_munmap, at, size);
}

int madvise(void *at, size_t size, int how)
{
    if (how == MADV_DONTNEED || how == MADV_REMOVE)
        note(at, size);
    return (int)syscall(SYS_madvise, at, size, how);
}

/* Whether the page to which the pipe refers is no longer that of the part. */
static bool was_replaced(const int ends[2], char content)
{
    char found[LENGTH];
    CHECK(read(ends[0], found, LENGTH) == LENGTH);
    return found[0] != content;
}

static void reuse(MPI_Comm node, int turn, const int ends[2])
{
    MPI_Win win;
    char *mine;
    MPI_Win_allocate_shared(SIZE, 1, MPI_INFO_NULL, node, &mine, &win);
    memset(mine, 'a' + turn, (size_t)SIZE);
    if (turn) {
        bool is_stale = was_replaced(ends, (char)('a' + turn)) && mine == part && !forgotten;
        returned |= mine == part;
        CHECK(!is_stale, "window %d", turn);
    }
    part = mine;
    forgotten = false;
    struct iovec middle = {part + SIZE / 2, LENGTH};
    CHECK(vmsplice(ends[1], &middle, 1, 0) == LENGTH);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Comm node;
    int ends[2];
    test_begin(&argc, &argv);
    CHECK(!pipe(ends));
    MPI_Comm_split(MPI_COMM_WORLD, test_rank / 2, test_rank, &node); /* MPIACCEL_NODE_SIZE=2 */
    for (int turn = 0; turn < WINDOWS; turn++)
        reuse(node, turn, ends);
    CHECK(returned || argc == 1);
    MPI_Comm_free(&node);
    return test_end();
}
