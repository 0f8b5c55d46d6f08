/* Put and get: the addresses they access, and the errors that they report without any access. */
#include "tests/unit/windows.h"

enum { ROOM = 4096, EDGE = 512 };

/* All parts are in one allocation, between margins that nobody may access. */
static char *ground;
static unsigned char expected[8 * ROOM];

static void lay_out(unsigned size, size_t bytes, int64_t unit)
{
    open_heap();
    ground = arena_alloc(sizeof expected, ARENA_GRAIN);
    memset(ground, 0x5a, sizeof expected);
    memset(expected, 0x5a, sizeof expected);
    for (unsigned r = 0; r < size; r++)
        part[r] = (struct part){ground + EDGE + r * ROOM, bytes, unit};
}

static void clear_away(unsigned size)
{
    as_ranks(size, leave_window);
    ck_assert_int_eq(arena_free(ground), ARENA_FREED);
}

static void expect_untouched(const char *what)
{
    INSIST(!memcmp(ground, expected, sizeof expected), "%s changed memory", what);
}

static void lock_everyone(unsigned size)
{
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(win_lock(view[0], WIN_SHARED, r), WIN_OK);
}

static void unlock_everyone(unsigned size)
{
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(win_unlock(view[0], r), WIN_OK);
}

static enum win_error put_bytes(int target, int64_t disp, size_t bytes)
{
    static unsigned char data[2 * ROOM];
    memset(data, 0xff, sizeof data);
    return win_put(view[0], buffer(data, BYTES, bytes), target, disp, buffer(NULL, BYTES, bytes));
}

static enum win_error get_bytes(int target, int64_t disp, size_t bytes)
{
    static unsigned char data[2 * ROOM];
    return win_get(view[0], buffer(data, BYTES, bytes), target, disp, buffer(NULL, BYTES, bytes));
}

/* Both win_at() and win_locate(), and both directions. */
static void expect_all(int target, int64_t disp, size_t bytes, enum win_error error)
{
    char *quick = win_at(view[0], target, disp, bytes);
    INSIST(error ? !quick : !bytes || quick != NULL, "win_at(%d, %jd, %zu)", target, (intmax_t)disp,
           bytes);
    INSIST(get_bytes(target, disp, bytes) == error, "get(%d, %jd, %zu)", target, (intmax_t)disp,
           bytes);
    if (!error)
        return;
    INSIST(put_bytes(target, disp, bytes) == error, "put(%d, %jd, %zu)", target, (intmax_t)disp,
           bytes);
    expect_untouched("a refused put");
}

START_TEST(accesses_beyond_a_window_are_refused)
{
    lay_out(3, 1000, 1);
    part[1].unit = 8;
    part[2].bytes = 0;
    part[2].base = NULL;
    create_window_over_parts(3);
    lock_everyone(3);
    expect_all(0, 0, 1000, WIN_OK);
    expect_all(0, 999, 1, WIN_OK);
    expect_all(0, 1000, 0, WIN_OK);
    expect_all(0, 1000, 1, WIN_ERR_RANGE);
    expect_all(0, 999, 2, WIN_ERR_RANGE);
    expect_all(0, 0, 1001, WIN_ERR_RANGE);
    expect_all(0, -1, 1, WIN_ERR_DISP);
    expect_all(0, INT64_MIN, 1, WIN_ERR_DISP);
    expect_all(0, INT64_MAX, 1, WIN_ERR_RANGE);
    expect_all(1, 124, 8, WIN_OK);
    expect_all(1, 124, 9, WIN_ERR_RANGE);
    expect_all(1, 125, 1, WIN_ERR_RANGE);
    expect_all(1, INT64_MAX / 8, 8, WIN_ERR_RANGE);
    expect_all(1, INT64_MAX / 8 + 1, 8, WIN_ERR_RANGE);
    expect_all(1, INT64_MAX, 8, WIN_ERR_RANGE);
    expect_all(1, INT64_C(1) << 61, 8, WIN_ERR_RANGE); /* 8 times this displacement wraps to 0 */
    expect_all(2, 0, 1, WIN_ERR_RANGE);
    expect_all(2, 0, 0, WIN_OK);
    expect_all(2, 5, 0, WIN_OK);
    expect_all(3, 0, 1, WIN_ERR_RANK);
    expect_all(-1, 0, 1, WIN_ERR_RANK);
    expect_all(INT32_MAX, 0, 1, WIN_ERR_RANK);
    unlock_everyone(3);
    clear_away(3);
}
END_TEST

START_TEST(operations_outside_an_epoch_are_refused)
{
    lay_out(2, 1000, 1);
    create_window_over_parts(2);
    expect_all(1, 0, 8, WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock(view[0], WIN_SHARED, 0), WIN_OK);
    expect_all(0, 0, 8, WIN_OK);
    expect_all(1, 0, 8, WIN_ERR_SYNC);
    ck_assert_int_eq(win_unlock(view[0], 0), WIN_OK);
    expect_all(0, 0, 8, WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock_all(view[0], false), WIN_OK);
    expect_all(1, 5000, 8, WIN_ERR_RANGE);
    ck_assert_int_eq(get_bytes(1, 0, 8), WIN_OK);
    ck_assert_int_eq(win_unlock_all(view[0]), WIN_OK);
    expect_all(1, 0, 8, WIN_ERR_SYNC);
    clear_away(2);
}
END_TEST

