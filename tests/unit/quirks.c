/* The table of host quirks: rows apply to their host and to their versions, both ends included. The
 * source is included for its table. */
#include "pmpi_wrap/quirks.c"
#include "tests/unit/unit.h"

static uint32_t values[QUIRK_COUNT];

/* Looks up one row for 4.1.2 to 5.0.3 of the host "Open MPI". */
static uint32_t value_in_range(enum host_family family, const char *name, const char *version)
{
    const struct quirk_row row = {
        .quirk = QUIRK_BSEND_WAITS,
        .family = FAMILY_OPEN_MPI,
        .host = "Open MPI",
        .first = VERSION(4, 1, 2),
        .last = VERSION(5, 0, 3),
    };
    quirks_look_up(&row, 1, family, name, quirks_version(version), values);
    return values[QUIRK_BSEND_WAITS];
}

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

START_TEST(a_row_applies_inside_its_range)
{
    ck_assert_uint_eq(value_in_range(FAMILY_OPEN_MPI, "Open MPI", "4.1.4"), 1);
    ck_assert_uint_eq(value_in_range(FAMILY_OPEN_MPI, "Open MPI", "5.0.0"), 1);
}
END_TEST

START_TEST(a_row_applies_at_both_ends_of_its_range)
{
    ck_assert_uint_eq(value_in_range(FAMILY_OPEN_MPI, "Open MPI", "4.1.2"), 1);
    ck_assert_uint_eq(value_in_range(FAMILY_OPEN_MPI, "Open MPI", "5.0.3"), 1);
}
END_TEST

START_TEST(a_row_does_not_apply_outside_of_its_range)
{
    ck_assert_uint_eq(value_in_range(FAMILY_OPEN_MPI, "Open MPI", "4.1.1"), 0);
    ck_assert_uint_eq(value_in_range(FAMILY_OPEN_MPI, "Open MPI", "5.0.4"), 0);
    ck_assert_uint_eq(value_in_range(FAMILY_OPEN_MPI, "Open MPI", "3.1.3"), 0);
    ck_assert_uint_eq(value_in_range(FAMILY_OPEN_MPI, "Open MPI", "6.0.0"), 0);
}
END_TEST

START_TEST(a_row_applies_to_its_host_only)
{
    ck_assert_uint_eq(value_in_range(FAMILY_MPICH, "MPICH", "4.2.0"), 0);
    ck_assert_uint_eq(value_in_range(FAMILY_OPEN_MPI, "another", "4.1.4"), 0);
}
END_TEST

START_TEST(a_row_without_a_host_applies_to_its_family)
{
    const struct quirk_row row = {
        .quirk = QUIRK_EAGER_BYTES, .family = FAMILY_MPICH, .last = VERSION_LAST, .value = 77};
    quirks_look_up(&row, 1, FAMILY_MPICH, "Intel(R) MPI", quirks_version("2021.10"), values);
    ck_assert_uint_eq(values[QUIRK_EAGER_BYTES], 77);
    quirks_look_up(&row, 1, FAMILY_OPEN_MPI, "Open MPI", quirks_version("4.1.4"), values);
    ck_assert_uint_eq(values[QUIRK_EAGER_BYTES], 0);
}
END_TEST

START_TEST(a_lookup_replaces_the_values_of_an_earlier_one)
{
    quirks_open(FAMILY_OPEN_MPI, "Open MPI", "4.1.4");
    ck_assert_uint_eq(quirk(QUIRK_BSEND_WAITS), 1);
    ck_assert_uint_eq(quirk(QUIRK_BSEND_COMPLETES_LATE), 0);
    quirks_open(FAMILY_MPICH, "MPICH", "4.0.2");
    ck_assert_uint_eq(quirk(QUIRK_BSEND_WAITS), 0);
    ck_assert_uint_eq(quirk(QUIRK_BSEND_COMPLETES_LATE), 1);
}
END_TEST

START_TEST(old_data_of_persistent_sends_ends_with_open_mpi_6)
{
    quirks_open(FAMILY_OPEN_MPI, "Open MPI", "5.0.7");
    ck_assert_uint_eq(quirk(QUIRK_BSEND_INIT_SENDS_OLD_DATA), 1);
    quirks_open(FAMILY_OPEN_MPI, "Open MPI", "6.0.0rc2");
    ck_assert_uint_eq(quirk(QUIRK_BSEND_INIT_SENDS_OLD_DATA), 0);
}
END_TEST

START_TEST(every_row_is_complete)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_uint_lt(rows[i].quirk, QUIRK_COUNT);
        ck_assert_uint_le(rows[i].first, rows[i].last);
        ck_assert_int_ne(rows[i].family, FAMILY_UNKNOWN);
        ck_assert_ptr_nonnull(rows[i].reason);
    }
    for (enum host_family f = FAMILY_UNKNOWN + 1; f <= FAMILY_MPICH; f++) {
        quirks_open(f, "any", "1.0");
        ck_assert_msg(quirk(QUIRK_EAGER_BYTES), "no QUIRK_EAGER_BYTES for family %d", (int)f);
    }
}
END_TEST

UNIT_MAIN(versions_are_ordered_as_numbers, a_row_applies_inside_its_range,
          a_row_applies_at_both_ends_of_its_range, a_row_does_not_apply_outside_of_its_range,
          a_row_applies_to_its_host_only, a_row_without_a_host_applies_to_its_family,
          a_lookup_replaces_the_values_of_an_earlier_one,
          old_data_of_persistent_sends_ends_with_open_mpi_6, every_row_is_complete)
