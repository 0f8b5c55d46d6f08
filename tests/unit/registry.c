/* What is known of handles: found as long as the program has them, also when the host gives the
 * same handle to something else at once (H24), by any thread. */
#include "pmpi_wrap/registry.h"
#include "tests/unit/unit.h"

static struct registry registry = REGISTRY_INITIALIZER;
static unsigned rounds;

static struct entry *find(uintptr_t handle)
{
    return registry_find(&registry, handle);
}

static bool is(uintptr_t handle, const void *object)
{
    struct entry *e = find(handle);
    return e ? e->object == object : !object;
}

/* Another handle of the same chain and cache line as `like`. */
static uintptr_t same_slot(uintptr_t like, uintptr_t from)
{
    while (registry_hash(from) != registry_hash(like) || from == like)
        from++;
    return from;
}

START_TEST(a_handle_is_found_until_it_is_removed)
{
    int a, b;
    ck_assert_ptr_null(find(5));
    ck_assert_ptr_nonnull(registry_add(&registry, 5, &a, 77));
    ck_assert(is(5, &a));
    ck_assert_uint_eq(find(5)->detail, 77);
    ck_assert_ptr_null(registry_remove(&registry, 6));
    ck_assert_ptr_eq(registry_remove(&registry, 5), &a);
    ck_assert_ptr_null(find(5));
    ck_assert_ptr_null(registry_remove(&registry, 5));
    ck_assert_ptr_nonnull(registry_add(&registry, 5, &b, 78)); /* as MPICH does */
    ck_assert(is(5, &b));
    ck_assert_uint_eq(find(5)->detail, 78);
    ck_assert_ptr_eq(registry_remove(&registry, 5), &b);
}
END_TEST

START_TEST(handles_that_share_a_slot_do_not_mix)
{
    int objects[5];
    uintptr_t handles[5] = {0xa0000000};
    for (int i = 1; i < 5; i++)
        handles[i] = same_slot(handles[0], handles[i - 1] + 1);
    for (int i = 0; i < 5; i++)
        ck_assert_ptr_nonnull(registry_add(&registry, handles[i], &objects[i], (uint32_t)i));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 5; i++)
            ck_assert(is(handles[i], &objects[i]));
    ck_assert_ptr_eq(registry_remove(&registry, handles[2]), &objects[2]);
    ck_assert(is(handles[2], NULL));
    for (int i = 0; i < 5; i++)
        ck_assert(i == 2 || is(handles[i], &objects[i]));
    for (int i = 0; i < 5; i++)
        ck_assert_ptr_eq(registry_remove(&registry, handles[i]), i == 2 ? NULL : &objects[i]);
}
END_TEST

/* An entry that is used again for another handle must not answer for the old one. */
START_TEST(a_used_entry_does_not_answer_for_its_old_handle)
{
    int a, b;
    uintptr_t old = 0x1000, new = same_slot(old, 0x2000), apart = old + 1;
    registry_add(&registry, old, &a, 0);
    ck_assert(is(old, &a));
    registry_remove(&registry, old);
    struct entry *e = registry_add(&registry, new, &b, 0);
    ck_assert(is(old, NULL) && is(new, &b));
    registry_remove(&registry, new);
    while (registry_hash(apart) == registry_hash(old))
        apart++;
    ck_assert_ptr_eq(registry_add(&registry, apart, &b, 0), e);
    ck_assert(is(old, NULL) && is(new, NULL) && is(apart, &b));
    registry_remove(&registry, apart);
}
END_TEST

START_TEST(any_order_agrees_with_a_table)
{
    enum { HANDLES = 3000 };
    static char objects[HANDLES];
    static bool there[HANDLES];
    struct chance c = {1};
    rounds = effort(200000);
    for (unsigned i = 0; i < rounds; i++) {
        unsigned h = below(&c, HANDLES);
        uintptr_t handle = 0x7f0000000000 + (uintptr_t)h * 64;
        INSIST(is(handle, there[h] ? &objects[h] : NULL), "handle %u", h);
        if (below(&c, 2))
            continue;
        if (there[h])
            INSIST(registry_remove(&registry, handle) == &objects[h], "handle %u", h);
        else
            registry_add(&registry, handle, &objects[h], h);
        there[h] = !there[h];
    }
    for (unsigned h = 0; h < HANDLES; h++)
        registry_remove(&registry, 0x7f0000000000 + (uintptr_t)h * 64);
}
END_TEST

/* ---- threads ---- */

enum { LASTING = 8, FREE = 16 };
static uintptr_t lasting[LASTING], handed[FREE];
static int lasting_object[LASTING];

/* As a host would: handles that are free now, for whoever creates next. */
static unsigned free_count;
static pthread_mutex_t host_mutex = PTHREAD_MUTEX_INITIALIZER;

static uintptr_t host_create(void)
{
    pthread_mutex_lock(&host_mutex);
    uintptr_t handle = handed[--free_count];
    pthread_mutex_unlock(&host_mutex);
    return handle;
}

static void host_free(uintptr_t handle)
{
    pthread_mutex_lock(&host_mutex);
    handed[free_count++] = handle;
    pthread_mutex_unlock(&host_mutex);
}

/* Objects come and go under handles that another thread had a moment ago, some in the slots of
 * those that stay. */
static void create_use_and_free(unsigned me)
{
    struct chance c = {me};
    for (unsigned i = 0; i < rounds; i++) {
        uintptr_t handle = host_create();
        uint64_t object = any(&c);
        EXPECT(!find(handle), "a handle that was freed is still known");
        EXPECT(registry_add(&registry, handle, &object, (uint32_t)i));
        for (int use = 0; use < 3; use++) {
            struct entry *e = find(handle);
            EXPECT(e && e->object == &object && e->detail == i);
            unsigned other = below(&c, LASTING);
            EXPECT(is(lasting[other], &lasting_object[other]), "a handle that stays was lost");
        }
        EXPECT(registry_remove(&registry, handle) == &object);
        host_free(handle);
    }
}

START_TEST(threads_create_use_and_free_side_by_side)
{
    for (unsigned i = 0; i < LASTING; i++) {
        lasting[i] = 0x44000000 + i;
        registry_add(&registry, lasting[i], &lasting_object[i], 0);
    }
    for (free_count = 0; free_count < FREE; free_count++)
        handed[free_count] =
            same_slot(lasting[free_count % LASTING], 0x84000000 + 100000 * free_count);
    rounds = effort(20000);
    for (unsigned size = 2; size <= 4; size++)
        as_ranks(size, create_use_and_free);
    for (unsigned i = 0; i < LASTING; i++)
        ck_assert_ptr_eq(registry_remove(&registry, lasting[i]), &lasting_object[i]);
}
END_TEST

UNIT_MAIN(a_handle_is_found_until_it_is_removed, handles_that_share_a_slot_do_not_mix,
          a_used_entry_does_not_answer_for_its_old_handle, any_order_agrees_with_a_table,
          threads_create_use_and_free_side_by_side)
