#include "core/sync.h"

#include "core/concurrency.h"
#include "core/wait_times.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool sync_oversubscribed;
static void (*progress)(void);
static void (*service)(void);
static struct sync_word *_Atomic host_mail; /* NULL: none, or Linux cannot wait for two words */
static _Atomic uint32_t *host_asleep;

/* ---- the time spent waiting ---- */

static _Atomic uint64_t time_waited[WAIT_KINDS];
static uint64_t first_ticks, first_ns; /* when this process was configured */

void sync_waited(enum wait_kind kind, uint64_t ticks)
{
    counter_add(&time_waited[kind], ticks);
}

uint64_t sync_waited_ticks(void)
{
    uint64_t ticks = 0;
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        ticks += atomic_load_explicit(&time_waited[kind], memory_order_relaxed);
    return ticks;
}

uint64_t sync_ns_of_ticks(uint64_t some)
{
    double ticks = (double)(sync_ticks() - first_ticks), ns = (double)(sync_now_ns() - first_ns);
    return (uint64_t)((double)some * (ticks > 0 ? ns / ticks : 0));
}

uint64_t sync_waited_ns(enum wait_kind kind)
{
    return sync_ns_of_ticks(atomic_load(&time_waited[kind]));
}

uint64_t sync_elapsed_ns(void)
{
    return first_ns ? sync_now_ns() - first_ns : 0;
}

uint64_t sync_yield_processor(void)
{
    uint64_t start = sync_ticks();
    sched_yield();
    uint64_t duration = sync_ticks() - start;
    sync_waited(WAITED_YIELDING, duration);
    return duration;
}

/* ---- set-up ---- */

void sync_configure(bool oversubscribed, void (*host_progress)(void))
{
    if (!first_ns) {
        first_ticks = sync_ticks();
        first_ns = sync_now_ns();
    }
    sync_oversubscribed = oversubscribed;
    progress = host_progress;
}

void sync_set_host_mail(struct sync_word *mail, _Atomic uint32_t *asleep)
{
    host_asleep = asleep;
    host_mail = mail;
}

void sync_set_service(void (*answer)(void))
{
    service = answer;
}

void sync_progress(void)
{
    if (progress)
        progress();
    if (service)
        service();
}

/* Whether a step of `ticks` has moved data: hosts do not tell. */
static bool step_has_moved_data(struct sync_due *due, uint64_t ticks, bool first)
{
    if (first)
        ticks /= COLD_STEP_RATIO;
    else if (!due->shortest_step || ticks < due->shortest_step)
        due->shortest_step = ticks;
    return ticks >= TICKS_OF_MOVING_STEP && due->shortest_step &&
           ticks / MOVING_STEP_RATIO >= due->shortest_step;
}

void sync_progress_if_due(struct sync_due *due)
{
    uint64_t now = sync_ticks();
    /* The difference is also large if the clock has gone back, for example after a suspend. */
    if (due->next - now <= TICKS_PER_PROGRESS_MAX)
        return;
    uint64_t late = now - due->next, steps = 1 + late / TICKS_PER_PROGRESS_MAX;
    uint64_t before = now, moved_at = 0, most = late / MOVING_SHARE;
    if (most > MOVING_TICKS_MAX)
        most = MOVING_TICKS_MAX;
    if (steps > STEPS_AT_ONCE)
        steps = STEPS_AT_ONCE;
    for (uint64_t step = 0; step < steps || (moved_at && before - now < most &&
                                             before - moved_at < TICKS_PER_PROGRESS_MAX);
         step++) {
        sync_progress();
        uint64_t after = sync_ticks();
        if (step_has_moved_data(due, after - before, step == 0))
            moved_at = after;
        before = after;
    }
    due->moves_data = moved_at;
    uint64_t pause = HOST_SHARE * (before - now);
    due->next = before + (pause < TICKS_PER_PROGRESS_MAX ? pause : TICKS_PER_PROGRESS_MAX);
}

