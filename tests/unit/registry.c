/* The registry of handles: an object is found until its handle is removed, by every thread, even if
 * the host reuses the handle for another object at once (H24: a freed handle or address comes back
 * for something else). */
#include "pmpi_wrap/registry.h"
#include "core/concurrency.h"
#include "tests/unit/unit.h"

#include <setjmp.h>

static struct registry registry = REGISTRY_INITIALIZER;
static unsigned rounds;

static struct entry *find(uintptr_t handle)
{
    return registry_find(&registry, handle);
}

static bool finds(uintptr_t handle, const void *object)
{
    struct entry *e = find(handle);
    return e ? e->object == object : !object;
}

/* Another handle with the same hash as `like`, `from` or above. */
static uintptr_t same_hash(uintptr_t like, uintptr_t from)
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
    ck_assert(finds(5, &a));
    ck_assert_uint_eq(find(5)->detail, 77);
    ck_assert_ptr_null(registry_remove(&registry, 6));
    ck_assert_ptr_eq(registry_remove(&registry, 5), &a);
    ck_assert_ptr_null(find(5));
    ck_assert_ptr_null(registry_remove(&registry, 5));
    ck_assert_ptr_nonnull(registry_add(&registry, 5, &b, 78)); /* MPICH reuses handles at once */
    ck_assert(finds(5, &b));
    ck_assert_uint_eq(find(5)->detail, 78);
    ck_assert_ptr_eq(registry_remove(&registry, 5), &b);
}
END_TEST

START_TEST(handles_with_the_same_hash_do_not_mix)
{
    int objects[5];
    uintptr_t handles[5] = {0xa0000000};
    for (int i = 1; i < 5; i++)
        handles[i] = same_hash(handles[0], handles[i - 1] + 1);
    for (int i = 0; i < 5; i++)
        ck_assert_ptr_nonnull(registry_add(&registry, handles[i], &objects[i], (uint32_t)i));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 5; i++)
            ck_assert(finds(handles[i], &objects[i]));
    ck_assert_ptr_eq(registry_remove(&registry, handles[2]), &objects[2]);
    ck_assert(finds(handles[2], NULL));
    for (int i = 0; i < 5; i++)
        ck_assert(i == 2 || finds(handles[i], &objects[i]));
    for (int i = 0; i < 5; i++)
        ck_assert_ptr_eq(registry_remove(&registry, handles[i]), i == 2 ? NULL : &objects[i]);
}
END_TEST

START_TEST(a_reused_entry_is_not_found_by_its_old_handle)
{
    int a, b;
    uintptr_t old = 0x1000, new = same_hash(old, 0x2000), apart = old + 1;
    registry_add(&registry, old, &a, 0);
    ck_assert(finds(old, &a));
    registry_remove(&registry, old);
    struct entry *e = registry_add(&registry, new, &b, 0);
    ck_assert(finds(old, NULL) && finds(new, &b));
    registry_remove(&registry, new);
    while (registry_hash(apart) == registry_hash(old))
        apart++;
    ck_assert_ptr_eq(registry_add(&registry, apart, &b, 0), e);
    ck_assert(finds(old, NULL) && finds(new, NULL) && finds(apart, &b));
    registry_remove(&registry, apart);
}
END_TEST

START_TEST(an_entry_that_is_not_in_use_is_found_by_no_handle)
{
    int a;
    uintptr_t like_zero = same_hash(0, 1);
    registry_add(&registry, like_zero, &a, 0);
    ck_assert(finds(like_zero, &a));
    registry_remove(&registry, like_zero);
    ck_assert(finds(like_zero, NULL) && finds(0, NULL));
}
END_TEST

/* Other threads find nothing under the handle. */
static void *find_in_another_thread(void *handle)
{
    return find(*(uintptr_t *)handle);
}

static bool others_find(uintptr_t handle)
{
    pthread_t thread;
    void *found;
    pthread_create(&thread, NULL, find_in_another_thread, &handle);
    pthread_join(thread, &found);
    return found;
}

/* A delete function that frees another object, while the host frees that of handle 5 */
static NOINLINE void fail_to_remove_another(const void *a, const void *b)
{
    ck_assert_ptr_eq(registry_begin_removal(&registry, 6), b);
    ck_assert(finds(5, a) && finds(6, b) && find(5)->detail == 77);
    ck_assert(!others_find(5) && !others_find(6));
    registry_cancel_removal(&registry, 6);
    ck_assert(finds(6, b) && find(6)->detail == 78 && others_find(6) && finds(5, a));
}

START_TEST(the_thread_that_removes_a_handle_finds_it_until_the_end)
{
    int a, b, c;
    registry_add(&registry, 5, &a, 77);
    registry_add(&registry, 6, &b, 78);
    ck_assert_ptr_eq(registry_begin_removal(&registry, 5), &a);
    fail_to_remove_another(&a, &b);
    ck_assert_ptr_eq(registry_end_removal(&registry, 5), &a);
    ck_assert(finds(5, NULL));

    ck_assert_ptr_null(registry_begin_removal(&registry, 7));
    registry_add(&registry, 7, &c, 79); /* a delete function uses the object for the first time */
    ck_assert(finds(7, &c) && !others_find(7));
    ck_assert_ptr_eq(registry_end_removal(&registry, 7), &c);
    ck_assert(finds(7, NULL));
    ck_assert_ptr_eq(registry_remove(&registry, 6), &b);
}
END_TEST

static jmp_buf before_removal;

static NOINLINE void begin_and_leave(uintptr_t handle)
{
    registry_begin_removal(&registry, handle);
    longjmp(before_removal, 1);
}

