/* Which processors share a package, NUMA node and cache: on invented machines, and on this one,
 * compared with hwloc. */
#include "tests/unit/unit.h"

#include <hwloc.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* The source of the module, so that it can be given the files of other machines. */
#include "core/locality.c"

enum { PUS_MOST = 96 };

/* ---- machines ---- */

static struct machine {
    unsigned packages, nodes, caches, cores; /* per unit of the level before */
    bool by_turns;                           /* packages have every other number */
    bool wide_cache;                         /* one for the package, though it has several nodes */
} machine;

static unsigned count_of(const struct machine *m)
{
    return m->packages * m->nodes * m->caches * m->cores;
}

enum level { PACKAGE, NODE, CACHE, CORE };

/* The package, node, cache or core of the machine that processor `cpu` belongs to. */
static unsigned part_of(const struct machine *m, unsigned cpu, enum level level)
{
    unsigned in_package = count_of(m) / m->packages;
    unsigned package = m->by_turns ? cpu % m->packages : cpu / in_package;
    unsigned at = m->by_turns ? cpu / m->packages : cpu % in_package;
    unsigned core = package * in_package + at, cache = core / m->cores;
    switch (level) {
    case PACKAGE:
        return package;
    case NODE:
        return cache / m->caches;
    case CACHE:
        return m->wide_cache ? package : cache;
    default:
        return core;
    }
}

static struct cpus set_of(const struct machine *m, unsigned cpu, enum level level)
{
    struct cpus set = {{0}};
    for (unsigned other = 0; other < count_of(m); other++)
        if (part_of(m, other, level) == part_of(m, cpu, level))
            set.bits[other / 64] |= UINT64_C(1) << other % 64;
    return set;
}

/* ---- the files in sysfs ---- */

static char folder[64];

static __attribute__((format(printf, 2, 3))) void write_file(const char *text, const char *name,
                                                             ...)
{
    char path[512];
    va_list arguments;
    int base = snprintf(path, sizeof path, "%s/sys/devices/system/", folder);
    va_start(arguments, name);
    vsnprintf(path + base, sizeof path - (size_t)base, name, arguments);
    va_end(arguments);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\n", text);
    fclose(file);
}

static const char *number(unsigned n)
{
    static char text[16];
    snprintf(text, sizeof text, "%u", n);
    return text;
}

/* Sets in the formats of Linux's %*pbl and %*pb. */
static const char *list(struct cpus set)
{
    static char text[PUS_MOST * 4];
    int at = 0;
    for (unsigned cpu = 0, last; cpu < PUS_MOST; cpu = last + 1) {
        last = cpu;
        if (!(set.bits[cpu / 64] >> cpu % 64 & 1))
            continue;
        while (set.bits[(last + 1) / 64] >> (last + 1) % 64 & 1)
            last++;
        at += sprintf(text + at, last > cpu ? "%s%u-%u" : "%s%u", at ? "," : "", cpu, last);
    }
    return text;
}

static const char *mask(struct cpus set)
{
    static char text[64];
    sprintf(text, "%08x,%08x,%08x", (unsigned)set.bits[1], (unsigned)(set.bits[0] >> 32),
            (unsigned)set.bits[0]);
    return text;
}

