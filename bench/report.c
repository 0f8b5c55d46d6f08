/* The results: rank 0 prints each as a line of JSON behind a marker. `mpiaccel bench` reads these
 * lines, wherever the rank runs, and makes tables, files and plots of them. */
#include "bench.h"
#include <dlfcn.h>
#include <fnmatch.h>
#include <string.h>

const char *cell_pattern;

static const struct part *current;
static bool counting;
static int counted;

void line_begin(const char *kind)
{
    printf("\nmpiaccel-bench: {\"%s\":{", kind);
}

void line_text(const char *name, const char *text)
{
    printf("\"%s\":\"", name);
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            putchar(' ');
        else
            printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    putchar('"');
}

void line_end(void)
{
    printf("}}\n");
    fflush(stdout);
}

bool wanted(const char *name)
{
    char pattern[256];
    if (cell_pattern) {
        snprintf(pattern, sizeof pattern, "*%s*", cell_pattern);
        if (fnmatch(pattern, name, 0))
            return false;
    }
    counted += counting;
    return !counting;
}

int count_cells(const struct part *p)
{
    counting = true;
    counted = 0;
    p->run();
    counting = false;
    return counted;
}

void report_begin(int cells)
{
    typedef const char *version_fn(void);
    version_fn *library = (version_fn *)dlsym(RTLD_DEFAULT, "mpiaccel_version");
    char host[MPI_MAX_LIBRARY_VERSION_STRING];
    char device[32] = "";
    int length;
    MPI_Get_library_version(host, &length);
    const char *line = strstr(host, "MPICH Device:");
    if (line)
        sscanf(line, "MPICH Device: %31s", device);
    host[strcspn(host, ",\n")] = 0;
    int nodes = count_nodes();
    if (rank)
        return;
    line_begin("begin");
    line_text("library", library ? library() : "");
    putchar(',');
    line_text("host", host);
    putchar(',');
    line_text("device", device);
    putchar(',');
    line_text("abi", BENCH_ABI);
    printf(",\"ranks\":%d,\"nodes\":%d,\"cells\":%d", size, nodes, cells);
    line_end();
}

void report_part(const struct part *p)
{
    current = p;
}

void report(const struct result *r)
{
    if (rank)
        return;
    line_begin("cell");
    line_text("cell", r->name);
    printf(",\"part\":\"%s\",\"kind\":\"%s\",\"library_ns\":%.2f,\"host_ns\":%.2f", current->name,
           kind_names[r->kind], r->ns[LIBRARY], r->ns[HOST]);
    if (r->rounds > 1)
        printf(",\"rounds\":%d,\"ratio\":%.3f,\"ratio_low\":%.3f,\"ratio_high\":%.3f", r->rounds,
               r->ratio, r->lowest, r->highest);
    if (r->ns[FLOOR] > 0)
        printf(",\"floor_ns\":%.2f,\"above_floor\":%.3f", r->ns[FLOOR], r->above_floor);
    line_end();
}