static void leave_removal(uintptr_t handle)
{
    if (!setjmp(before_removal))
        begin_and_leave(handle);
}

/* A call of the program from a deeper frame */
static NOINLINE void remove_deeper(uintptr_t handle, const void *object)
{
    volatile char deep[1024];
    deep[0] = 0;
    ck_assert_ptr_eq(registry_begin_removal(&registry, handle), object);
    ck_assert_ptr_eq(registry_end_removal(&registry, handle), object);
    ck_assert(finds(handle, NULL) && deep[0] == 0);
}

START_TEST(a_removal_that_an_error_handler_has_left_is_cancelled)
{
    int a, b, c;
    registry_add(&registry, 5, &a, 77);
    registry_add(&registry, 6, &b, 78);
    leave_removal(5);
    ck_assert(finds(5, &a) && find(5)->detail == 77); /* at once by the thread that has left it */
    ck_assert_ptr_eq(registry_begin_removal(&registry, 6), &b);
    ck_assert(others_find(5) && !registry_is_removing(&registry, 5));
    ck_assert_ptr_eq(registry_end_removal(&registry, 6), &b);

    leave_removal(5);
    remove_deeper(5, &a); /* in whatever frame the handle is removed */
    ck_assert_ptr_nonnull(registry_add(&registry, 5, &c, 79));
    ck_assert(finds(5, &c) && others_find(5));
    ck_assert_ptr_eq(registry_remove(&registry, 5), &c);

    for (int i = 0; i < 100; i++) /* no list grows */
        leave_removal(7);
    registry_add(&registry, 6, &b, 78);
    ck_assert_ptr_eq(registry_begin_removal(&registry, 6), &b);
    ck_assert(!others_find(6));
    ck_assert_ptr_eq(registry_end_removal(&registry, 6), &b);
}
END_TEST

START_TEST(any_order_of_calls_agrees_with_a_table)
{
    enum { HANDLES = 3000 };
    static char objects[HANDLES];
    static bool registered[HANDLES];
    struct chance c = {1};
    rounds = effort(200000);
    for (unsigned i = 0; i < rounds; i++) {
        unsigned h = below(&c, HANDLES);
        uintptr_t handle = 0x7f0000000000 + (uintptr_t)h * 64;
        INSIST(finds(handle, registered[h] ? &objects[h] : NULL), "handle %u", h);
        if (below(&c, 2))
            continue;
        if (registered[h])
            INSIST(registry_remove(&registry, handle) == &objects[h], "handle %u", h);
        else
            registry_add(&registry, handle, &objects[h], h);
        registered[h] = !registered[h];
    }
    for (unsigned h = 0; h < HANDLES; h++)
        registry_remove(&registry, 0x7f0000000000 + (uintptr_t)h * 64);
}
END_TEST

/* ---- threads ---- */

enum { LASTING = 8, FREE = 16 };
static uintptr_t lasting[LASTING], free_handles[FREE];
static int lasting_object[LASTING];

/* Handles that are free, for the next thread that creates an object, as in a host. */
static unsigned free_count;
static pthread_mutex_t host_mutex = PTHREAD_MUTEX_INITIALIZER;

static uintptr_t host_create(void)
{
    pthread_mutex_lock(&host_mutex);
    uintptr_t handle = free_handles[--free_count];
    pthread_mutex_unlock(&host_mutex);
    return handle;
}

static void host_free(uintptr_t handle)
{
    pthread_mutex_lock(&host_mutex);
    free_handles[free_count++] = handle;
    pthread_mutex_unlock(&host_mutex);
}

/* Each thread registers and removes objects under handles that another thread has just freed. Some
 * have the same hash as the lasting ones. */
static void create_use_and_free(unsigned me)
{
    struct chance c = {me};
    for (unsigned i = 0; i < rounds; i++) {
        uintptr_t handle = host_create();
        uint64_t object = any(&c);
        EXPECT(!find(handle), "a freed handle is still registered");
        EXPECT(registry_add(&registry, handle, &object, (uint32_t)i));
        for (int use = 0; use < 3; use++) {
            struct entry *e = find(handle);
            EXPECT(e && e->object == &object && e->detail == i);
            unsigned other = below(&c, LASTING);
            EXPECT(finds(lasting[other], &lasting_object[other]), "a lasting handle was lost");
        }
        EXPECT(registry_remove(&registry, handle) == &object);
        host_free(handle);
    }
}

START_TEST(threads_create_use_and_free_concurrently)
{
    for (unsigned i = 0; i < LASTING; i++) {
        lasting[i] = 0x44000000 + i;
        registry_add(&registry, lasting[i], &lasting_object[i], 0);
    }
    for (free_count = 0; free_count < FREE; free_count++)
        free_handles[free_count] =
            same_hash(lasting[free_count % LASTING], 0x84000000 + 100000 * free_count);
    rounds = effort(20000);
    thread_concurrent = true;
    for (unsigned size = 2; size <= 4; size++)
        as_ranks(size, create_use_and_free);
    thread_concurrent = false;
    for (unsigned i = 0; i < LASTING; i++)
        ck_assert_ptr_eq(registry_remove(&registry, lasting[i]), &lasting_object[i]);
}
END_TEST

UNIT_MAIN(a_handle_is_found_until_it_is_removed, handles_with_the_same_hash_do_not_mix,
          a_reused_entry_is_not_found_by_its_old_handle,
          an_entry_that_is_not_in_use_is_found_by_no_handle,
          the_thread_that_removes_a_handle_finds_it_until_the_end,
          a_removal_that_an_error_handler_has_left_is_cancelled,
          any_order_of_calls_agrees_with_a_table, threads_create_use_and_free_concurrently)
