/* Ranks that are forked processes and meet as those of a real job do. The sources are included, so
 * that tests can use their static functions. */
#ifndef UNIT_PROCESSES_H
#define UNIT_PROCESSES_H

#include "node/fd_message.c"
#include "node/places.c"
#include "node/rendezvous.c"

#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* Memory that the processes of a case share for the test itself. */
static struct {
    _Atomic unsigned met, entered, step;
    char key[64];
    _Atomic uint64_t message[2][64]; /* by world and receiver */
} * desk;

static unsigned job_size, job_number;
static unsigned world; /* 0 or 1: a rank of another world is another process */
typedef void process_fn(unsigned rank);

static inline void expect_exit(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a rank ended with %#x", status);
}

static inline pid_t start(process_fn *function, unsigned rank)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid)
        return pid;
    signal(SIGALRM, SIG_DFL); /* Check's handler would end all processes */
    alarm(60);                /* a rank that hangs is a failure too */
    function(rank);
    _exit(atomic_load(&unit_failures) != 0);
}

static inline void open_desk(unsigned size)
{
    if (!desk)
        desk = mmap(NULL, sizeof *desk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    job_size = size;
    memset(desk, 0, sizeof *desk);
    snprintf(desk->key, sizeof desk->key, "unit %d %u", getpid(), job_number++);
    config.heap_size = (size_t)64 << 20;
}

/* Run `function` in processes `first` to `last`. */
static inline void run(process_fn *function, unsigned first, unsigned last)
{
    pid_t pids[UNIT_RANKS_MAX];
    for (unsigned r = first; r <= last; r++)
        pids[r] = start(function, r);
    for (unsigned r = first; r <= last; r++)
        expect_exit(pids[r]);
}

static inline void await_count(_Atomic unsigned *count, unsigned goal)
{
    while (atomic_load(count) < goal)
        sleep_us(200);
}

/* Like the host's MPI_Init: no rank returns before all living ranks have called it. */
static inline void meet(unsigned count)
{
    unsigned before = atomic_fetch_add(&desk->met, 1);
    await_count(&desk->met, before / count * count + count);
}

static inline void enter(void)
{
    struct job job = {.local_size = job_size, .rank = -1};
    snprintf(job.key, sizeof job.key, "%s", desk->key);
    rendezvous_enter(&job);
    atomic_fetch_add(&desk->entered, 1);
}

/* The host's messages. */
static int own_world_rank;
static uint64_t own_meeting;

static inline bool exchange(int to, int from, uint64_t sent, uint64_t *received)
{
    (void)from;
    atomic_store(&desk->message[world][to], sent);
    for (int i = 0; i < 5000; i++, sleep_us(100))
        if ((*received = atomic_load(&desk->message[world][own_world_rank])))
            return true;
    return false;
}

static inline void settle(unsigned world_rank, unsigned world_size)
{
    own_world_rank = (int)world_rank;
    rendezvous_settle((int)world_rank, (int)world_size, own_meeting, exchange);
}

/* Rank 0 first, so that it leads. */
static inline void enter_in_order(unsigned rank)
{
    await_count(&desk->entered, rank);
    enter();
}

static inline socklen_t name_of(struct sockaddr_un *address, const char *what, unsigned place)
{
    places.job = job_hash(desk->key);
    return socket_name(address, what, place);
}

static inline void expect_nothing(enum reason why)
{
    EXPECT(!node.header && node.why_not == why, "why not: %s", stats_reasons[node.why_not]);
    EXPECT(node_member_of(0) == -1 && !node_shares(desk, 1));
}

#endif
