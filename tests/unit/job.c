/* The job as launchers describe it: the key that only its ranks on this node have, and their
 * number.
 */
#include "alloc/job.c"

#include "tests/unit/unit.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads a job from this environment and no other. */
static struct job job_of(const char *const entries[])
{
    struct job job;
    clearenv();
    for (; *entries; entries++)
        putenv((char *)*entries);
    job_read(&job);
    return job;
}
#define JOB(...) job_of((const char *const[]){__VA_ARGS__, NULL})

START_TEST(open_mpi_names_the_job_by_its_namespace_and_server)
{
    struct job job = JOB("PMIX_NAMESPACE=1234", "PMIX_RANK=3", "PMIX_SERVER_URI41=a;tcp4://b:1",
                         "OMPI_COMM_WORLD_LOCAL_SIZE=4");
    ck_assert_uint_eq(job.local_size, 4);
    ck_assert(*job.key);
    struct job peer = JOB("PMIX_NAMESPACE=1234", "PMIX_RANK=0", "PMIX_SERVER_URI41=a;tcp4://b:1",
                          "OMPI_COMM_WORLD_LOCAL_SIZE=4");
    ck_assert_str_eq(job.key, peer.key);
    peer = JOB("PMIX_NAMESPACE=1235", "PMIX_RANK=0", "PMIX_SERVER_URI41=a;tcp4://b:1",
               "OMPI_COMM_WORLD_LOCAL_SIZE=4");
    ck_assert_str_ne(job.key, peer.key);
    peer = JOB("PMIX_NAMESPACE=1234", "PMIX_RANK=0", "PMIX_SERVER_URI41=a;tcp4://b:2",
               "OMPI_COMM_WORLD_LOCAL_SIZE=4");
    ck_assert_str_ne(job.key, peer.key);
}
END_TEST

START_TEST(without_a_number_of_ranks_it_is_unknown)
{
    ck_assert_uint_eq(JOB("PMIX_NAMESPACE=1", "PMIX_RANK=0").local_size, 0);
    ck_assert_uint_eq(
        JOB("PMIX_NAMESPACE=1", "PMIX_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=x").local_size, 0);
}
END_TEST

START_TEST(slurm_counts_by_node)
{
    static const struct {
        const char *text;
        unsigned long node;
        uint32_t tasks;
    } tries[] = {
        {"4", 0, 4},           {"4", 1, 0},       {"4(x2),3", 0, 4}, {"4(x2),3", 1, 4},
        {"4(x2),3", 2, 3},     {"4(x2),3", 3, 0}, {"1,2,3", 1, 2},   {"1,2(x10),3", 10, 2},
        {"1,2(x10),3", 11, 3}, {"", 0, 0},        {"x", 0, 0},       {"4(x2", 0, 4},
        {"4(x2", 5, 0},        {",", 0, 0},       {"4(", 1, 0},      {"16(x99999)", 99998, 16}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        ck_assert_msg(job_slurm_tasks(tries[i].text, tries[i].node) == tries[i].tasks,
                      "%s, node %lu", tries[i].text, tries[i].node);
    ck_assert_uint_eq(JOB("PMIX_NAMESPACE=slurm.1.0", "PMIX_RANK=0", "SLURM_NODEID=2",
                          "SLURM_STEP_TASKS_PER_NODE=4(x2),3")
                          .local_size,
                      3);
}
END_TEST

/* The other end of a pair of sockets is this process. */
static const char *proxy_entry(void)
{
    static char entry[32];
    static int ends[2];
    if (!*entry) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        snprintf(entry, sizeof entry, "PMI_FD=%d", ends[0]);
    }
    return entry;
}

