/* The results, on rank 0: a table on standard output, JSON, a summary. */
#include "bench.h"
#include <fnmatch.h>
#include <math.h>
#include <string.h>

const char *cell_pattern;

static struct result results[2048]; /* more than there are cells */
static size_t count;
static const struct part *parts[PARTS];
static int part_count;
static FILE *json;

bool wanted(const char *name)
{
    char pattern[256];
    if (!cell_pattern)
        return true;
    snprintf(pattern, sizeof pattern, "*%s*", cell_pattern);
    return !fnmatch(pattern, name, 0);
}

void report_begin(const char *json_path)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = 0;
    for (char *tab = version; (tab = strchr(tab, '\t'));)
        *tab = ' '; /* JSON permits no tabs in a string */
    if (rank)
        return;
    bool preloaded = (void *)api[LIBRARY].Put != (void *)api[HOST].Put;
    printf("%s, %d ranks, %s; ns, medians of the rounds\n", version, size,
           preloaded ? "with the library" : "WITHOUT the library");
    if (json_path && !(json = fopen(json_path, "w")))
        perror(json_path);
    if (json)
        fprintf(json, "{\"host\":\"%s\",\"ranks\":%d,\"cells\":[", version, size);
}

void report_part(const struct part *p)
{
    if (rank)
        return;
    parts[part_count++] = p;
    printf("%-48s %11s %12s %8s %16s %11s %6s\n", p->name, "library", "host", "ratio", "(range)",
           "floor", "above");
}

static void print_row(const struct result *r)
{
    printf("%-48s %11.1f %12.1f %8.2f", r->name, r->ns[LIBRARY], r->ns[HOST], r->ratio);
    if (r->rounds > 1)
        printf(" %7.2f..%-7.2f", r->lowest, r->highest);
    if (r->ns[FLOOR] > 0)
        printf(" %11.1f %6.2f", r->ns[FLOOR], r->above_floor);
    printf("\n");
    fflush(stdout);
}

static void write_row(const struct result *r)
{
    fprintf(
        json,
        "%s{\"cell\":\"%s\",\"part\":\"%s\",\"kind\":\"%s\",\"plugin_ns\":%.2f,\"host_ns\":%.2f",
        count ? ",\n" : "", r->name, r->part->name, kind_names[r->kind], r->ns[LIBRARY],
        r->ns[HOST]);
    if (r->rounds > 1)
        fprintf(json, ",\"rounds\":%d,\"ratio\":%.3f,\"ratio_low\":%.3f,\"ratio_high\":%.3f",
                r->rounds, r->ratio, r->lowest, r->highest);
    if (r->ns[FLOOR] > 0)
        fprintf(json, ",\"floor_ns\":%.2f,\"above_floor\":%.3f", r->ns[FLOOR], r->above_floor);
    fputc('}', json);
}

void report(const struct result *r)
{
    if (rank || count == sizeof results / sizeof *results)
        return;
    results[count] = *r;
    results[count].part = parts[part_count - 1];
    print_row(&results[count]);
    if (json)
        write_row(&results[count]);
    count++;
}

/* ---- the sum ---- */

/* A cell's ratio is capped in the mean: otherwise the page faults of some hosts would dominate it.
 */
enum { RATIO_MOST = 10 };

/* The geometric mean of the ratios of one kind, or of all (KINDS). */
static double mean_of(const struct part *part, int kind, int *cells)
{
    double logarithms = 0;
    *cells = 0;
    for (const struct result *r = results; r < results + count; r++) {
        if (r->part != part || r->rounds == 1 || (kind != KINDS && r->kind != kind))
            continue;
        ++*cells;
        logarithms += log(r->ratio < RATIO_MOST ? r->ratio : RATIO_MOST);
    }
    return *cells ? exp(logarithms / *cells) : 0;
}

/* Returns the mean of all cells. */
static double sum_up(const struct part *part)
{
    int cells;
    double means[KINDS + 1];
    for (int kind = 0; kind <= KINDS; kind++) {
        means[kind] = mean_of(part, kind, &cells);
        if (cells)
            printf("%s: geometric mean %.2f of %d cells, each capped at %d: %s\n", part->name,
                   means[kind], cells, RATIO_MOST, kind < KINDS ? kind_names[kind] : "all");
    }
    if (json)
        fprintf(
            json,
            "%s\"%s\":{\"latency\":%.3f,\"throughput\":%.3f,\"geometric_mean\":%.3f,\"cells\":%d}",
            part == parts[0] ? "" : ",\n", part->name, means[LATENCY], means[THROUGHPUT],
            means[KINDS], cells);
    return means[KINDS];
}

static const struct result *result_of(const char *cell)
{
    for (const struct result *r = results; r < results + count; r++)
        if (!strcmp(r->name, cell))
            return r;
    return NULL;
}

static void print_goals(const struct part *part, double mean)
{
    for (const struct goal *g = part->goals; g < part->goals + part->goal_count; g++) {
        const struct result *r = g->cell ? result_of(g->cell) : NULL;
        if (g->ranks != size || (g->cell && !r) || (!g->cell && cell_pattern))
            continue;
        double value = !r ? mean : g->floor ? r->above_floor : r->ratio;
#ifdef OPEN_MPI
        double bound = g->ompi;
#else
        double bound = g->mpich;
#endif
        printf("%-48s %11.1f ns %8.2f x %-9s", r ? r->name : "geometric mean",
               r ? r->ns[LIBRARY] : 0., value, g->floor ? "the floor" : "as fast");
        if (bound > 0)
            printf("  wanted %s %.1f: %s", g->floor ? "<=" : ">=", bound,
                   (g->floor ? value <= bound : value >= bound) ? "yes" : "NO");
        printf("\n");
    }
}

void report_end(void)
{
    if (rank)
        return;
    if (json)
        fprintf(json, "],\n\"parts\":{");
    printf("\n");
    for (int p = 0; p < part_count; p++) {
        double mean = sum_up(parts[p]);
        print_goals(parts[p], mean);
    }
    if (json) {
        fprintf(json, "}}\n");
        fclose(json);
    }
}
