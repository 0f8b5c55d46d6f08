#include "command/commands.h"

#include "command/library.h"
#include "command/machine.h"
#include "contact.h"
#include "core/config.h"
#include "core/json.h"
#include "core/kernels.h"
#include "core/processors.h"
#include "version.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Print in lines of at most 80 characters, each after `indent` blanks. */
static void print_wrapped(const char *text, int indent)
{
    size_t room = 80 - (size_t)indent;
    while (strlen(text) > room) {
        size_t end = room;
        while (end > 1 && text[end] != ' ')
            end--;
        printf("%*s%.*s\n", indent, "", (int)end, text);
        text += end;
        text += strspn(text, " ");
    }
    printf("%*s%s\n", indent, "", text);
}

static void print_setting(const struct setting *s)
{
    const char *value = getenv(s->name);
    bool text = !strcmp(s->kind, "TEXT");
    printf("  %s (", s->name);
    for (const char *c = s->kind; *c; c++)
        putchar(tolower((unsigned char)*c));
    printf("%s%s)", text ? "" : ", default ", text ? "" : s->standard);
    if (value)
        printf(config_read_one(s->name, strlen(s->name), value) ? ", %s is invalid" : ", now: %s",
               value);
    putchar('\n');
    print_wrapped(s->help, 6);
}

static void warn(const char *line)
{
    printf("  warning: %s\n", line);
}

enum { LAUNCHERS = 16, MPIS = 8 };

struct machine {
    bool memfd;
    int copy_error, ptrace_scope;
    bool xpmem;
    const char *huge_pages;
    struct processors processors;
    unsigned usable; /* processors */
    long online;
    struct machine_launcher launchers[LAUNCHERS];
    struct machine_mpi mpis[MPIS];
    size_t launcher_count, mpi_count;
};

static void read_machine(struct machine *m)
{
    m->memfd = machine_has_memfd();
    m->copy_error = machine_copy_error();
    m->ptrace_scope = machine_ptrace_scope();
    m->xpmem = !access("/dev/xpmem", F_OK);
    m->huge_pages = machine_huge_pages();
    processors_read(&m->processors);
    for (size_t i = 0; i < sizeof m->processors.mask / sizeof *m->processors.mask; i++)
        m->usable += (unsigned)__builtin_popcountll(m->processors.mask[i]);
    m->online = sysconf(_SC_NPROCESSORS_ONLN);
    m->launcher_count = machine_launchers(m->launchers, LAUNCHERS);
    config_read(environ, NULL);
    m->mpi_count = machine_mpis(m->mpis, MPIS);
}

/* ---- text ---- */

static const char *const gpu_texts[] = {
    [GPU_UNKNOWN] = "mpiaccel doctor reports if it accepts GPU memory",
    [GPU_REFUSED] = "accepts no GPU memory",
    [GPU_ACCEPTED] = "accepts GPU memory: nothing is accelerated unless MPIACCEL_GPU=0",
};

static void print_copies(const struct machine *m)
{
    printf("  copies between processes by the OS: ");
    if (!m->copy_error)
        printf("yes\n");
    else if (m->ptrace_scope > 0)
        printf("no (%s): as root, sysctl kernel.yama.ptrace_scope=0\n", strerror(m->copy_error));
    else
        printf("no (%s): in a container, --cap-add=SYS_PTRACE\n", strerror(m->copy_error));
}

static void print_mpi(const struct machine_mpi *mpi)
{
    char size[24];
    printf("  %s: %s; %s\n", mpi->file, mpi->version, gpu_texts[mpi->gpu]);
    snprintf(size, sizeof size, "%zu KiB", config.eager >> 10);
    if (!mpi->eager) {
        printf("      messages of up to %s: sent at once, which is faster\n", size);
        return;
    }
    printf("      its limit for sending messages at once is not raised:\n");
    print_wrapped(eager_obstacle_texts[mpi->eager], 6);
    if (*mpi->eager_setting)
        printf("      %s\n", mpi->eager_setting);
    print_wrapped(eager_obstacle_advice[mpi->eager], 6);
}

static void print_machine(const struct machine *m)
{
    printf("this machine\n  anonymous files in memory: %s\n",
           m->memfd ? "yes" : "no: nothing can be accelerated");
    print_copies(m);
    printf("  XPMEM: %s\n", m->xpmem ? "yes; the MPI may have been built with it" : "no");
    printf("  processors: %u of %ld", m->usable, m->online);
    if (m->processors.thousandths)
        printf(", with a quota of %.2f", m->processors.thousandths / 1000.0);
    printf("\n  transparent huge pages: %s\n", m->huge_pages);
    printf("  arithmetic of reductions: %s\n", kernels_best()->name);
    printf("launchers in PATH%s\n", m->launcher_count ? "" : ": none");
    for (const struct machine_launcher *l = m->launchers; l < m->launchers + m->launcher_count; l++)
        printf("  %s: %s%s%s\n", l->path, l->family, *l->version ? " " : "", l->version);
    printf("MPI libraries that the loader finds%s\n", m->mpi_count ? "" : ": none");
    for (const struct machine_mpi *mpi = m->mpis; mpi < m->mpis + m->mpi_count; mpi++)
        print_mpi(mpi);
}

