/* Whose memory the kernel lets us read is found out by what is read there. */
#include "tests/unit/unit.h"

#include "alloc/peer_memory.h"

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
    pid_t child = fork();
    if (!child)
        _exit(0);
    waitpid(child, NULL, 0);
    ck_assert(!reaches(child, &probe, probe));
    ck_assert(reaches(getpid(), &probe, probe));
}
END_TEST

/* More than are remembered, of which many share a place. */
START_TEST(each_is_its_own)
{
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

UNIT_MAIN(what_it_reads_must_be_right, who_is_gone_is_out_of_reach, each_is_its_own)
