/* Copies of the data in a file with holes: what is copied, what it costs, and whether there is
 * memory. */
#include "node/snapshot.h"
#include "core/memory_left.h"
#include "node/memfd.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 65536, PAGES = 64, SIZE = PAGES * PAGE };

static int calls;
static bool reports_holes = true;

/* In place of the C library's */
off_t lseek(int file, off_t offset, int whence)
{
    calls++;
    if (!reports_holes && (whence == SEEK_DATA || whence == SEEK_HOLE)) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_lseek, file, offset, whence);
}

static int file;
static char *from, *to;

static bool has_data(int page)
{
    return page % 16 < 12;
}

static void begin(void)
{
    file = memfd_create_sealed(SIZE);
    from = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    to = snapshot_map(-1, 0, SIZE);
    ck_assert(from != MAP_FAILED && to);
    for (int i = 0; i < PAGES; i++)
        if (has_data(i))
            memset(from + i * PAGE, i + 1, PAGE);
    calls = 0;
}

static void end(void)
{
    munmap(from, SIZE);
    munmap(to, SIZE);
    close(file);
}

static bool is_copied(int page, int pages)
{
    for (char *at = to + page * PAGE, *last = at + pages * PAGE; at < last; at++)
        if (*at != from[at - to])
            return false;
    return true;
}

/* Copy parts of 1.5 pages, skipping every tenth. */
static void copy_parts(void)
{
    struct snapshot_extent extent = {0};
    size_t part = PAGE + PAGE / 2;
    for (size_t at = 0, i = 0; at < SIZE; at += part, i++)
        if (i % 10 != 9)
            snapshot_copy(file, &extent, at, to + at, from + at, min_size(part, SIZE - at));
    for (size_t at = 0, i = 0; at < SIZE; at += part, i++)
        for (size_t j = at; j < min_size(at + part, SIZE); j += 512)
            ck_assert_int_eq(to[j], i % 10 != 9 ? from[j] : 0);
}

START_TEST(data_are_copied_and_holes_stay_holes)
{
    struct stat before, after;
    begin();
    fstat(file, &before);
    struct snapshot_extent extent = {0};
    snapshot_copy(file, &extent, 0, to, from, SIZE);
    fstat(file, &after);
    ck_assert_int_eq(before.st_blocks, after.st_blocks);
    ck_assert(is_copied(0, PAGES));
    end();
}
END_TEST

/* Linux finds the end of an extent by going through its pages. If it did so for each part, the time
 * would grow with the square of their number. */
START_TEST(the_os_is_asked_once_for_each_extent)
{
    begin();
    copy_parts();
    ck_assert_int_le(calls, 2 * PAGES / 16 + 1);
    end();
}
END_TEST

START_TEST(all_is_data_where_the_os_reports_no_holes)
{
    begin();
    reports_holes = false;
    copy_parts();
    reports_holes = true;
    end();
}
END_TEST

START_TEST(a_part_of_a_file_may_be_mapped)
{
    begin();
    char *part = snapshot_map(file, PAGE, PAGE);
    ck_assert(part && part[0] == 2 && part[PAGE - 1] == 2);
    part[0] = 7;
    ck_assert_int_eq(from[PAGE], 2);
    munmap(part, PAGE);
    end();
}
END_TEST

/* The ranks of a node fork at about the same time, so the memory is for all of them. */
START_TEST(more_ranks_have_less_room)
{
    size_t left = memory_left();
    ck_assert_uint_ne(left, SIZE_MAX);
    clearenv();
    ck_assert(snapshot_has_room(left / 3));
    ck_assert(!snapshot_has_room(left));
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 1);
    ck_assert(snapshot_has_room(left / 20));
    ck_assert(!snapshot_has_room(left / 3));
}
END_TEST

UNIT_MAIN(data_are_copied_and_holes_stay_holes, the_os_is_asked_once_for_each_extent,
          all_is_data_where_the_os_reports_no_holes, a_part_of_a_file_may_be_mapped,
          more_ranks_have_less_room)