static void print_text(const struct machine *m)
{
    printf("libmpiaccel %s\n  library: %s\n  built for: %s\n  report problems to: %s\n",
           MPIACCEL_VERSION, library_path(), MPIACCEL_ABIS, MPIACCEL_CONTACT);
    print_machine(m);
    printf("settings\n");
    for (const struct setting *s = config_settings; s->name; s++)
        print_setting(s);
    config_read(environ, warn);
}

/* ---- JSON ---- */

static void json_member(const char *before, const char *text)
{
    fputs(before, stdout);
    json_string(stdout, text);
}

static void json_eager(const struct machine_mpi *mpi)
{
    printf(", \"eager_limit\": {\"raised_to\": %zu", mpi->eager ? 0 : config.eager);
    if (mpi->eager) {
        json_member(", \"reason\": ", eager_obstacle_texts[mpi->eager]);
        json_member(", \"remedy\": ", eager_obstacle_advice[mpi->eager]);
    }
    if (*mpi->eager_setting)
        json_member(", \"setting\": ", mpi->eager_setting);
    putchar('}');
}

static void json_machine(const struct machine *m)
{
    printf(",\n \"machine\": {\"anonymous_files\": %s, \"copy_errno\": %d, \"ptrace_scope\": %d",
           m->memfd ? "true" : "false", m->copy_error, m->ptrace_scope);
    printf(",\n  \"processors\": %u, \"online\": %ld, \"quota_thousandths\": %u", m->usable,
           m->online, (unsigned)m->processors.thousandths);
    printf(",\n  \"xpmem\": %s", m->xpmem ? "true" : "false");
    json_member(", \"huge_pages\": ", m->huge_pages);
    json_member(", \"arithmetic\": ", kernels_best()->name);
    printf("},\n \"launchers\": [");
    for (size_t i = 0; i < m->launcher_count; i++) {
        json_member(i ? ",\n  {\"path\": " : "\n  {\"path\": ", m->launchers[i].path);
        json_member(", \"family\": ", m->launchers[i].family);
        json_member(", \"version\": ", m->launchers[i].version);
        putchar('}');
    }
    printf("],\n \"mpis\": [");
    static const char *const answers[] = {"unknown", "no", "yes"};
    for (size_t i = 0; i < m->mpi_count; i++) {
        json_member(i ? ",\n  {\"file\": " : "\n  {\"file\": ", m->mpis[i].file);
        json_member(", \"version\": ", m->mpis[i].version);
        json_member(", \"accepts_gpu_memory\": ", answers[m->mpis[i].gpu]);
        json_eager(&m->mpis[i]);
        putchar('}');
    }
    putchar(']');
}

static void json_settings(void)
{
    printf(",\n \"settings\": [");
    for (const struct setting *s = config_settings; s->name; s++) {
        const char *value = getenv(s->name);
        json_member(s == config_settings ? "\n  {\"name\": " : ",\n  {\"name\": ", s->name);
        json_member(", \"default\": ", strcmp(s->kind, "TEXT") ? s->standard : "");
        if (value) {
            bool valid = !config_read_one(s->name, strlen(s->name), value);
            json_member(", \"value\": ", value);
            printf(", \"valid\": %s", valid ? "true" : "false");
        }
        putchar('}');
    }
    putchar(']');
}

static void print_json(const struct machine *m)
{
    json_member("{\"format\": 1, \"mpiaccel\": ", MPIACCEL_VERSION);
    json_member(", \"library\": ", library_path());
    json_member(", \"built_for\": ", MPIACCEL_ABIS);
    json_member(", \"contact\": ", MPIACCEL_CONTACT);
    json_machine(m);
    json_settings();
    puts("}");
}

int command_info(int count, char **arguments)
{
    static struct machine machine;
    bool json = count == 2 && !strcmp(arguments[1], "--json");
    if (count > 1 && !json) {
        fprintf(stderr, "mpiaccel: info has no option or argument '%s'; see mpiaccel info --help\n",
                arguments[1 + (count > 2 && !strcmp(arguments[1], "--json"))]);
        return 2;
    }
    read_machine(&machine);
    (json ? print_json : print_text)(&machine);
    return 0;
}
