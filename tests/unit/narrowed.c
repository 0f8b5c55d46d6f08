/* For hosts without large counts, each exported call that has them is performed by the call with
 * counts of type int. */
#include "tests/unit/unit.h"

#include "pmpi_wrap/abi/host_api.h"
#include "pmpi_wrap/call_types.h"
#include "pmpi_wrap/calls.c"

struct host_functions host;
#include "pmpi_wrap/abi/narrowed_arrays.c"
#undef NEXT
#include "pmpi_wrap/narrowed.c"

/* ---- the program's calls ---- */

static const char *called;
static long passed[13];

/* The names differ from those that narrowed_arrays.c has declared with other types. */
#define STUB(prefix, name, n)                                   \
    long stub_##prefix##name(TYPES_##n) __asm__(#prefix #name); \
    long stub_##prefix##name(TYPES_##n)                         \
    {                                                           \
        const long all[] = {NAMES_##n};                         \
        memcpy(passed, all, sizeof all);                        \
        called = #prefix #name;                                 \
        return 0;                                               \
    }
#define CALL(name, n) STUB(MPI_, name, n) STUB(PMPI_, name, n)
#include "pmpi_wrap/calls.def"

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), of_end = strlen(end);
    return length > of_end && !strcmp(text + length - of_end, end);
}

/* The buffers of communicators and sessions are of MPI-4.1, and of no host that lacks large
 * counts. */
START_TEST(no_call_is_missing)
{
    unsigned found = 0;
    for (int call = 0; call < CALL_COUNT; call++) {
        const char *name = call_names[call];
        if (!ends_with(name, "_c") || ends_with(name, "attach_buffer_c"))
            continue;
        ck_assert_msg(!narrowed_of((enum call)call) != !narrowed_arrays_of((enum call)call), "%s",
                      name);
        found++;
    }
    ck_assert_uint_gt(found, 40);
}
END_TEST

/* Between one and three arguments become -1; all others are passed on. */
START_TEST(large_counts_become_invalid)
{
    typedef long any_fn(TYPES_13);
    for (int call = 0; call < CALL_COUNT; call++) {
        any_fn *narrowed = (any_fn *)narrowed_of((enum call)call);
        if (!narrowed || call == CALL_Comm_idup_with_info)
            continue;
        long large = 1L << 40, other = 0, invalid = 0;
        memset(passed, 0, sizeof passed);
        narrowed(large, large, large, large, large, large, large, large, large, large, large, large,
                 large);
        const char *name = call_names[call];
        ck_assert_msg(!strncmp(called, name, strlen(name) - 2), "%s calls %s", name, called);
        ck_assert_uint_eq(strlen(called), strlen(name) - 2);
        for (int i = 0; i < 13; i++) {
            invalid += passed[i] == -1;
            other += passed[i] && passed[i] != -1 && passed[i] != large;
        }
        ck_assert_msg(invalid >= 1 && invalid <= 3 && !other, "%s", name);
    }
}
END_TEST

UNIT_MAIN(no_call_is_missing, large_counts_become_invalid)