static void show_cpu(const struct machine *m, unsigned cpu)
{
    struct cpus one = set_of(m, cpu, CORE), package = set_of(m, cpu, PACKAGE);
    struct cpus cache = set_of(m, cpu, CACHE), node = set_of(m, cpu, NODE);
    unsigned in_node = part_of(m, cpu, NODE);
    write_file(mask(one), "cpu/cpu%u/topology/thread_siblings", cpu);
    write_file(number(part_of(m, cpu, CORE)), "cpu/cpu%u/topology/core_id", cpu);
    write_file(mask(package), "cpu/cpu%u/topology/core_siblings", cpu);
    write_file(list(package), "cpu/cpu%u/topology/core_siblings_list", cpu);
    write_file(number(part_of(m, cpu, PACKAGE)), "cpu/cpu%u/topology/physical_package_id", cpu);
    for (unsigned level = 0; level < 4; level++) { /* two of level 1 */
        static const char *const levels[] = {"1", "1", "2", "3"};
        static const char *const types[] = {"Data", "Instruction", "Unified", "Unified"};
        write_file(levels[level], "cpu/cpu%u/cache/index%u/level", cpu, level);
        write_file(types[level], "cpu/cpu%u/cache/index%u/type", cpu, level);
        write_file("64K", "cpu/cpu%u/cache/index%u/size", cpu, level);
        write_file(mask(level < 3 ? one : cache), "cpu/cpu%u/cache/index%u/shared_cpu_map", cpu,
                   level);
        write_file(list(level < 3 ? one : cache), "cpu/cpu%u/cache/index%u/shared_cpu_list", cpu,
                   level);
    }
    write_file(list(node), "cpu/cpu%u/node%u/cpulist", cpu, in_node);
    write_file(list(node), "node/node%u/cpulist", in_node);
    write_file(mask(node), "node/node%u/cpumap", in_node);
    write_file("Node 0 MemTotal: 1024 kB", "node/node%u/meminfo", in_node);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void show_machine(void)
{
    static char place[128];
    char all[32];
    strcpy(folder, "/tmp/machine.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (unsigned cpu = 0; cpu < count_of(&machine); cpu++)
        show_cpu(&machine, cpu);
    snprintf(all, sizeof all, "0-%u", count_of(&machine) - 1);
    write_file(all, "cpu/online");
    write_file(all, "cpu/possible");
    snprintf(all, sizeof all, "0-%u", machine.packages * machine.nodes - 1);
    write_file(machine.packages * machine.nodes > 1 ? all : "0", "node/online");
    snprintf(place, sizeof place, "%s/sys/devices/system", folder);
    root = place;
    setenv("HWLOC_FSROOT", folder, 1);
}

/* ---- hwloc ---- */

static hwloc_topology_t topology;

/* Of the files alone, without its plugins and the processor's own word. */
static void ask_hwloc(void)
{
    setenv("HWLOC_COMPONENTS", "linux,stop", 1);
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
    ck_assert_int_eq(hwloc_topology_init(&topology), 0);
    ck_assert_int_eq(hwloc_topology_load(topology), 0);
}

static hwloc_obj_t above(hwloc_obj_t pu, hwloc_obj_type_t type)
{
    return hwloc_get_ancestor_obj_by_type(topology, type, pu);
}

static bool near(hwloc_obj_t a, hwloc_obj_t b)
{
    return above(a, HWLOC_OBJ_PACKAGE) == above(b, HWLOC_OBJ_PACKAGE) &&
           above(a, HWLOC_OBJ_L3CACHE) == above(b, HWLOC_OBJ_L3CACHE) &&
           hwloc_bitmap_isequal(a->nodeset, b->nodeset);
}

static uint64_t number_of(unsigned cpu)
{
    struct cpus one = {{0}};
    one.bits[cpu / 64] = UINT64_C(1) << cpu % 64;
    return locality_of(&one);
}

static uint64_t numbers[PROCESSORS_MAX]; /* of the processors, read once */

static uint64_t number_at(hwloc_obj_t pu)
{
    return numbers[pu->os_index];
}

/* Processors between two of one object are of it too. */
static void expect_together(hwloc_obj_t a, hwloc_obj_t b, hwloc_obj_t between)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE};
    if (number_at(between) < number_at(a) || number_at(between) > number_at(b))
        return;
    for (unsigned i = 0; i < 2; i++)
        INSIST(above(a, types[i]) != above(b, types[i]) ||
                   above(between, types[i]) == above(a, types[i]),
               "%u is between %u and %u", between->os_index, a->os_index, b->os_index);
    INSIST(!hwloc_bitmap_isequal(a->nodeset, b->nodeset) ||
               hwloc_bitmap_isequal(a->nodeset, between->nodeset),
           "%u is between %u and %u", between->os_index, a->os_index, b->os_index);
}

static void compare_with_hwloc(unsigned cpus)
{
    ask_hwloc();
    int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    ck_assert_int_eq(count, (int)cpus);
    for (int i = 0; i < count; i++) {
        unsigned cpu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned)i)->os_index;
        numbers[cpu] = number_of(cpu);
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            hwloc_obj_t a = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned)i);
            hwloc_obj_t b = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned)j);
            INSIST((number_at(a) == number_at(b)) == near(a, b), "%u and %u", a->os_index,
                   b->os_index);
            for (int k = j % 5; k < count; k += 5)
                expect_together(a, b, hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned)k));
        }
    hwloc_topology_destroy(topology);
}

