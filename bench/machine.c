/* Describes the machine, as far as it affects the results: processors, caches, memory, kernel, and
 * the costs of cache lines, pages and copies. */
#include "bench.h"
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { SAMPLE = 64 << 10, TRIES = 200, ROUND_TRIPS = 20000 };

/* The first line of a file below /sys/devices/system/cpu. */
static bool read_line(char *line, int length, const char *format, ...)
{
    char path[160] = "/sys/devices/system/cpu/";
    size_t start = strlen(path);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path + start, sizeof path - start, format, arguments);
    va_end(arguments);
    FILE *file = fopen(path, "r");
    bool ok = file && fgets(line, length, file);
    if (file)
        fclose(file);
    if (ok)
        line[strcspn(line, "\n")] = 0;
    return ok;
}

/* As /proc/cpuinfo names it on x86; elsewhere the architecture */
static void print_processor(const char *architecture)
{
    char line[256] = "", *name = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !name && fgets(line, sizeof line, file))
        if (!strncmp(line, "model name", 10) && (name = strchr(line, ':')))
            name[strcspn(name, "\n")] = 0;
    if (file)
        fclose(file);
    line_text("processor", name ? name + 2 : architecture);
}

/* The distribution, from os-release(5) */
static void print_system(void)
{
    char line[256] = "", *name = NULL;
    FILE *file = fopen("/etc/os-release", "r");
    while (file && !name && fgets(line, sizeof line, file))
        if (!strncmp(line, "PRETTY_NAME=\"", 13) && (name = line + 13))
            name[strcspn(name, "\"\n")] = 0;
    if (file)
        fclose(file);
    line_text("system", name ? name : "");
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

/* Cores are counted by their first hardware thread. */
static int count_cores(void)
{
    int cores = 0;
    char siblings[256];
    for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
        if (read_line(siblings, sizeof siblings, "cpu%d/topology/thread_siblings_list", cpu))
            cores += atoi(siblings) == cpu;
    return cores;
}

/* The data caches of rank 0's processor, and whether all ranks run on processors that share them.
 */
static void print_caches(const int *cpus)
{
    char level[16], kind[32], bytes[16], shared[256];
    const char *comma = "";
    printf(",\"caches\":[");
    for (int i = 0; i < 8; i++) {
        bool found =
            read_line(level, sizeof level, "cpu%d/cache/index%d/level", cpus[0], i) &&
            read_line(kind, sizeof kind, "cpu%d/cache/index%d/type", cpus[0], i) &&
            read_line(bytes, sizeof bytes, "cpu%d/cache/index%d/size", cpus[0], i) &&
            read_line(shared, sizeof shared, "cpu%d/cache/index%d/shared_cpu_list", cpus[0], i);
        if (!found || !strcmp(kind, "Instruction"))
            continue;
        bool all = true;
        for (int r = 0; r < size; r++)
            all = all && is_listed(cpus[r], shared);
        printf("%s{\"level\":%d,\"kib\":%d,\"shared_by_all_ranks\":%s}", comma, atoi(level),
               atoi(bytes), all ? "true" : "false");
        comma = ",";
    }
    putchar(']');
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

enum { COPY_SHORT = 2048 }; /* glibc copies up to this size with vector instructions */

void copy_floor(void *to, const void *from, size_t bytes)
{
    ptrdiff_t behind = ((char *)to - (char *)from) & 4095;
    size_t piece = behind > 0 && behind < 64 ? COPY_SHORT : bytes;
    for (size_t done = 0; done < bytes; done += piece)
        memcpy((char *)to + done, (const char *)from + done,
               bytes - done < piece ? bytes - done : piece);
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

int count_nodes(void)
{
    enum { MOST = MPI_MAX_PROCESSOR_NAME };
    char own[MOST] = "", *names = malloc((size_t)size * MOST);
    int length, nodes = 0;
    MPI_Get_processor_name(own, &length);
    api[HOST].Allgather(own, MOST, MPI_CHAR, names, MOST, MPI_CHAR, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) {
        int first = 0;
        while (strcmp(names + first * MOST, names + r * MOST))
            first++;
        nodes += first == r;
    }
    free(names);
    return nodes;
}

void describe_machine(void)
{
    int cpu = sched_getcpu(), *cpus = malloc((size_t)size * sizeof *cpus);
    api[HOST].Gather(&cpu, 1, MPI_INT, cpus, 1, MPI_INT, 0, MPI_COMM_WORLD);
    double barrier = has_flags() ? line_transfer() : 0;
    struct utsname os;
    uname(&os);
    if (!rank) {
        line_begin("machine");
        print_processor(os.machine);
        printf(",\"cores\":%d,\"threads\":%ld,\"memory_mib\":%ld,", count_cores(),
               sysconf(_SC_NPROCESSORS_ONLN),
               sysconf(_SC_PHYS_PAGES) / ((1 << 20) / sysconf(_SC_PAGESIZE)));
        char kernel[160];
        snprintf(kernel, sizeof kernel, "%s %s", os.sysname, os.release);
        line_text("kernel", kernel);
        putchar(',');
        print_system();
        printf(",\"xpmem\":%s", access("/dev/xpmem", F_OK) ? "false" : "true");
        printf(",\"rank_processors\":[");
        for (int r = 0; r < size; r++)
            printf("%s%d", r ? "," : "", cpus[r]);
        putchar(']');
        print_caches(cpus);
        if (barrier > 0)
            printf(",\"flag_barrier_ns\":%.1f", barrier);
        printf(",\"page_fault_ns\":%.1f,\"copy_64_kib_ns\":%.1f,\"copy_64_kib_by_os_ns\":%.1f",
               page_fault(), copy_of_sample(false), copy_of_sample(true));
        line_end();
    }
    free(cpus);
}
