/* Describes the machine, as far as it affects the results: caches, cache lines, pages, copies. */
#include "bench.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SAMPLE = 64 << 10, TRIES = 200, ROUND_TRIPS = 20000 };

static bool read_line(const char *path, char *line, int length)
{
    FILE *file = fopen(path, "r");
    bool ok = file && fgets(line, length, file);
    if (file)
        fclose(file);
    if (ok)
        line[strcspn(line, "\n")] = 0;
    return ok;
}

static void print_model(void)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
            printf("machine: %s", strchr(line, ':') + 2);
            break;
        }
    if (file)
        fclose(file);
}

/* Whether `cpu` is in a list such as 0-3,8. */
static bool is_listed(int cpu, const char *list)
{
    for (char *at = (char *)list; *at; at += *at == ',') {
        long first = strtol(at, &at, 10), last = first;
        if (*at == '-')
            last = strtol(at + 1, &at, 10);
        if (cpu >= first && cpu <= last)
            return true;
        if (*at && *at != ',')
            break;
    }
    return false;
}

static void print_caches(const int *cpus)
{
    char path[128], level[16] = "", kind[32] = "", bytes[16] = "", shared[256] = "";
    printf("ranks on processors");
    for (int r = 0; r < size; r++)
        printf(" %d", cpus[r]);
    printf("; shared by all:");
    bool any = false;
    for (int i = 0; i < 8; i++) {
        char *const into[] = {level, kind, bytes, shared};
        static const char *const names[] = {"level", "type", "size", "shared_cpu_list"};
        static const int lengths[] = {sizeof level, sizeof kind, sizeof bytes, sizeof shared};
        bool found = true, all = true;
        for (int k = 0; k < 4; k++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpus[0],
                     i, names[k]);
            found = found && read_line(path, into[k], lengths[k]);
        }
        for (int r = 0; found && r < size; r++)
            all = all && is_listed(cpus[r], shared);
        if (found && all && strcmp(kind, "Instruction")) {
            printf(" L%s of %s", level, bytes);
            any = true;
        }
    }
    printf(any ? "\n" : " no cache\n");
}

static double line_transfer(void)
{
    api[HOST].Barrier(MPI_COMM_WORLD);
    double start = now();
    flag_barrier(HOST, ROUND_TRIPS, 0);
    return slowest(now() - start) / ROUND_TRIPS;
}

static double page_fault(void)
{
    size_t pages = 1024, bytes = pages * (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return 0;
    madvise(at, bytes, MADV_NOHUGEPAGE);
    double start = now();
    for (size_t i = 0; i < pages; i++)
        ((volatile char *)at)[i * (bytes / pages)] = 1;
    double took = now() - start;
    munmap(at, bytes);
    return took / (double)pages;
}

static double copy_of_sample(bool by_os)
{
    static char from[SAMPLE], to[SAMPLE];
    double best = 1e12;
    for (int i = 0; i < TRIES; i++) {
        struct iovec remote = {from, SAMPLE}, local = {to, SAMPLE};
        memset(from, i, SAMPLE);
        double start = now();
        if (!by_os)
            memcpy(to, from, SAMPLE);
        else if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != SAMPLE)
            return 0;
        __asm__ volatile("" ::: "memory");
        double took = now() - start;
        best = took < best ? took : best;
    }
    return best;
}

void describe_machine(void)
{
    int cpu = sched_getcpu(), *cpus = malloc((size_t)size * sizeof *cpus);
    api[HOST].Gather(&cpu, 1, MPI_INT, cpus, 1, MPI_INT, 0, MPI_COMM_WORLD);
    double line = line_transfer();
    if (!rank) {
        print_model();
        print_caches(cpus);
        printf(
            "a barrier of flags %.0f ns, a page fault %.0f ns, 64 KiB copied by the OS %.1f us and "
            "by memcpy %.1f us\n",
            line, page_fault(), copy_of_sample(true) / 1e3, copy_of_sample(false) / 1e3);
    }
    free(cpus);
}
