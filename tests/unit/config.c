/* The settings: each is read from the environment; an invalid one causes one warning and its
 * default. */
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
    if (config.stats != defaults.stats)
        free((char *)config.stats);
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
                  "the warning does not name the entry: %s", warned);
    ck_assert_msg(!memcmp(&config, &defaults, sizeof config), "%s changed something", entry);
}

/* ---- each setting, by its kind ---- */

/* `values` ends with NULL. */
static void refuse_each(const char *name, const char *const *values)
{
    char entry[100];
    for (; *values; values++) {
        snprintf(entry, sizeof entry, "%s=%s", name, *values);
        refuse(entry);
    }
}

static void check_SWITCH(const char *name, const bool *field)
{
    static const char *const bad[] = {"", "2", "yes", "01", "1 ", "-1", "on", NULL};
    char entry[100];
    for (int value = 0; value < 2; value++) {
        snprintf(entry, sizeof entry, "%s=%d", name, value);
        accept(entry);
        ck_assert_msg(*field == value, "%s", entry);
    }
    refuse_each(name, bad);
}

static void check_CHOICE(const char *name, const unsigned long *field)
{
    static const char *const bad[] = {"", "3", "9", "-1", "02", "2 ", "x", NULL};
    char entry[100];
    for (unsigned long value = 0; value < 3; value++) {
        snprintf(entry, sizeof entry, "%s=%lu", name, value);
        accept(entry);
        ck_assert_msg(*field == value, "%s", entry);
    }
    refuse_each(name, bad);
}

static void check_COPIES(const char *name, const enum copies_setting *field)
{
    static const char *const good[] = {"auto", "os", "host", "shared", "streaming"};
    static const char *const bad[] = {"", "0", "1", "OS", "os ", "shared,host", "sharedx", NULL};
    char entry[100];
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(entry, sizeof entry, "%s=%s", name, good[i]);
        accept(entry);
        ck_assert_msg(*field == i, "%s", entry);
    }
    refuse_each(name, bad);
}

static void check_NUMBER(const char *name, const unsigned long *field)
{
    static const char *const bad[] = {
        "", "-1", "3k", "x", " 3", "3 ", "+3", "99999999999999999999999", NULL};
    char entry[100];
    for (unsigned long value = 0; value < 5; value++) {
        snprintf(entry, sizeof entry, "%s=%lu", name, value);
        accept(entry);
        ck_assert_msg(*field == value, "%s", entry);
    }
    refuse_each(name, bad);
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
static const char *const invalid_sizes[] = {
    "",   "k",  "-1",   "1kb",       "1 k",
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
    for (size_t i = 0; i < sizeof invalid_sizes / sizeof *invalid_sizes; i++) {
        snprintf(entry, sizeof entry, "%s=%s", name, invalid_sizes[i]);
        refuse(entry);
    }
}

static void check_TEXT(const char *name, const char *const *field)
{
    static const char *const texts[] = {"1", "-", "12", "a/b c=d.json", "./yes"};
    static const char *const bad[] = {"yes", "on", "TRUE", "False", "no", "off", "2", "9", NULL};
    char entry[100];
    refuse_each(name, bad);
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

static void check_WAIT(const char *name, const enum wait_setting *field)
{
    static const char *const ways[] = {"spin", "auto", "yield", "sleep"};
    static const char *const bad[] = {"", "0", "Sleep", "sleep ", "spinning", NULL};
    char entry[100];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(entry, sizeof entry, "%s=%s", name, ways[i]);
        accept(entry);
        ck_assert_uint_eq(*field, i);
    }
    refuse_each(name, bad);
}

START_TEST(each_setting_is_read_as_its_kind)
{
#define SETTING(field, name, kind, standard, help) check_##kind(name, &config.field);
#include "core/settings.def"
#undef SETTING
}
END_TEST

START_TEST(sizes_are_numbers_with_a_unit)
{
    size_t bytes;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_msg(config_parse_size(sizes[i].text, &bytes), "%s", sizes[i].text);
        ck_assert_uint_eq(bytes, sizes[i].bytes);
    }
    bytes = 77;
    for (size_t i = 0; i < sizeof invalid_sizes / sizeof *invalid_sizes; i++) {
        ck_assert_msg(!config_parse_size(invalid_sizes[i], &bytes), "%s", invalid_sizes[i]);
        ck_assert_uint_eq(bytes, 77);
    }
}
END_TEST

/* ---- names ---- */

START_TEST(an_unknown_name_with_our_prefix_causes_a_warning)
{
    refuse("MPIACCEL_=1");
    refuse("MPIACCEL_STAT=1");
    refuse("MPIACCEL_STATSX=1");
    refuse("MPIACCEL_rma=0");
    refuse("MPIACCEL_ROOTS=/opt");
    refuse("MPIACCEL_VER=1");
    char entry[3000] = "MPIACCEL_LONG=";
    memset(entry + 14, 'x', sizeof entry - 15);
    entry[sizeof entry - 1] = 0;
    refuse(entry);
}
END_TEST

START_TEST(other_names_are_ignored)
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

START_TEST(the_names_that_modules_set_for_a_package_are_ignored)
{
    static const char *const entries[] = {
        "MPIACCEL_ROOT=/opt",    "MPIACCEL_HOME=/opt", "MPIACCEL_DIR=/opt",
        "MPIACCEL_LIB=/opt/lib", "MPIACCEL_INC=",      "MPIACCEL_VERSION=0.3.0",
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        accept(entries[i]);
        ck_assert(!memcmp(&config, &defaults, sizeof config));
    }
}
END_TEST

START_TEST(each_invalid_entry_causes_a_warning_and_valid_ones_take_effect)
{
    char *environment[] = {"MPIACCEL_RMA=x",        "MPIACCEL_VERBOSE=2", "MPIACCEL_NO=1",
                           "MPIACCEL_HEAP_SIZE=1z", "MPIACCEL=0",         NULL};
    read_env("X=");
    config_read(environment, warn);
    ck_assert_uint_eq(warnings, 3);
    ck_assert(config.rma && config.verbose == 2 && !config.enabled && !config.heap_size);
    config = defaults;
    config_read(environment, NULL);
    ck_assert(config.verbose == 2);
}
END_TEST

START_TEST(there_may_be_no_list_of_variables) /* after clearenv() */
{
    config = defaults;
    config_read(NULL, warn);
    ck_assert(!memcmp(&config, &defaults, sizeof config));
}
END_TEST

START_TEST(the_table_for_users_is_complete)
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

UNIT_MAIN(each_setting_is_read_as_its_kind, sizes_are_numbers_with_a_unit,
          an_unknown_name_with_our_prefix_causes_a_warning, other_names_are_ignored,
          the_names_that_modules_set_for_a_package_are_ignored,
          each_invalid_entry_causes_a_warning_and_valid_ones_take_effect,
          there_may_be_no_list_of_variables, the_table_for_users_is_complete)
