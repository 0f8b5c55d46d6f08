/* The size of the symmetric heap as set in the environment (OpenSHMEM 1.5, environment variables).
 * The heap itself is tested with MPI (tests/shmem). */
#include "alloc/symmetric.c"
#include "tests/unit/unit.h"

static size_t size_of(const char *text)
{
    size_t bytes = 12345;
    ck_assert_msg(parse(text, &bytes), "%s", text);
    return bytes;
}

START_TEST(sizes_are_rounded_up)
{
    ck_assert_uint_eq(size_of("1000"), 1000);
    ck_assert_uint_eq(size_of("20m"), 20971520);
    ck_assert_uint_eq(size_of("3.1M"), 3250586);
    ck_assert_uint_eq(size_of(".5m"), 524288);
    ck_assert_uint_eq(size_of("0.5m"), 524288);
    ck_assert_uint_eq(size_of("2K"), 2048);
    ck_assert_uint_eq(size_of("3g"), (size_t)3 << 30);
    ck_assert_uint_eq(size_of("1T"), (size_t)1 << 40);
    ck_assert_uint_eq(size_of("0"), 0);
    ck_assert_uint_eq(size_of("1.5"), 2);
}
END_TEST

START_TEST(text_after_the_unit_is_ignored)
{
    ck_assert_uint_eq(size_of("20kk"), 20480);
    ck_assert_uint_eq(size_of("2MiB"), 2097152);
}
END_TEST

START_TEST(text_that_is_not_a_size_is_refused)
{
    static const char *const wrong[] = {"",     "m",    "many", "-1",  "-1m", "12x",
                                        "12 m", "1e30", "nan",  "inf", "200t"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t bytes = 12345;
        ck_assert_msg(!parse(wrong[i], &bytes) && bytes == 12345, "%s", wrong[i]);
    }
}
END_TEST

/* The newest name of the variable takes precedence; a value that is not a size is skipped. */
START_TEST(the_first_name_counts)
{
    size_t bytes = 0;
    ck_assert_ptr_null(named_variable(&bytes));
    ck_assert_uint_eq(symmetric_wanted(), 0);
    setenv("SMA_SYMMETRIC_SIZE", "1m", 1);
    ck_assert_str_eq(named_variable(&bytes), "SMA_SYMMETRIC_SIZE");
    ck_assert_uint_eq(bytes, 1048576);
    setenv("SHMEM_SYMMETRIC_SIZE", "2m", 1);
    ck_assert_str_eq(named_variable(&bytes), "SHMEM_SYMMETRIC_SIZE");
    ck_assert_uint_eq(bytes, 2097152);
    setenv("SHMEM_SYMMETRIC_HEAP_SIZE", "3m", 1);
    ck_assert_str_eq(named_variable(&bytes), "SHMEM_SYMMETRIC_HEAP_SIZE");
    ck_assert_uint_eq(bytes, 3145728);
    ck_assert_uint_ge(symmetric_wanted(), 3145728 + 3145728 / 4);
    setenv("SHMEM_SYMMETRIC_HEAP_SIZE", "much", 1);
    ck_assert_str_eq(named_variable(&bytes), "SHMEM_SYMMETRIC_SIZE");
    setenv("SHMEM_SYMMETRIC_SIZE", "0", 1);
    ck_assert_str_eq(named_variable(&bytes), "SHMEM_SYMMETRIC_SIZE");
    ck_assert_uint_eq(bytes, 0);
}
END_TEST

UNIT_MAIN(sizes_are_rounded_up, text_after_the_unit_is_ignored, text_that_is_not_a_size_is_refused,
          the_first_name_counts)