START_TEST(hydra_names_the_job_by_the_proxy_at_the_other_end)
{
    struct job job = JOB(proxy_entry(), "PMI_RANK=1", "PMI_SIZE=3", "MPI_LOCALNRANKS=3");
    char pid[32];
    snprintf(pid, sizeof pid, "pmi %d ", getpid());
    ck_assert(!strncmp(job.key, pid, strlen(pid)));
    char *end;
    unsigned long long started = strtoull(job.key + strlen(pid), &end, 10);
    ck_assert_uint_ne(started, 0);
    ck_assert_uint_eq(started, start_time(getpid()));
    struct stat space;
    ck_assert_int_eq(stat("/proc/self/ns/pid", &space), 0);
    ck_assert_uint_eq(strtoull(end, NULL, 10), space.st_ino);
    ck_assert_uint_eq(job.local_size, 3);
    prctl(PR_SET_NAME, "a) b (c 1 2 3)");
    struct job again = JOB(proxy_entry(), "PMI_RANK=2", "MPI_LOCALNRANKS=3");
    ck_assert_str_eq(job.key, again.key);
}
END_TEST

START_TEST(a_launcher_that_speaks_both_ways_names_the_job_by_its_namespace)
{
    struct job one = JOB("PMIX_NAMESPACE=1", "PMIX_RANK=0");
    struct job both = JOB("PMIX_NAMESPACE=1", "PMIX_RANK=0", proxy_entry(), "PMI_RANK=0");
    ck_assert_str_eq(both.key, one.key);
}
END_TEST

/* The OS reports no process at the other end of a network socket. */
START_TEST(a_proxy_on_another_node_is_none)
{
    static char entry[32]; /* stays in the environment */
    int end = socket(AF_INET, SOCK_STREAM, 0);
    snprintf(entry, sizeof entry, "PMI_FD=%d", end);
    struct job job = JOB(entry, "PMI_RANK=0", "MPI_LOCALNRANKS=2");
    ck_assert_str_eq(job.key, "");
    ck_assert_uint_eq(job.local_size, 1);
    close(end);
}
END_TEST

START_TEST(two_proxies_are_two_jobs)
{
    struct job here = JOB(proxy_entry(), "PMI_RANK=1", "MPI_LOCALNRANKS=3");
    sleep_us(20000); /* a tick of the clock that start times are counted in */
    pid_t pid = fork();
    if (!pid) {
        int ends[2];
        char entry[32];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
            _exit(1);
        snprintf(entry, sizeof entry, "PMI_FD=%d", ends[0]);
        struct job there = JOB(entry, "PMI_RANK=1", "MPI_LOCALNRANKS=3");
        _exit(!strcmp(here.key, there.key) || start_time(getpid()) <= start_time(getppid()));
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_process_without_a_launcher_is_a_job_of_one)
{
    struct job jobs[] = {JOB("HOME=/"),
                         JOB("PMI_RANK=0", "MPI_LOCALNRANKS=2"),
                         JOB("PMI_RANK=0", "PMI_FD=9999", "MPI_LOCALNRANKS=2"),
                         JOB("PMI_RANK=0", "PMI_FD=0x", "MPI_LOCALNRANKS=2"),
                         JOB(proxy_entry(), "MPI_LOCALNRANKS=2"),
                         JOB("PMIX_NAMESPACE=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2"),
                         JOB("PMIX_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2"),
                         JOB("OMPI_COMM_WORLD_LOCAL_SIZE=4")};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        ck_assert_msg(jobs[i].local_size == 1, "%zu: %u", i, jobs[i].local_size);
        ck_assert_str_eq(jobs[i].key, "");
    }
}
END_TEST

START_TEST(a_long_name_is_cut_not_overrun)
{
    static char space[2000] = "PMIX_NAMESPACE=";
    memset(space + 15, 'n', sizeof space - 16);
    struct job job = JOB(space, "PMIX_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=2");
    ck_assert_uint_eq(strlen(job.key), sizeof job.key - 1);
}
END_TEST

UNIT_MAIN(open_mpi_names_the_job_by_its_namespace_and_server,
          without_a_number_of_ranks_it_is_unknown, slurm_counts_by_node,
          hydra_names_the_job_by_the_proxy_at_the_other_end,
          a_launcher_that_speaks_both_ways_names_the_job_by_its_namespace,
          a_proxy_on_another_node_is_none, two_proxies_are_two_jobs,
          a_process_without_a_launcher_is_a_job_of_one, a_long_name_is_cut_not_overrun)
