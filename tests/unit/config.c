/* The settings: each of them from the environment; what is wrong gives one warning and the default.
 */
#include "core/config.h"
#include "tests/unit/unit.h"

#include <string.h>

static unsigned warnings;
static char warned[600];

static void warn(const char *line)
{
    warnings++;
    snprintf(warned, sizeof warned, "%s", line);
    ck_assert_ptr_null(strchr(line, '\n'));
}

static struct config defaults;

static void read_env(const char *entry)
{
    static bool known;
    if (!known)
        defaults = config;
    known = true;
    char *environment[] = {"HOME=/", (char *)entry, "PATH=/bin", NULL};
    config = defaults;
    warnings = 0;
    config_read(environment, warn);
}

static void accept(const char *entry)
{
    read_env(entry);
    ck_assert_msg(!warnings, "%s: %s", entry, warned);
}

static void refuse(const char *entry)
{
    read_env(entry);
    ck_assert_msg(warnings == 1, "%s: %u warnings", entry, warnings);
    ck_assert_msg(!strncmp(warned, entry, strlen(entry) < 400 ? strlen(entry) : 400),
                  "the warning does not say what is wrong: %s", warned);
    ck_assert_msg(!memcmp(&config, &defaults, sizeof config), "%s changed something", entry);
}

/* ---- each setting, by its kind ---- */

static void check_SWITCH(const char *name, const bool *field)
{
    static const char *const bad[] = {"", "2", "yes", "01", "1 ", "-1", "on"};
    char entry[100];
    for (int value = 0; value < 2; value++) {
        snprintf(entry, sizeof entry, "%s=%d", name, value);
        accept(entry);
        ck_assert_msg(*field == value, "%s", entry);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(entry, sizeof entry, "%s=%s", name, bad[i]);
        refuse(entry);
    }
}

static void check_NUMBER(const char *name, const unsigned long *field)
{
    static const char *const bad[] = {"",   "-1", "3k", "x",
                                      " 3", "3 ", "+3", "99999999999999999999999"};
    char entry[100];
    for (unsigned long value = 0; value < 5; value++) {
        snprintf(entry, sizeof entry, "%s=%lu", name, value);
        accept(entry);
        ck_assert_msg(*field == value, "%s", entry);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(entry, sizeof entry, "%s=%s", name, bad[i]);
        refuse(entry);
    }
}

static const struct {
    const char *text;
    size_t bytes;
} sizes[] = {{"0", 0},
             {"1", 1},
             {"1000", 1000},
             {"1k", 1024},
             {"1K", 1024},
             {"64m", (size_t)64 << 20},
             {"3M", (size_t)3 << 20},
             {"2g", (size_t)2 << 30},
             {"7G", (size_t)7 << 30},
             {"1t", (size_t)1 << 40},
             {"16383T", (size_t)16383 << 40},
             {"18446744073709551615", SIZE_MAX}};
static const char *const no_sizes[] = {"",   "k",  "-1",   "1kb",       "1 k",
                                       "k1", "1x", "1.5g", "0x10",      "1m1",
                                       "mm", "1,", "1K ",  "16777216t", "18446744073709551616"};

static void check_SIZE(const char *name, const size_t *field)
{
    char entry[100];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(entry, sizeof entry, "%s=%s", name, sizes[i].text);
        accept(entry);
        ck_assert_msg(*field == sizes[i].bytes, "%s", entry);
    }
    for (size_t i = 0; i < sizeof no_sizes / sizeof *no_sizes; i++) {
        snprintf(entry, sizeof entry, "%s=%s", name, no_sizes[i]);
        refuse(entry);
    }
}

static void check_TEXT(const char *name, const char *const *field)
{
    static const char *const texts[] = {"1", "-", "a/b c=d.json"};
    char entry[100];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(entry, sizeof entry, "%s=%s", name, texts[i]);
        accept(entry);
        ck_assert_str_eq(*field, texts[i]);
    }
    for (int off = 0; off < 2; off++) {
        snprintf(entry, sizeof entry, "%s=%s", name, off ? "0" : "");
        accept(entry);
        ck_assert_ptr_null(*field);
    }
}

START_TEST(each_setting_is_read_as_its_kind)
{
#define SETTING(field, name, kind, standard, help) check_##kind(name, &config.field);
#include "core/settings.def"
#undef SETTING
}
END_TEST

START_TEST(a_size_is_a_number_and_a_unit)
{
    size_t bytes;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_msg(config_parse_size(sizes[i].text, &bytes), "%s", sizes[i].text);
        ck_assert_uint_eq(bytes, sizes[i].bytes);
    }
    bytes = 77;
    for (size_t i = 0; i < sizeof no_sizes / sizeof *no_sizes; i++) {
        ck_assert_msg(!config_parse_size(no_sizes[i], &bytes), "%s", no_sizes[i]);
        ck_assert_uint_eq(bytes, 77);
    }
}
END_TEST

/* ---- names ---- */

START_TEST(an_unknown_name_of_ours_is_warned_of)
{
    refuse("MPIACCEL_=1");
    refuse("MPIACCEL_STAT=1");
    refuse("MPIACCEL_STATSX=1");
    refuse("MPIACCEL_rma=0");
    char entry[3000] = "MPIACCEL_LONG=";
    memset(entry + 14, 'x', sizeof entry - 15);
    entry[sizeof entry - 1] = 0;
    refuse(entry);
}
END_TEST

START_TEST(names_of_others_are_none_of_our_business)
{
    static const char *const names[] = {
        "MPIACCELERATOR=x", "MPI=1", "xMPIACCEL=7", "MPIACCEL", "MPIACCEL_STATS",
        "mpiaccel=7",       "="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        accept(names[i]);
        ck_assert(!memcmp(&config, &defaults, sizeof config));
    }
}
END_TEST

START_TEST(every_wrong_entry_has_a_warning_of_its_own_and_good_ones_count)
{
    char *environment[] = {"MPIACCEL_RMA=x",        "MPIACCEL_VERBOSE=2", "MPIACCEL_NO=1",
                           "MPIACCEL_HEAP_SIZE=1z", "MPIACCEL=0",         NULL};
    read_env("X=");
    config_read(environment, warn);
    ck_assert_uint_eq(warnings, 3);
    ck_assert(config.rma && config.verbose == 2 && !config.enabled && !config.heap_size);
    config = defaults;
    config_read(environment, NULL); /* in silence */
    ck_assert(config.verbose == 2);
}
END_TEST

START_TEST(the_table_for_users_has_them_all)
{
    size_t count = 0;
#define SETTING(field, setting, standard_kind, value, text)        \
    ck_assert_str_eq(config_settings[count].name, setting);        \
    ck_assert_str_eq(config_settings[count].kind, #standard_kind); \
    ck_assert(*config_settings[count].help);                       \
    count++;
#include "core/settings.def"
#undef SETTING
    ck_assert_ptr_null(config_settings[count].name);
}
END_TEST

UNIT_MAIN(each_setting_is_read_as_its_kind, a_size_is_a_number_and_a_unit,
          an_unknown_name_of_ours_is_warned_of, names_of_others_are_none_of_our_business,
          every_wrong_entry_has_a_warning_of_its_own_and_good_ones_count,
          the_table_for_users_has_them_all)
