/* The job as launchers describe it: the key that only its ranks on this node have, and their
 * number.
 */
#include "node/job.c"

#include "tests/unit/unit.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads a job from this environment and no other. */
static struct job job_of(enum job_host host, const char *const entries[])
{
    struct job job;
    clearenv();
    for (; *entries; entries++)
        putenv((char *)*entries);
    job_read(&job, host);
    return job;
}
#define OMPI(...)       job_of(JOB_HOST_OPEN_MPI, (const char *const[]){__VA_ARGS__, NULL})
#define MPICH(...)      job_of(JOB_HOST_MPICH, (const char *const[]){__VA_ARGS__, NULL})
#define MPICH_PMIX(...) job_of(JOB_HOST_MPICH_PMIX, (const char *const[]){__VA_ARGS__, NULL})

static void expect(struct job job, const char *key, uint32_t local_size, int rank)
{
    ck_assert_msg(!strncmp(job.key, key, strlen(key)), "%s, not %s", job.key, key);
    ck_assert(*key || !*job.key);
    ck_assert_uint_eq(job.local_size, local_size);
    ck_assert_int_eq(job.rank, rank);
}

START_TEST(open_mpi_names_the_job_by_its_namespace_and_server)
{
    struct job job = OMPI("PMIX_NAMESPACE=1234", "PMIX_RANK=3", "PMIX_SERVER_URI41=a;tcp4://b:1",
                          "OMPI_COMM_WORLD_LOCAL_SIZE=4");
    ck_assert_uint_eq(job.local_size, 4);
    ck_assert(*job.key);
    struct job peer = OMPI("PMIX_NAMESPACE=1234", "PMIX_RANK=0", "PMIX_SERVER_URI41=a;tcp4://b:1",
                           "OMPI_COMM_WORLD_LOCAL_SIZE=4");
    ck_assert_str_eq(job.key, peer.key);
    peer = OMPI("PMIX_NAMESPACE=1235", "PMIX_RANK=0", "PMIX_SERVER_URI41=a;tcp4://b:1",
                "OMPI_COMM_WORLD_LOCAL_SIZE=4");
    ck_assert_str_ne(job.key, peer.key);
    peer = OMPI("PMIX_NAMESPACE=1234", "PMIX_RANK=0", "PMIX_SERVER_URI41=a;tcp4://b:2",
                "OMPI_COMM_WORLD_LOCAL_SIZE=4");
    ck_assert_str_ne(job.key, peer.key);
}
END_TEST

START_TEST(without_a_number_of_ranks_it_is_unknown)
{
    ck_assert_uint_eq(OMPI("PMIX_NAMESPACE=1", "PMIX_RANK=0").local_size, 0);
    ck_assert_uint_eq(
        OMPI("PMIX_NAMESPACE=1", "PMIX_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=x").local_size, 0);
}
END_TEST

