/* Threads of a child of fork register, although another thread of the parent was registering when
 * the process forked (H6: fork). */
#include "core/thread.c"

#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic bool is_locked;

static void *hold_the_lock(void *unused)
{
    pthread_mutex_lock(&mutex);
    is_locked = true;
    usleep(50000);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *attach(void *unused)
{
    thread_self();
    return unused;
}

/* How many threads are in the list, which must be complete. */
static unsigned listed(void)
{
    unsigned count = 0;
    for (struct thread_entry **e = &entries; *e; e = &(*e)->next, count++)
        EXPECT((*e)->link == e, "entry %u", count);
    return count;
}

static int start_a_thread(void)
{
    pthread_t thread;
    signal(SIGALRM, SIG_DFL); /* not Check's */
    alarm(10);                /* fails if a locked lock was inherited */
    pthread_create(&thread, NULL, attach, NULL);
    pthread_join(thread, NULL);
    return listed() == 1 ? 0 : 1;
}

START_TEST(a_child_of_fork_inherits_no_lock)
{
#if defined(__SANITIZE_ADDRESS__)
    return; /* the child may inherit a lock of the sanitizer's allocator */
#endif
    pthread_t thread;
    int status;
    thread_self();
    pthread_create(&thread, NULL, hold_the_lock, NULL);
    while (!is_locked)
        usleep(100);
    pid_t child = fork();
    if (!child)
        _exit(start_a_thread());
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert_int_eq(status, 0);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(listed(), 1);
    no_failures();
}
END_TEST

START_TEST(a_child_of_fork_has_no_inflight_slot)
{
    static struct inflight offered[INFLIGHT_SLOTS];
    int status;
    thread_offer_inflight(offered);
    thread_take_inflight(thread_self());
    ck_assert_ptr_nonnull(thread_self()->inflight);
    pid_t child = fork();
    if (!child) {
        bool had_none = !thread_self()->inflight;
        thread_take_inflight(thread_self());
        _exit(!had_none || thread_self()->inflight);
    }
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert_int_eq(status, 0);
    ck_assert_ptr_nonnull(thread_self()->inflight);
}
END_TEST

UNIT_MAIN(a_child_of_fork_inherits_no_lock, a_child_of_fork_has_no_inflight_slot)
