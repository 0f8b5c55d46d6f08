/* The list of host quirks: they apply to their family and versions, both ends included. */
#include "pmpi_wrap/quirks.c"
#include "tests/unit/unit.h"

START_TEST(versions_are_ordered_as_numbers)
{
    ck_assert_uint_eq(quirks_version("4.1.4"), VERSION(4, 1, 4));
    ck_assert_uint_eq(quirks_version("6.0.0rc2"), VERSION(6, 0, 0));
    ck_assert_uint_eq(quirks_version("4.3.0a1"), VERSION(4, 3, 0));
    ck_assert_uint_eq(quirks_version("2021.10"), VERSION(2021, 10, 0));
    ck_assert_uint_eq(quirks_version("5"), VERSION(5, 0, 0));
    ck_assert_uint_eq(quirks_version(""), VERSION_FIRST);
    ck_assert_uint_lt(quirks_version("4.9.0"), quirks_version("4.10.0"));
    ck_assert_uint_lt(quirks_version("4.1.1000"), quirks_version("4.2.0"));
}
END_TEST

START_TEST(a_quirk_applies_to_its_versions)
{
    static const struct {
        const char *version;
        bool goes_to_world, needs_init;
    } cases[] = {{"3.4.3", false, false}, {"4.0.0", true, false},  {"4.0.255", true, false},
                 {"4.1.0", false, false}, {"4.9.9", false, false}, {"5.0.0", false, true},
                 {"9.0.0", false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        quirks_open(FAMILY_MPICH, cases[i].version);
        ck_assert_uint_eq(quirk(QUIRK_ERRORS_GO_TO_WORLD), cases[i].goes_to_world);
        ck_assert_uint_eq(quirk(QUIRK_REDUCE_LOCAL_NEEDS_INIT), 0);
        quirks_open(FAMILY_OPEN_MPI, cases[i].version);
        ck_assert_uint_eq(quirk(QUIRK_ERRORS_GO_TO_WORLD), 0);
        ck_assert_uint_eq(quirk(QUIRK_REDUCE_LOCAL_NEEDS_INIT), cases[i].needs_init);
    }
}
END_TEST

START_TEST(a_quirk_has_a_value_by_family)
{
    quirks_open(FAMILY_OPEN_MPI, "4.1.4");
    ck_assert_uint_eq(quirk(QUIRK_EAGER_BYTES), 4096);
    quirks_open(FAMILY_MPICH, "4.0.2");
    ck_assert_uint_eq(quirk(QUIRK_EAGER_BYTES), 8192);
}
END_TEST

START_TEST(a_lookup_replaces_the_values_of_an_earlier_one)
{
    quirks_open(FAMILY_OPEN_MPI, "4.1.4");
    ck_assert_uint_eq(quirk(QUIRK_BSEND_WAITS), 1);
    ck_assert_uint_eq(quirk(QUIRK_BSEND_COMPLETES_LATE), 0);
    quirks_open(FAMILY_MPICH, "4.0.2");
    ck_assert_uint_eq(quirk(QUIRK_BSEND_WAITS), 0);
    ck_assert_uint_eq(quirk(QUIRK_BSEND_COMPLETES_LATE), 1);
}
END_TEST

START_TEST(old_data_of_persistent_sends_ends_with_open_mpi_6)
{
    quirks_open(FAMILY_OPEN_MPI, "5.0.7");
    ck_assert_uint_eq(quirk(QUIRK_BSEND_INIT_SENDS_OLD_DATA), 1);
    quirks_open(FAMILY_OPEN_MPI, "6.0.0rc2");
    ck_assert_uint_eq(quirk(QUIRK_BSEND_INIT_SENDS_OLD_DATA), 0);
}
END_TEST

START_TEST(a_quirk_has_several_ranges_of_versions)
{
    static const char *const without[] = {"3.0.5", "3.1.0", "3.1.5", "4.0.0", "4.0.2"};
    static const char *const with[] = {"3.0.6", "3.1.6", "4.0.3", "4.1.4", "5.0.7"};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        quirks_open(FAMILY_OPEN_MPI, without[i]);
        ck_assert_uint_eq(quirk(QUIRK_EMPTY_PARTS_HAVE_ADDRESSES), 0);
        quirks_open(FAMILY_OPEN_MPI, with[i]);
        ck_assert_uint_eq(quirk(QUIRK_EMPTY_PARTS_HAVE_ADDRESSES), 1);
    }
}
END_TEST

START_TEST(every_family_has_an_eager_limit)
{
    for (enum host_family f = FAMILY_UNKNOWN + 1; f <= FAMILY_MPICH; f++) {
        quirks_open(f, "1.0");
        ck_assert_msg(quirk(QUIRK_EAGER_BYTES), "no QUIRK_EAGER_BYTES for family %d", (int)f);
    }
}
END_TEST

UNIT_MAIN(versions_are_ordered_as_numbers, a_quirk_applies_to_its_versions,
          a_quirk_has_a_value_by_family, a_lookup_replaces_the_values_of_an_earlier_one,
          a_quirk_has_several_ranges_of_versions, old_data_of_persistent_sends_ends_with_open_mpi_6,
          every_family_has_an_eager_limit)
