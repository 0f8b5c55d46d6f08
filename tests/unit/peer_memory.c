/* Whether the OS permits access to the memory of a process is determined by reading its probe. */
#include "tests/unit/unit.h"

#include "core/peer_memory.h"
#include "core/sync.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROBES = 200 };

static uint64_t probes[PROBES];

static bool reaches(int pid, const uint64_t *at, uint64_t probe)
{
    return peer_memory_works(pid, (uint64_t)(uintptr_t)at, probe);
}

START_TEST(what_it_reads_must_be_right)
{
    static uint64_t right = UINT64_C(0x1234567890);
    uint64_t at;
    SKIP_UNLESS_PROCESS_VM_READV();
    ck_assert(!reaches(getpid(), &right, right + 1));
    ck_assert(!reaches(getpid(), NULL, right));
    ck_assert(reaches(getpid(), &right, right));
    ck_assert(!reaches(getpid(), &right, right + 1));
    uint64_t own = peer_memory_probe(&at);
    ck_assert(peer_memory_works(getpid(), at, own));
}
END_TEST

START_TEST(who_is_gone_is_out_of_reach)
{
    static uint64_t probe = UINT64_C(0x9876543210);
    SKIP_UNLESS_PROCESS_VM_READV();
    pid_t child = fork();
    if (!child)
        _exit(0);
    waitpid(child, NULL, 0);
    ck_assert(!reaches(child, &probe, probe));
    ck_assert(reaches(getpid(), &probe, probe));
}
END_TEST

/* The call returns late: otherwise this rank would report an error before the launcher reports how
 * the peer died. */
START_TEST(a_launcher_has_time_to_report_the_death_of_a_peer)
{
    static uint64_t probe = UINT64_C(0x1122334455);
    uint64_t found, second = 1000000000;
    SKIP_UNLESS_PROCESS_VM_READV();
    pid_t child = fork();
    if (!child) {
        pause();
        _exit(0);
    }
    ck_assert(reaches(child, &probe, probe));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    uint64_t start = sync_now_ns(), at = (uint64_t)(uintptr_t)&probe;
    ck_assert(!peer_memory_read(child, &found, at, sizeof found));
    ck_assert_uint_ge(sync_now_ns() - start, second);
    start = sync_now_ns();
    ck_assert(!peer_memory_read(getpid(), &found, 0, sizeof found));
    ck_assert_uint_lt(sync_now_ns() - start, second);
}
END_TEST

/* More probes than the cache has entries, so that many share an entry. */
START_TEST(each_is_its_own)
{
    SKIP_UNLESS_PROCESS_VM_READV();
    for (uint64_t i = 0; i < PROBES; i++)
        probes[i] = (i + 1) << 20;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < PROBES; i++) {
            int other = (i + 1) % PROBES;
            ck_assert(reaches(getpid(), &probes[i], probes[i]));
            ck_assert(round || other == 0 || !reaches(getpid(), &probes[i], probes[other]));
        }
}
END_TEST

UNIT_MAIN(what_it_reads_must_be_right, who_is_gone_is_out_of_reach,
          a_launcher_has_time_to_report_the_death_of_a_peer, each_is_its_own)