/* ---- against a model ---- */

/* Random puts and gets, valid and invalid, on parts of different sizes and units. Two parts
 * overlap. */
static void try_one(struct chance *c, unsigned size)
{
    unsigned target = below(c, size);
    struct part *p = &part[target];
    size_t bytes = below(c, 4) ? below(c, 40) : below(c, (unsigned)p->bytes + 20);
    int64_t disp = (int64_t)below(c, (unsigned)(p->bytes / (size_t)p->unit) + 3) - 1;
    bool good = disp >= 0 && (!bytes || (size_t)(disp * p->unit) + bytes <= p->bytes);
    enum win_error error = good ? WIN_OK : disp < 0 ? WIN_ERR_DISP : WIN_ERR_RANGE;
    size_t at = (size_t)(p->base - ground + disp * p->unit);
    unsigned char data[ROOM];
    if (below(c, 2)) {
        for (size_t i = 0; i < bytes; i++)
            data[i] = (unsigned char)any(c);
        INSIST(win_put(view[0], buffer(data, BYTES, bytes), (int)target, disp,
                       buffer(NULL, BYTES, bytes)) == error,
               "put of %zu bytes to %u at %jd", bytes, target, (intmax_t)disp);
        if (good && bytes)
            memcpy(expected + at, data, bytes);
    } else {
        memset(data, 0x77, sizeof data);
        INSIST(win_get(view[0], buffer(data, BYTES, bytes), (int)target, disp,
                       buffer(NULL, BYTES, bytes)) == error,
               "get of %zu bytes from %u at %jd", bytes, target, (intmax_t)disp);
        INSIST(good ? !bytes || !memcmp(data, expected + at, bytes) : data[0] == 0x77,
               "got wrong data");
    }
}

START_TEST(parts_of_any_size_and_unit_agree_with_a_model)
{
    enum { SIZE = 5 };
    struct chance c = {1};
    unsigned rounds = effort(60);
    for (unsigned round = 0; round < rounds; round++) {
        lay_out(SIZE, ROOM - 2 * EDGE, 1);
        for (unsigned r = 0; r < SIZE; r++) {
            part[r].unit = 1 + below(&c, 17);
            part[r].base += below(&c, 64);
            part[r].bytes = below(&c, 3) ? below(&c, ROOM - 2 * EDGE) : below(&c, 10);
        }
        part[4].base = part[3].base + 7;
        create_window_over_parts(SIZE);
        lock_everyone(SIZE);
        for (int i = 0; i < 300; i++)
            try_one(&c, SIZE);
        expect_untouched("somebody");
        unlock_everyone(SIZE);
        clear_away(SIZE);
    }
}
END_TEST

/* ---- datatypes ---- */

static struct typemap *columns(size_t blocks, ptrdiff_t stride, ptrdiff_t at)
{
    struct typemap *map = typemap_derived();
    for (size_t i = 0; i < blocks; i++)
        ck_assert(typemap_append(map, I32, at + (ptrdiff_t)i * stride, 1));
    ck_assert(typemap_end(map, (ptrdiff_t)blocks * stride));
    return map;
}

START_TEST(the_range_check_uses_the_bytes_of_the_datatype)
{
    lay_out(2, 100, 4);
    create_window_over_parts(2);
    lock_everyone(2);
    int32_t data[6] = {1, 2, 3, 4, 5, 6};
    struct buffer origin = buffer(data, I32, 3);
    struct typemap *up = columns(3, 40, 0), *down = columns(3, -40, 0), *late = columns(1, 40, 96);
    /* the last block ends at 84; the extent may reach beyond the window */
    ck_assert_int_eq(win_put(view[0], origin, 0, 4, buffer(NULL, up, 1)), WIN_OK);
    ck_assert_int_eq(win_put(view[0], origin, 0, 5, buffer(NULL, up, 1)), WIN_ERR_RANGE);
    ck_assert_int_eq(win_put(view[0], origin, 0, 20, buffer(NULL, down, 1)), WIN_OK);
    ck_assert_int_eq(win_put(view[0], origin, 0, 19, buffer(NULL, down, 1)), WIN_ERR_RANGE);
    ck_assert_int_eq(win_put(view[0], buffer(data, I32, 1), 0, 0, buffer(NULL, late, 1)), WIN_OK);
    ck_assert_int_eq(win_put(view[0], buffer(data, I32, 1), 0, 1, buffer(NULL, late, 1)),
                     WIN_ERR_RANGE);
    static const struct {
        size_t at;
        int32_t value;
    } written[] = {{16, 1}, {56, 2}, {96, 1}, {80, 1}, {40, 2}, {0, 3}};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        memcpy(expected + EDGE + written[i].at, &written[i].value, 4);
    expect_untouched("a layout");
    unlock_everyone(2);
    clear_away(2);
    typemap_free(up);
    typemap_free(down);
    typemap_free(late);
}
END_TEST

