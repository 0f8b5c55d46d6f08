/* The info of MPI_Alloc_mem, MPI_Win_allocate and (argument `shared`) MPI_Win_allocate_shared:
 * mpi_minimum_memory_alignment is honoured as far as memory suffices, for blocks of every size;
 * invalid values and other keys are ignored (MPI-4.0, 9.2, 12.2.2 and 12.2.3; H29: unusual
 * allocations). */
#include "test.h"

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return info;
}

static MPI_Info aligned(const char *value)
{
    return info_of("mpi_minimum_memory_alignment", value);
}

static void allocate(size_t size, MPI_Info info, size_t align)
{
    enum { TOGETHER = 5 };
    char *at[TOGETHER];
    for (int i = 0; i < TOGETHER; i++) {
        MPI_Alloc_mem((MPI_Aint)size, info, &at[i]);
        CHECK((uintptr_t)at[i] % align == 0, "%zu bytes at %p, not at a multiple of %zu", size,
              (void *)at[i], align);
        memset(at[i], i, size);
    }
    for (int i = 0; i < TOGETHER; i++) {
        for (size_t p = 0; p < size; p += 61)
            CHECK(at[i][p] == i, "byte %zu of piece %d: %d", p, i, at[i][p]);
        CHECK_CLASS(MPI_Free_mem(at[i]), MPI_SUCCESS);
    }
}

static void alignments(void)
{
    static const size_t sizes[] = {1, 24, 64, 100, 4096, 5000, 70000, 3000000};
    for (size_t align = 8; align <= (size_t)64 << 20; align *= 4) {
        char text[32];
        snprintf(text, sizeof text, "%zu", align);
        MPI_Info info = aligned(text);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            allocate(sizes[i], info, align);
        MPI_Info_free(&info);
    }
}

static void values_that_mean_nothing(void)
{
    static const char *const values[] = {
        "0",
        "1",
        "3",
        "48",
        "-64",
        "many",
        "1e3",
        "0x40",
        "100000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000048"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        MPI_Info info = aligned(values[i]);
        allocate(1000, info, 1);
        MPI_Info_free(&info);
    }
}

static void other_keys(void)
{
    char long_value[MPI_MAX_INFO_VAL];
    memset(long_value, 'x', sizeof long_value - 1);
    long_value[sizeof long_value - 1] = 0;
    MPI_Info info = info_of("tests_own_key", long_value);
    allocate(1000, info, 1);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
    allocate(1000, info, 4096);
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    allocate(1000, info, 1);
    MPI_Info_free(&info);
}

static void windows(void)
{
    MPI_Info info = aligned("65536");
    for (int i = 0; i < 3; i++) {
        char *base;
        MPI_Win win;
        MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &base, &win);
        CHECK((uintptr_t)base % 65536 == 0, "window at %p", (void *)base);
        MPI_Win_free(&win);
    }
    MPI_Info_free(&info);
}

/* Each part is aligned to at most a page if parts need not be contiguous; otherwise the first. */
static void shared_windows(const char *alignment, bool apart)
{
    size_t align = strtoul(alignment, NULL, 10);
    MPI_Info info = aligned(alignment);
    MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
    for (int i = 0; i < 3; i++) {
        char *base;
        MPI_Win win;
        MPI_Win_allocate_shared(100 + i * 70000, 1, info, MPI_COMM_WORLD, &base, &win);
        CHECK((test_rank && !apart) || (uintptr_t)base % align == 0, "part at %p", (void *)base);
        memset(base, test_rank, 100 + (size_t)i * 70000);
        MPI_Win_free(&win);
    }
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    if (argc > 1) {
        shared_windows("4096", true);
        shared_windows("65536", false);
        shared_windows("4194304", false);
        return test_end();
    }
    alignments();
    values_that_mean_nothing();
    other_keys();
    windows();
    return test_end();
}
