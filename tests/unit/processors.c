/* Whether a node is oversubscribed: affinity, and the limits of cgroups in invented folders.
 */
#include "tests/unit/unit.h"

#include "tests/unit/cgroups.h"

#include <string.h>
#include <unistd.h>

/* The source of the module, for its static functions. */
#include "core/processors.c"

static struct processors read_invented(const char *own)
{
    struct processors mine;
    add(own, "own");
    processors_read(&mine);
    return mine;
}

/* ---- limits ---- */

START_TEST(the_lowest_limit_on_the_way_up_counts)
{
    begin();
    add("max 100000\n", "job/step/cpu.max");
    add("150000 100000\n", "job/cpu.max");
    add("400000 100000\n", "cpu.max");
    struct processors outer = read_invented("0::/job\n"), inner = read_invented("0::/job/step\n"),
                      other = read_invented("0::/elsewhere\n");
    ck_assert_uint_eq(outer.thousandths, 1500);
    ck_assert_uint_eq(inner.thousandths, 1500);
    ck_assert_uint_eq(inner.cgroup, outer.cgroup);
    ck_assert_uint_eq(other.thousandths, 4000);
    ck_assert_uint_ne(other.cgroup, outer.cgroup);
    end();
}
END_TEST

START_TEST(both_versions_of_cgroups_are_read)
{
    begin();
    add("50000\n", "cpu/a/cpu.cfs_quota_us");
    add("100000\n", "cpu/a/cpu.cfs_period_us");
    add("-1\n", "cpu/b/cpu.cfs_quota_us");
    add("100000\n", "cpu/b/cpu.cfs_period_us");
    ck_assert_uint_eq(read_invented("5:cpuset:/a\n4:cpu,cpuacct:/a\n0::/\n").thousandths, 500);
    ck_assert_uint_eq(read_invented("5:cpuset:/a\n4:cpuacct,cpu:/b\n").thousandths, 0);
    ck_assert_uint_eq(read_invented("5:cpuset:/a\n").thousandths, 0);
    end();
}
END_TEST

START_TEST(odd_files_are_no_limit)
{
    static const char *const odd[] = {"",    "max",      "0 100000",        "-5 100000", "100000",
                                      "x y", "100000 0", "1000000000000 1", "max max"};
    begin();
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        add(odd[i], "cpu.max");
        ck_assert_msg(read_invented("0::/\n").thousandths == 0, "%s", odd[i]);
    }
    add("1 1000000", "cpu.max");
    ck_assert_uint_eq(read_invented("0::/\n").thousandths, 1);
    ck_assert_uint_eq(read_invented("no colon\n:\n").thousandths, 0);
    unlink(cgroups);
    struct processors mine;
    processors_read(&mine);
    ck_assert_uint_eq(mine.thousandths, 0);
    ck_assert_uint_gt(thousandths_of(mine.mask), 0);
    add("", "own");
    end();
}
END_TEST

/* ---- shortage ---- */

static struct processors record[8];

static const struct processors *record_of(uint32_t rank)
{
    return &record[rank];
}

/* One argument for each rank: its processors as a bit mask. */
static struct shortage masks(uint32_t ranks, ...)
{
    va_list arguments;
    memset(record, 0, sizeof record);
    va_start(arguments, ranks);
    for (uint32_t i = 0; i < ranks; i++)
        record[i].mask[0] = va_arg(arguments, unsigned);
    va_end(arguments);
    return processors_shortage(ranks, record_of);
}

static bool is(struct shortage found, enum shortage_cause cause, uint32_t ranks, uint32_t part)
{
    return found.cause == cause && found.ranks == ranks && found.thousandths == part;
}

START_TEST(ranks_confined_to_few_processors_are_short)
{
    ck_assert(!masks(2, 3u, 3u).cause);
    ck_assert(is(masks(3, 3u, 3u, 3u), SHORTAGE_AFFINITY, 3, 2000));
    ck_assert(!masks(4, 1u, 2u, 4u, 8u).cause);
    /* Four processors for four ranks, but two ranks are bound to one of them. */
    ck_assert(is(masks(4, 1u, 1u, 4u, 8u), SHORTAGE_AFFINITY, 2, 1000));
    ck_assert(is(masks(4, 0xfu, 1u, 1u, 0xfu), SHORTAGE_AFFINITY, 2, 1000));
    ck_assert(is(masks(4, 3u, 1u, 2u, 3u), SHORTAGE_AFFINITY, 4, 2000));
    ck_assert(masks(4, 3u, 1u, 2u, 3u).confined);
    ck_assert(!masks(4, 1u, 2u, 4u, 8u).confined);
    ck_assert(!masks(1, 1u).cause);
    ck_assert(!masks(0).cause);
}
END_TEST

START_TEST(ranks_of_one_cgroup_share_its_limit)
{
    masks(3, 7u, 7u, 7u);
    for (uint32_t i = 0; i < 3; i++)
        record[i].cgroup = 5, record[i].thousandths = 2500;
    ck_assert(is(processors_shortage(3, record_of), SHORTAGE_QUOTA, 3, 2500));
    ck_assert(!processors_shortage(3, record_of).confined);
    record[1].cgroup = 6;
    ck_assert(!processors_shortage(3, record_of).cause);
    record[1].thousandths = 500;
    ck_assert(is(processors_shortage(3, record_of), SHORTAGE_QUOTA, 1, 500));
    record[1].mask[0] = record[2].mask[0] = 4;
    ck_assert(is(processors_shortage(3, record_of), SHORTAGE_AFFINITY, 2, 1000));
    record[1].thousandths = 400;
    ck_assert(is(processors_shortage(3, record_of), SHORTAGE_QUOTA, 1, 400));
    ck_assert(processors_shortage(3, record_of).confined);
}
END_TEST

START_TEST(the_description_says_how_many)
{
    char text[80];
    shortage_describe(&(struct shortage){SHORTAGE_AFFINITY, 4, 2000, false}, text, sizeof text);
    ck_assert_str_eq(text, "4 ranks share 2 processors");
    shortage_describe(&(struct shortage){SHORTAGE_AFFINITY, 2, 1000, false}, text, sizeof text);
    ck_assert_str_eq(text, "2 ranks share 1 processor");
    shortage_describe(&(struct shortage){SHORTAGE_QUOTA, 2, 1250, false}, text, sizeof text);
    ck_assert_str_eq(text, "2 ranks have a CPU quota of 1.25 processors");
}
END_TEST

UNIT_MAIN(the_lowest_limit_on_the_way_up_counts, both_versions_of_cgroups_are_read,
          odd_files_are_no_limit, ranks_confined_to_few_processors_are_short,
          ranks_of_one_cgroup_share_its_limit, the_description_says_how_many)