START_TEST(the_receiving_side_must_have_room)
{
    lay_out(2, 100, 1);
    create_window_over_parts(2);
    lock_everyone(2);
    int32_t data[4] = {1, 2, 3, 4};
    struct typemap *two = columns(2, 8, 0);
    ck_assert_int_eq(win_put(view[0], buffer(data, I32, 3), 0, 0, buffer(NULL, two, 1)),
                     WIN_ERR_LENGTH);
    ck_assert_int_eq(win_get(view[0], buffer(data, I32, 1), 0, 0, buffer(NULL, two, 1)),
                     WIN_ERR_LENGTH);
    ck_assert_int_eq(win_put(view[0], buffer(data, I32, SIZE_MAX / 2), 0, 0, buffer(NULL, two, 1)),
                     WIN_ERR_LENGTH);
    expect_untouched("a put without enough room");
    /* more room than data is no error, and the rest is not checked */
    ck_assert_int_eq(win_put(view[0], buffer(data, I32, 2), 0, 88, buffer(NULL, two, 50)), WIN_OK);
    memcpy(expected + EDGE + 88, &data[0], 4);
    memcpy(expected + EDGE + 96, &data[1], 4);
    expect_untouched("a put with enough room");
    unlock_everyone(2);
    clear_away(2);
    typemap_free(two);
}
END_TEST

/* ---- creating windows ---- */

START_TEST(a_window_is_fast_only_over_shared_memory)
{
    static char elsewhere[64];
    open_heap();
    struct win *win = win_prepare(2, 1);
    struct win_offer offer;
    win_offer(win, elsewhere, 64, 1, REASON_NONE, &offer);
    ck_assert_int_eq(offer.reason, REASON_NOT_OUR_MEMORY);
    win_offer(win, NULL, 0, 1, REASON_NONE, &offer);
    ck_assert_int_eq(offer.reason, REASON_NONE);
    win_offer(win, node.end - 64, 64, 1, REASON_NONE, &offer);
    ck_assert_int_eq(offer.reason, REASON_NONE);
    win_offer(win, node.end - 64, 65, 1, REASON_NONE, &offer);
    ck_assert_int_eq(offer.reason, REASON_NOT_OUR_MEMORY);
    win_offer(win, node.end - 64, SIZE_MAX, 1, REASON_NONE, &offer);
    ck_assert_int_eq(offer.reason, REASON_NOT_OUR_MEMORY);
    win_offer(win, node.base - 1, 2, 1, REASON_NONE, &offer);
    ck_assert_int_eq(offer.reason, REASON_NOT_OUR_MEMORY);
    win_offer(win, node.end - 64, 64, 1, REASON_DYNAMIC, &offer);
    ck_assert_int_eq(offer.reason, REASON_DYNAMIC);
    win_discard_prepared(win, &offer);
}
END_TEST

START_TEST(one_reason_of_one_rank_defers_the_window_of_all)
{
    open_heap();
    struct win_offer offers[3];
    struct win *win[3];
    uint64_t before = arena_use().live;
    for (unsigned r = 0; r < 3; r++) {
        win[r] = win_prepare(3, r);
        win_offer(win[r], NULL, 0, 1, r == 2 ? REASON_GPU : REASON_NONE, &offers[r]);
    }
    for (unsigned r = 0; r < 3; r++) {
        ck_assert_int_eq(win_settle(win[r], offers), REASON_GPU);
        win_discard_prepared(win[r], &offers[r]);
    }
    ck_assert_uint_eq(arena_use().live, before);
}
END_TEST

START_TEST(a_window_of_one_rank_accepts_any_memory)
{
    signed char memory[100] = {0};
    view[0] = win_prepare(1, 0);
    ck_assert(win_settle_alone(view[0]));
    win_open(view[0], 0, NULL, memory, sizeof memory, 2);
    ck_assert_int_eq(win_lock(view[0], WIN_EXCLUSIVE, 0), WIN_OK);
    ck_assert_int_eq(put_bytes(0, 49, 2), WIN_OK);
    ck_assert_int_eq(put_bytes(0, 49, 3), WIN_ERR_RANGE);
    ck_assert_int_eq(put_bytes(1, 0, 1), WIN_ERR_RANK);
    ck_assert_int_eq(memory[97], 0);
    ck_assert_int_eq(memory[98], -1);
    ck_assert_int_eq(memory[99], -1);
    ck_assert_int_eq(win_unlock(view[0], 0), WIN_OK);
    as_ranks(1, leave_window);
}
END_TEST

UNIT_MAIN(accesses_beyond_a_window_are_refused, operations_outside_an_epoch_are_refused,
          parts_of_any_size_and_unit_agree_with_a_model,
          the_range_check_uses_the_bytes_of_the_datatype, the_receiving_side_must_have_room,
          a_window_is_fast_only_over_shared_memory, one_reason_of_one_rank_defers_the_window_of_all,
          a_window_of_one_rank_accepts_any_memory)
