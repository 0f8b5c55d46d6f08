/* Shared by the tests of static variables: some variables of each kind, and checks of them. The
 * macro MARK marks them; a program without marked variables runs with MPIACCEL_STATICS=1. */
#ifndef STATICS_H
#define STATICS_H

#include "test.h"

#ifndef MARK
#define MARK
#endif

enum { COUNT = 5000 };

MARK static long zeroes[COUNT];
MARK static long numbers[COUNT] = {[0] = 11, [7] = 77, [COUNT - 1] = 99};
MARK int global_word = 4711;
MARK static struct {
    char text[100];
    const char *pointer;
    long *inner;
    double real;
} mixed = {"between", "a string", &numbers[7], 2.5};
static char *next_to_them = "not marked";

/* Before MPI_Init. */
static void change_some(void)
{
    zeroes[COUNT / 2] = 5;
    numbers[8] = 88;
    mixed.text[0] = 'B';
}

static void check_values(void)
{
    CHECK(zeroes[0] == 0 && zeroes[COUNT / 2] == 5 && zeroes[COUNT - 1] == 0);
    CHECK(numbers[0] == 11 && numbers[7] == 77 && numbers[8] == 88 && numbers[COUNT - 1] == 99);
    CHECK(global_word == 4711);
    CHECK(!strcmp(mixed.text, "Between") && !strcmp(mixed.pointer, "a string"));
    CHECK(mixed.inner == &numbers[7] && *mixed.inner == 77 && mixed.real == 2.5);
    CHECK(!strcmp(next_to_them, "not marked"));
}

/* Whether this process has mapped it as shared memory. */
static inline bool is_shared(const void *at)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    unsigned long start = 0, end;
    bool shared = false;
    while (!shared && fgets(line, sizeof line, maps))
        shared = sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)at >= start &&
                 (uintptr_t)at < end && strstr(line, " rw-s ");
    fclose(maps);
    return shared;
}

/* One window: data put into the next rank arrive in its variable, and only there. */
static void check_window(void *base, size_t bytes)
{
    MPI_Win win = window_over(base, bytes, 1);
    int next = test_next(), last = (test_rank + test_size - 1) % test_size;
    long mine = 1000 + test_rank, before, got = 0;
    memcpy(&before, base, sizeof before);
    MPI_Win_fence(0, win);
    MPI_Put(&mine, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    memcpy(&got, base, sizeof got);
    CHECK(got == 1000 + last, "%ld", got);
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(got == mine, "%ld", got);
    memcpy(base, &before, sizeof before);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static inline void check_windows(void)
{
    check_window(zeroes, sizeof zeroes);
    check_window(&numbers[5], 100 * sizeof *numbers);
    check_window(&mixed, sizeof mixed);
}

#endif
