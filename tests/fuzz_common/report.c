#include "common.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

int failures, world_rank, world_size;
static struct progress own_progress;
struct progress *progress = &own_progress;

enum { LINES_A_SEED = 12 };

void fail(const char *format, ...)
{
    va_list arguments;
    char text[6000];
    if (failures++ >= LINES_A_SEED)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("FAIL seed %lld np %d rank %d round %lld phase %lld op %lld: %s\n",
           (long long)progress->seed, world_size, world_rank, (long long)progress->round,
           (long long)progress->phase, (long long)progress->op, text);
    fflush(stdout);
}

void give_up(const char *format, ...)
{
    va_list arguments;
    char text[6000];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail("gives up: %s", text);
    MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

void must_succeed(const char *what, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, class = 0;
    if (error == MPI_SUCCESS)
        return;
    MPI_Error_class(error, &class);
    MPI_Error_string(error, text, &length);
    text[strcspn(text, "\n")] = 0;
    fail("%s returned class %d: %s", what, class, text);
}

void open_world(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (world_size > RANKS_MAX)
        give_up("too many ranks");
}

void open_progress(const char *name)
{
    size_t bytes = (size_t)world_size * sizeof own_progress;
    int file = open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes))
        give_up("%s cannot be written", name);
    struct progress *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (all == MAP_FAILED)
        give_up("%s cannot be mapped", name);
    close(file);
    progress = &all[world_rank];
}

bool listed(const char *list, int number)
{
    for (const char *at = list; *at;) {
        char *end;
        long first = strtol(at, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (number >= first && number <= last)
            return true;
        at = *end ? end + 1 : end;
    }
    return false;
}

/* ---- memory of a program ---- */

struct kept {
    struct kept *next;
    size_t used, room;
    _Alignas(16) char memory[];
};
static struct kept *kept;

void *keep(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (!kept || kept->room - kept->used < bytes) {
        size_t room = bytes > 65536 ? bytes : 65536;
        struct kept *more = malloc(sizeof *more + room);
        if (!more)
            give_up("no memory");
        *more = (struct kept){.next = kept, .room = room};
        kept = more;
    }
    void *at = kept->memory + kept->used;
    kept->used += bytes;
    return memset(at, 0, bytes);
}

void release(void)
{
    while (kept) {
        struct kept *next = kept->next;
        free(kept);
        kept = next;
    }
}

bool read_common_option(struct run *run, char **argv, int *i)
{
    const char *name = argv[*i], *value = argv[*i + 1] ? argv[*i + 1] : "";
    if (!strcmp(name, "--print")) {
        run->print = true;
        return true;
    }
    if (!strcmp(name, "--tame")) {
        run->tame = true;
        return true;
    }
    if (!strcmp(name, "--deep")) {
        run->deep = true;
        return true;
    }
    if (!strcmp(name, "--seed"))
        run->seed = strtoull(value, NULL, 10);
    else if (!strcmp(name, "--seeds"))
        run->seeds = atol(value);
    else if (!strcmp(name, "--only"))
        run->only = value;
    else if (!strcmp(name, "--progress"))
        run->progress = value;
    else
        return false;
    ++*i;
    return true;
}