START_TEST(the_most_ranks_that_any_launcher_names_count)
{
    clearenv();
    ck_assert_uint_eq(job_most_local_ranks(), 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
    ck_assert_uint_eq(job_most_local_ranks(), 4);
    setenv("MPI_LOCALNRANKS", "6", 1);
    ck_assert_uint_eq(job_most_local_ranks(), 6);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 1);
    ck_assert_uint_eq(job_most_local_ranks(), 8);
    clearenv();
    setenv("SLURM_STEP_TASKS_PER_NODE", "2,5", 1);
    setenv("SLURM_NODEID", "1", 1);
    ck_assert_uint_eq(job_most_local_ranks(), 5);
    clearenv();
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
    ck_assert_uint_eq(OMPI("PMIX_NAMESPACE=slurm.1.0", "PMIX_RANK=0", "SLURM_NODEID=2",
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
    struct job job = MPICH(proxy_entry(), "PMI_RANK=1", "PMI_SIZE=3", "MPI_LOCALNRANKS=3");
    expect(job, "pmi ", 3, 1);
    struct job again = MPICH(proxy_entry(), "PMI_RANK=2", "PMI_SIZE=3", "MPI_LOCALNRANKS=3");
    ck_assert_str_eq(job.key, again.key);
}
END_TEST

START_TEST(a_process_is_named_by_its_id_and_start_where_it_has_no_inode)
{
    char name[PROCESS_NAME_MAX], expected[PROCESS_NAME_MAX];
    struct stat space;
    prctl(PR_SET_NAME, "a) b (c 1 2 3)");
    int socket = atoi(strchr(proxy_entry(), '=') + 1);
    ck_assert(name_by_id(socket, name));
    ck_assert_uint_ne(start_time(getpid()), 0);
    ck_assert_int_eq(stat("/proc/self/ns/pid", &space), 0);
    snprintf(expected, sizeof expected, "%d %llu %llu", getpid(), start_time(getpid()),
             (unsigned long long)space.st_ino);
    ck_assert_str_eq(name, expected);
}
END_TEST

START_TEST(the_port_of_the_proxy_names_the_job)
{
    struct job job = MPICH("PMI_PORT=here:1234", "PMI_ID=2", "MPI_LOCALNRANKS=3");
    expect(job, "port ", 3, 2);
    ck_assert_str_eq(job.key, MPICH("PMI_PORT=here:1234", "PMI_ID=0", "MPI_LOCALNRANKS=3").key);
    ck_assert_str_ne(job.key, MPICH("PMI_PORT=here:1235", "PMI_ID=0", "MPI_LOCALNRANKS=3").key);
    expect(MPICH(proxy_entry(), "PMI_RANK=1", "PMI_PORT=here:1", "PMI_ID=0", "MPI_LOCALNRANKS=3"),
           "pmi ", 3, 1);
    expect(MPICH("PMI_FD=9999", "PMI_RANK=1", "PMI_PORT=here:1", "PMI_ID=0"), "", 1, -1);
}
END_TEST

#define OF_OPEN_MPI "PMIX_NAMESPACE=1", "PMIX_RANK=5", "OMPI_COMM_WORLD_LOCAL_SIZE=6"
#define OF_HYDRA    proxy_entry(), "PMI_RANK=1", "PMI_SIZE=8", "MPI_LOCALNRANKS=2"

/* Which of them is the outer one cannot be seen, and does not matter. */
START_TEST(variables_of_two_launchers_are_those_that_the_host_uses)
{
    expect(OMPI(OF_OPEN_MPI, OF_HYDRA), "pmix ", 6, 5);
    expect(MPICH(OF_OPEN_MPI, OF_HYDRA), "pmi ", 2, 1);
    expect(MPICH_PMIX(OF_OPEN_MPI, OF_HYDRA), "pmi ", 2, 1);
    expect(MPICH_PMIX(OF_OPEN_MPI, OF_HYDRA, "MPIR_CVAR_PMI_VERSION=x"), "pmix ", 6, 5);
    expect(MPICH_PMIX(OF_OPEN_MPI, "PMI_PORT=here:1", "PMI_ID=0"), "port ", 0, 0);
    expect(MPICH_PMIX(OF_OPEN_MPI), "pmix ", 6, 5);
}
END_TEST

START_TEST(a_process_that_its_host_does_not_see_as_a_rank_is_alone)
{
    expect(OMPI(OF_HYDRA), "", 1, -1);
    expect(OMPI("PMI_PORT=here:1", "PMI_ID=0"), "", 1, -1);
    expect(MPICH(OF_OPEN_MPI), "", 1, -1);
    expect(MPICH_PMIX(OF_HYDRA, "MPIR_CVAR_PMI_VERSION=x"), "", 1, -1);
}
END_TEST

#define OF_SLURM "SLURM_NODEID=1", "SLURM_STEP_TASKS_PER_NODE=4,3", "SLURM_STEP_NUM_TASKS=7"

START_TEST(slurm_counts_only_ranks_that_it_has_started)
{
    expect(MPICH(OF_HYDRA, OF_SLURM, "SLURM_PROCID=0"), "pmi ", 2, 1);
    expect(MPICH(OF_HYDRA, OF_SLURM, "PMI_JOBID=1.0", "SLURM_PROCID=1"), "pmi ", 2, 1);
    expect(MPICH(proxy_entry(), "PMI_RANK=1", "PMI_SIZE=7", "PMI_JOBID=1.0", OF_SLURM,
                 "SLURM_PROCID=1", "MPI_LOCALNRANKS=2"),
           "pmi ", 3, 1);
    expect(MPICH(proxy_entry(), "PMI_RANK=1", "PMI_SIZE=7", OF_SLURM, "SLURM_PROCID=1"), "pmi ", 3,
           1);
    expect(OMPI(proxy_entry(), "PMI_RANK=1", "PMI_SIZE=7", "PMI_JOBID=1.0", OF_SLURM,
                "SLURM_PROCID=1"),
           "pmi ", 3, 1);
    expect(OMPI(OF_OPEN_MPI, OF_SLURM), "pmix ", 6, 5);
    expect(OMPI("PMIX_NAMESPACE=slurm.pmix.1.0", "PMIX_RANK=2", "OMPI_COMM_WORLD_LOCAL_SIZE=6",
                OF_SLURM),
           "pmix ", 3, 2);
}
END_TEST

/* MPICH's Hydra serves the jobs of MPI_Comm_spawn by the same process. */
START_TEST(jobs_of_different_sizes_differ)
{
    struct job small = MPICH(proxy_entry(), "PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALNRANKS=2");
    struct job large = MPICH(proxy_entry(), "PMI_RANK=1", "PMI_SIZE=3", "MPI_LOCALNRANKS=2");
    struct job local = MPICH(proxy_entry(), "PMI_RANK=1", "PMI_SIZE=3", "MPI_LOCALNRANKS=3");
    ck_assert_str_ne(small.key, large.key);
    ck_assert_str_ne(large.key, local.key);
}
END_TEST

START_TEST(any_version_of_pmix_names_its_server)
{
    struct job one = OMPI(OF_OPEN_MPI, "PMIX_SERVER_URI2=a", "PMIX_SERVER_URI77=b");
    struct job order = OMPI("PMIX_SERVER_URI77=b", OF_OPEN_MPI, "PMIX_SERVER_URI2=a");
    struct job other = OMPI(OF_OPEN_MPI, "PMIX_SERVER_URI2=a", "PMIX_SERVER_URI77=c");
    ck_assert_str_eq(one.key, order.key);
    ck_assert_str_ne(one.key, other.key);
}
END_TEST

/* The OS reports no process at the other end of a network socket. */
START_TEST(a_proxy_on_another_node_is_none)
{
    static char entry[32]; /* stays in the environment */
    int end = socket(AF_INET, SOCK_STREAM, 0);
    snprintf(entry, sizeof entry, "PMI_FD=%d", end);
    struct job job = MPICH(entry, "PMI_RANK=0", "MPI_LOCALNRANKS=2");
    ck_assert_str_eq(job.key, "");
    ck_assert_uint_eq(job.local_size, 1);
    close(end);
}
END_TEST

START_TEST(two_proxies_are_two_jobs)
{
    struct job here = MPICH(proxy_entry(), "PMI_RANK=1", "MPI_LOCALNRANKS=3");
    sleep_us(20000); /* a tick of the clock that start times are counted in */
    pid_t pid = fork();
    if (!pid) {
        int ends[2];
        char entry[32];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
            _exit(1);
        snprintf(entry, sizeof entry, "PMI_FD=%d", ends[0]);
        struct job there = MPICH(entry, "PMI_RANK=1", "MPI_LOCALNRANKS=3");
        _exit(!strcmp(here.key, there.key) || start_time(getpid()) <= start_time(getppid()));
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_process_without_a_launcher_is_a_job_of_one)
{
    struct job jobs[] = {MPICH("HOME=/"),
                         OMPI("HOME=/"),
                         MPICH("PMI_RANK=0", "MPI_LOCALNRANKS=2"),
                         MPICH("PMI_RANK=0", "PMI_FD=9999", "MPI_LOCALNRANKS=2"),
                         MPICH("PMI_RANK=0", "PMI_FD=0x", "MPI_LOCALNRANKS=2"),
                         MPICH(proxy_entry(), "MPI_LOCALNRANKS=2"),
                         MPICH("PMI_PORT=here:1", "MPI_LOCALNRANKS=2"),
                         OMPI("PMIX_NAMESPACE=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2"),
                         OMPI("PMIX_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2"),
                         OMPI("OMPI_COMM_WORLD_LOCAL_SIZE=4")};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        expect(jobs[i], "", 1, -1);
}
END_TEST

START_TEST(a_long_name_is_cut_not_overrun)
{
    static char space[2000] = "PMIX_NAMESPACE=", port[2000] = "PMI_PORT=";
    memset(space + 15, 'n', sizeof space - 16);
    memset(port + 9, 'p', sizeof port - 10);
    struct job jobs[] = {OMPI(space, "PMIX_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=2"),
                         MPICH(port, "PMI_ID=0", "MPI_LOCALNRANKS=2")};
    for (size_t i = 0; i < 2; i++)
        ck_assert(strlen(jobs[i].key) >= 256 && strlen(jobs[i].key) < sizeof jobs[i].key);
}
END_TEST

UNIT_MAIN(open_mpi_names_the_job_by_its_namespace_and_server,
          without_a_number_of_ranks_it_is_unknown, the_most_ranks_that_any_launcher_names_count,
          slurm_counts_by_node, hydra_names_the_job_by_the_proxy_at_the_other_end,
          a_process_is_named_by_its_id_and_start_where_it_has_no_inode,
          the_port_of_the_proxy_names_the_job,
          variables_of_two_launchers_are_those_that_the_host_uses,
          a_process_that_its_host_does_not_see_as_a_rank_is_alone,
          slurm_counts_only_ranks_that_it_has_started, jobs_of_different_sizes_differ,
          any_version_of_pmix_names_its_server, a_proxy_on_another_node_is_none,
          two_proxies_are_two_jobs, a_process_without_a_launcher_is_a_job_of_one,
          a_long_name_is_cut_not_overrun)