/* ---- */

static const struct machine machines[] = {
    {.packages = 2, .nodes = 1, .caches = 1, .cores = 6},
    {.packages = 2, .nodes = 1, .caches = 1, .cores = 6, .by_turns = true},
    {.packages = 2, .nodes = 4, .caches = 2, .cores = 3},
    {.packages = 2, .nodes = 2, .caches = 3, .cores = 2, .by_turns = true},
    {.packages = 3, .nodes = 2, .caches = 1, .cores = 4, .wide_cache = true},
    {.packages = 1, .nodes = 1, .caches = 4, .cores = 16},
    {.packages = 1, .nodes = 1, .caches = 1, .cores = 1},
};
enum { MACHINES = sizeof machines / sizeof *machines };

START_TEST(domains_are_those_of_hwloc)
{
    for (unsigned i = 0; i < MACHINES; i++) {
        machine = machines[i];
        show_machine();
        compare_with_hwloc(count_of(&machine));
        remove_folder();
    }
}
END_TEST

START_TEST(this_machines_domains_are_those_of_hwloc)
{
    unsetenv("HWLOC_FSROOT");
    root = "/sys/devices/system";
    if (access("/sys/devices/system/cpu/online", R_OK))
        return; /* a root in which packages are built may have no /sys, and hwloc needs it */
    compare_with_hwloc((unsigned)sysconf(_SC_NPROCESSORS_ONLN));
}
END_TEST

/* Bound to a cache, a node, a package, or to none of them. */
START_TEST(who_is_bound_to_more_has_the_number_of_what_holds_it)
{
    const unsigned first = 8, last = 15; /* of a package of two nodes of two caches of two cores */
    uint64_t bound[CORE];
    machine = (struct machine){.packages = 2, .nodes = 2, .caches = 2, .cores = 2};
    show_machine();
    for (unsigned cpu = first; cpu <= last; cpu++)
        for (enum level level = PACKAGE; level < CORE; level++) {
            struct cpus set = set_of(&machine, cpu, level);
            uint64_t here = locality_of(&set);
            bool begins = cpu % (level == PACKAGE ? 8 : level == NODE ? 4 : 2) == 0;
            INSIST(begins || here == bound[level], "level %d", level);
            bound[level] = here;
            INSIST(here != LOCALITY_UNKNOWN && (level == CACHE) == (here == number_of(cpu)),
                   "level %d", level);
            INSIST(here > number_of(first - 1) && here >= number_of(first), "level %d", level);
        }
    struct cpus across = set_of(&machine, 7, CORE);
    across.bits[0] |= set_of(&machine, 8, CORE).bits[0];
    INSIST(locality_of(&across) == LOCALITY_UNKNOWN, "two packages");
    remove_folder();
}
END_TEST

START_TEST(where_the_kernel_says_nothing_it_is_unknown)
{
    root = "/nonexistent";
    for (unsigned cpu = 0; cpu < 4; cpu++)
        ck_assert(number_of(cpu) == LOCALITY_UNKNOWN);
}
END_TEST

/* The files are read again when we are bound anew, and only then. */
START_TEST(a_thread_that_is_bound_anew_has_moved)
{
    cpu_set_t before, one;
    machine = (struct machine){
        .packages = 2, .nodes = 1, .caches = 1, .cores = PUS_MOST / 2, .by_turns = true};
    show_machine();
    const char *shown = root;
    sched_getaffinity(0, sizeof before, &before);
    for (unsigned cpu = 0; cpu < PUS_MOST; cpu++)
        if (CPU_ISSET(cpu, &before)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            uint64_t here = locality_here();
            ck_assert(here == number_of(cpu));
            root = "/nonexistent";
            ck_assert(locality_here() == here);
            root = shown;
        }
    sched_setaffinity(0, sizeof before, &before);
    remove_folder();
}
END_TEST

UNIT_MAIN(domains_are_those_of_hwloc, this_machines_domains_are_those_of_hwloc,
          who_is_bound_to_more_has_the_number_of_what_holds_it,
          where_the_kernel_says_nothing_it_is_unknown, a_thread_that_is_bound_anew_has_moved)
