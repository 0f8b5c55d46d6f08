/* The heap where the OS ignores a request to free pages, and reports success: memory is zero where
 * the allocator says so. Under QEMU this is so for all programs. */
#include "alloc/arena.h"
#include "node/memfd.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
enum { SLICE_MIB = 512, CONTROL_MIB = 16 };

/* In place of the C library's */
int madvise(void *at, size_t size, int advice)
{
    return advice == MADV_REMOVE ? 0 : (int)syscall(SYS_madvise, at, size, advice);
}

static char *map(size_t size)
{
    int file = memfd_create_sealed(size);
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    ck_assert_ptr_ne(at, MAP_FAILED);
    close(file);
    return at;
}

static void open_slice(void)
{
    static char *slice;
    if (slice)
        return;
    slice = map(SLICE_MIB * MIB);
    ck_assert(arena_open(slice, SLICE_MIB * MIB, CONTROL_MIB * MIB, SLICE_MIB * MIB));
}

static bool is_all(const unsigned char *at, size_t size, unsigned char byte)
{
    return at[0] == byte && !memcmp(at, at + 1, size - 1);
}

START_TEST(the_content_is_as_before)
{
    char *at = map(MIB);
    memset(at, 7, MIB);
    for (int i = 0; i < 2; i++)
        ck_assert(!memfd_punch(at, MIB));
    ck_assert(is_all((unsigned char *)at, MIB, 7));
    munmap(at, MIB);
}
END_TEST

START_TEST(control_memory_is_zeroed)
{
    enum { BLOCKS = 8 };
    unsigned char *block[BLOCKS];
    open_slice();
    for (unsigned round = 0; round < 8; round++) {
        size_t size = MIB >> round % 4;
        for (int i = 0; i < BLOCKS; i++) {
            ck_assert_ptr_nonnull(block[i] = arena_control_alloc(size));
            ck_assert(is_all(block[i], size, 0));
            memset(block[i], 0xee, size);
        }
        for (int i = 0; i < BLOCKS; i++)
            arena_control_free_written(block[i], size);
    }
}
END_TEST

START_TEST(a_block_is_cleared)
{
    const size_t size = 64 * MIB;
    open_slice();
    for (int i = 0; i < 3; i++) {
        unsigned char *at = arena_alloc(size, ARENA_GRAIN);
        ck_assert_ptr_nonnull(at);
        memset(at, 0xee, size);
        arena_clear(at, size);
        ck_assert(is_all(at, size, 0));
        memset(at, 0xee, size);
        ck_assert_int_eq(arena_free(at), ARENA_FREED);
    }
}
END_TEST

UNIT_MAIN(the_content_is_as_before, control_memory_is_zeroed, a_block_is_cleared)
