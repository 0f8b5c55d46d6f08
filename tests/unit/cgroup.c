/* The memory that is left where cgroups in invented folders limit it.
 */
#include "tests/unit/cgroups.h"

#include "core/memory_left.c"

static size_t left_in_invented(const char *own)
{
    add(own, "own");
    return memory_left();
}

/* All these limits are below the memory of any machine. */
START_TEST(the_cgroup_with_the_least_memory_left_counts)
{
    begin();
    add("9000000\n", "job/step/memory.max");
    add("1000000\n", "job/step/memory.current");
    add("5000000\n", "job/memory.max");
    add("3000000\n", "job/memory.current");
    add("max\n", "memory.max");
    add("3000000\n", "memory.current");
    ck_assert_uint_eq(left_in_invented("0::/job/step\n"), 2000000);
    add("9000000\n", "job/memory.max");
    ck_assert_uint_eq(left_in_invented("0::/job/step\n"), 6000000);
    add("8500000\n", "job/step/memory.current");
    ck_assert_uint_eq(left_in_invented("0::/job/step\n"), 500000);
    ck_assert_uint_gt(left_in_invented("0::/elsewhere\n"), 9000000);
    end();
}
END_TEST

START_TEST(cached_files_are_left)
{
    begin();
    add("9000000\n", "memory.max");
    add("9000100\n", "memory.current");
    ck_assert_uint_eq(left_in_invented("0::/\n"), 0);
    add("anon 1\ninactive_file 2000\nactive_file 300\ntotal_active_file 70000\n", "memory.stat");
    ck_assert_uint_eq(left_in_invented("0::/\n"), 2200);
    end();
}
END_TEST

START_TEST(version_1_is_read)
{
    begin();
    add("9000000\n", "memory/a/memory.limit_in_bytes");
    add("8000000\n", "memory/a/memory.usage_in_bytes");
    add("9223372036854771712\n", "memory/memory.limit_in_bytes");
    add("8000000\n", "memory/memory.usage_in_bytes");
    add("active_file 5\ntotal_inactive_file 2000\ntotal_active_file 300", "memory/a/memory.stat");
    add("total_inactive_file 1000000\n", "memory/memory.stat");
    ck_assert_uint_eq(left_in_invented("3:cpu,memory:/a\n0::/\n"), 1002300);
    ck_assert_uint_gt(left_in_invented("3:cpu,memory:/\n0::/\n"), 9000000);
    end();
}
END_TEST

START_TEST(long_lists_are_read)
{
    enum { LINES = 99, LENGTH = 101 };
    static char own[LINES * LENGTH + 32];
    begin();
    add("9000000\n", "memory/a/memory.limit_in_bytes");
    add("8000000\n", "memory/a/memory.usage_in_bytes");
    for (int i = 0; i < LINES; i++)
        sprintf(own + i * LENGTH, "10:other:/%0*d\n", LENGTH - 11, 0);
    strcat(own, "3:memory:/a\n0::/\n");
    ck_assert_uint_eq(left_in_invented(own), 1000000);
    end();
}
END_TEST

START_TEST(names_that_are_too_long_are_no_limit)
{
    char own[3000] = "0::/";
    begin();
    memset(own + 4, 'x', sizeof own - 5);
    ck_assert_uint_gt(left_in_invented(own), 9000000);
    ck_assert_str_eq(cgroup_innermost("memory").folder, "");
    end();
}
END_TEST

UNIT_MAIN(the_cgroup_with_the_least_memory_left_counts, cached_files_are_left, version_1_is_read,
          long_lists_are_read, names_that_are_too_long_are_no_limit)
