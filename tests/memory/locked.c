/* A program that locks all its memory takes about as much memory as without the library: the holes
 * of the shared file are not filled (H26: no room). Run it with a short shared heap, so that a
 * failure does not take the memory of the machine.
 *
 *   before   before MPI_Init, now and in the future
 *   after    after MPI_Init: all memory of the program is locked
 *   limited  after MPI_Init, with a limit that does not permit it: nothing is locked
 */
#include "process_memory.h"
#include "test.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Whether the memory of a block is present, all of it. */
static bool is_present(char *block, size_t bytes)
{
    static unsigned char present[1 << 16];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = (char *)(((uintptr_t)block + page - 1) / page * page);
    size_t pages = (size_t)(block + bytes - at) / page, some = 0;
    CHECK(!mincore(at, pages * page, present), "mincore: %s", strerror(errno));
    for (size_t i = 0; i < pages; i++)
        some += present[i] & 1;
    return some == pages;
}

static void lock_after(void)
{
    size_t bytes = 8 << 20;
    char *block = malloc(bytes); /* never touched */
    bool locked = !mlockall(MCL_CURRENT | MCL_FUTURE);
    CHECK(!locked || is_present(block, bytes), "the program's memory is not present");
    CHECK(!locked || status_kib("VmLck:") >= 8192, "%ld KiB are locked", status_kib("VmLck:"));
    CHECK(!locked || status_kib("RssShmem:") < 500000, "%ld KiB", status_kib("RssShmem:"));
    CHECK(mlockall(MCL_ONFAULT) == -1 && errno == EINVAL, "%s", strerror(errno));
    munlockall();
    free(block);
}

static void lock_limited(void)
{
    struct rlimit before, limit;
    getrlimit(RLIMIT_MEMLOCK, &before);
    limit = (struct rlimit){before.rlim_cur < 1 << 20 ? before.rlim_cur : 1 << 20, before.rlim_max};
    CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit: %s", strerror(errno));
    uid_t user = geteuid();
    if (!user && seteuid(65534)) /* root has no limit */
        return;
    int result = mlockall(MCL_CURRENT | MCL_FUTURE), error = errno;
    CHECK(result == -1 && (error == ENOMEM || error == EPERM), "%d: %s", result, strerror(error));
    CHECK(!status_kib("VmLck:"), "%ld KiB are locked", status_kib("VmLck:"));
    CHECK(!seteuid(user) && !setrlimit(RLIMIT_MEMLOCK, &before), "%s", strerror(errno));
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "before";
    bool locked = !strcmp(when, "before") && !mlockall(MCL_CURRENT | MCL_FUTURE);
    test_begin(&argc, &argv);
    char *memory = window_memory(1 << 20);
    if (!strcmp(when, "after"))
        lock_after();
    if (!strcmp(when, "limited"))
        lock_limited();
    for (int i = 0; i < 10; i++)
        MPI_Bcast(memory, 1 << 20, MPI_CHAR, i % test_size, MPI_COMM_WORLD);
    CHECK(!locked || status_kib("RssShmem:") < 500000, "%ld KiB", status_kib("RssShmem:"));
    MPI_Free_mem(memory);
    return test_end();
}