void sync_yield_if_same(struct sync_seen *last, const void *at, uint64_t value)
{
    bool same = last->at == at && last->value == value;
    *last = (struct sync_seen){at, value};
    if (same && sync_oversubscribed)
        sync_yield_processor();
}

void sync_yield(void)
{
    sync_progress();
    if (sync_oversubscribed)
        sync_yield_processor();
}

uint64_t sync_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The pause between two loads of the awaited word. On an EPYC whose `pause` takes 38 ticks, a rank
 * that loaded the word after each one often saw the new value 1.5 us late; after two, never. See
 * decision 059. */
static inline void relax(void)
{
#if defined(__x86_64__)
    uint64_t start = sync_ticks();
    do
        __builtin_ia32_pause();
    while (sync_ticks() - start < ROUND_TICKS);
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

static long sleep_ns(uint32_t doublings, long most)
{
    long ns = (long)SLEEP_NS_MIN << (doublings < 8 ? doublings : 8);
    return ns < most ? ns : most;
}

static void futex_wait(struct sync_word *word, uint32_t seen, long ns)
{
    struct timespec limit = {.tv_nsec = ns};
    uint64_t start = sync_ticks();
    syscall(SYS_futex, &word->value, FUTEX_WAIT, seen, &limit, NULL, 0);
    sync_waited(WAITED_SLEEPING, sync_ticks() - start);
}

/* Sleep until a word no longer holds its value in `seen` or is woken, for `ns` at most. Returns
 * false if there is no futex_waitv(): in Linux before 5.16, in a container that forbids it, or if
 * this was built with older headers. */
static bool futex_wait_for_two(struct sync_word *word[2], const uint32_t seen[2], long ns)
{
#if defined(SYS_futex_waitv) && defined(FUTEX_32)
    struct futex_waitv waits[2] = {
        {.val = seen[0], .uaddr = (uintptr_t)&word[0]->value, .flags = FUTEX_32},
        {.val = seen[1], .uaddr = (uintptr_t)&word[1]->value, .flags = FUTEX_32}};
    uint64_t start = sync_ticks(), end = sync_now_ns() + (uint64_t)ns;
    struct timespec until = {.tv_sec = (time_t)(end / 1000000000u),
                             .tv_nsec = (long)(end % 1000000000u)};
    bool waited = syscall(SYS_futex_waitv, waits, 2, 0, &until, CLOCK_MONOTONIC) >= 0 ||
                  errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;
    sync_waited(WAITED_SLEEPING, sync_ticks() - start);
    return waited;
#else
    (void)word, (void)seen, (void)ns;
    return false;
#endif
}

/* Sleep on `word` and `mail`. Returns whether `mail` has changed. The progress step comes after
 * `sleepers` is incremented and before Linux compares the values: see pmpi_wrap/host_wait.h. */
static bool sleep_on_either(struct sync_word *word, uint32_t seen, struct sync_word *mail, long ns)
{
    _Atomic uint32_t *asleep = host_asleep;
    sync_announce_mail_sleep(mail, asleep);
    uint32_t mail_seen = sync_load(mail);
    sync_progress();
    if (!futex_wait_for_two((struct sync_word *[2]){word, mail}, (uint32_t[2]){seen, mail_seen},
                            ns))
        host_mail = NULL;
    bool mail_changed = sync_load(mail) != mail_seen;
    sync_end_mail_sleep(mail, asleep);
    return mail_changed;
}

/* Make progress, then sleep while `word` holds `seen`. Returns whether a message of the host was
 * announced meanwhile. */
static bool sleep_on(struct sync_word *word, uint32_t seen, long ns)
{
    struct sync_word *mail = atomic_load_explicit(&host_mail, memory_order_relaxed);
    bool announced = false;
    sync_announce_sleep(word);
    if (mail)
        announced = sleep_on_either(word, seen, mail, ns);
    else {
        sync_progress();
        futex_wait(word, seen, ns);
    }
    sync_end_sleep(word);
    return announced;
}

static void count_polling(struct sync_wait *wait)
{
    uint64_t now = sync_ticks();
    if (wait->last)
        sync_waited(WAITED_POLLING, now - wait->last);
    wait->last = now;
}

static _Atomic uint64_t shared_until; /* of any thread */

static bool should_spin(uint32_t round)
{
    if (round < SPIN_OVERSUBSCRIBED)
        return true;
    if (sync_oversubscribed || round >= SPIN)
        return false;
    uint64_t until = atomic_load_explicit(&shared_until, memory_order_relaxed);
    return !until || sync_ticks() >= until;
}

/* Return false when it is time to sleep. */
static bool spin_or_yield(struct sync_wait *wait)
{
    uint32_t round = wait->rounds++;
    bool spins = should_spin(round);
    uint32_t rounds = spins ? ROUNDS_PER_PROGRESS : YIELDS_PER_PROGRESS;
    if (round % rounds == rounds - 1) {
        sync_progress();
        if (spins)
            count_polling(wait);
    }
    if (spins) {
        relax();
        return true;
    }
    if (sync_oversubscribed && round >= SPIN_OVERSUBSCRIBED + YIELD_OVERSUBSCRIBED)
        return false;
    uint64_t duration = sync_yield_processor();
    wait->yield_was_long = duration >= YIELD_TICKS_LONG;
    wait->last = 0; /* the yield has been counted: the next count_polling() starts anew */
    if (duration > YIELD_TICKS_SHARED && duration < YIELD_TICKS_LONG)
        atomic_store_explicit(&shared_until, sync_ticks() + SHARED_TICKS, memory_order_relaxed);
    return true;
}

/* A long wait may end a little late, and should use little of the processor. */
static long longest_sleep(uint64_t waited_ns)
{
    uint64_t ns = waited_ns / 8;
    return ns < SLEEP_NS_MAX ? SLEEP_NS_MAX : ns < NAP_NS_MAX ? (long)ns : NAP_NS_MAX;
}

void sync_wait(struct sync_wait *wait, struct sync_word *word, uint32_t seen)
{
    if (spin_or_yield(wait))
        return;
    uint32_t sleeps = wait->rounds - (SPIN_OVERSUBSCRIBED + YIELD_OVERSUBSCRIBED);
    long ns = sleep_ns(sleeps, longest_sleep(sleeps * (uint64_t)SLEEP_NS_MAX));
    if (!sleep_on(word, seen, ns))
        return;
    sync_progress();
    /* More messages usually follow: an epoch on a window of the host takes several. So yield for a
     * while before the next sleep, but not to a thread that computes. */
    if (!wait->yield_was_long)
        wait->rounds = SPIN_OVERSUBSCRIBED;
}

void sync_sleep(struct sync_word *word, uint32_t seen, uint64_t waited_ns)
{
    sleep_on(word, seen, longest_sleep(waited_ns));
}

void sync_nap(struct sync_word *word, uint32_t seen, uint32_t naps)
{
    sync_announce_sleep(word);
    futex_wait(word, seen, sleep_ns(naps / NAPS_PER_DOUBLING, NAP_NS_MAX));
    sync_end_sleep(word);
}

void sync_wait_until_slow(struct sync_word *word, uint32_t goal)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t seen;
    while (!sync_reached(seen = sync_load(word), goal))
        sync_wait(&wait, word, seen);
}

void sync_pause(struct sync_wait *wait)
{
    if (spin_or_yield(wait))
        return;
    sync_progress();
    struct timespec ns = {.tv_nsec = SLEEP_NS_MIN};
    uint64_t start = sync_ticks();
    nanosleep(&ns, NULL);
    sync_waited(WAITED_SLEEPING, sync_ticks() - start);
}

void sync_wake_sleepers(struct sync_word *word)
{
    syscall(SYS_futex, &word->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
