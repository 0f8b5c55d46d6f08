/* Common code of the fuzzers: random numbers that are the same on every rank, memory that lives as
 * long as a program, and error reports. */
#ifndef FUZZ_COMMON_H
#define FUZZ_COMMON_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 16 };

struct rng {
    uint64_t state;
};

/* splitmix64's finaliser. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* An independent stream for each number. */
static inline struct rng rng_for(uint64_t seed, uint64_t number)
{
    return (struct rng){mix(seed * 0x9e3779b97f4a7c15u + mix(number + 1))};
}

static inline uint64_t rng_next(struct rng *r)
{
    return mix(r->state += 0x9e3779b97f4a7c15u);
}

/* 0 … n - 1; 0 for n < 1. */
static inline long below(struct rng *r, long n)
{
    uint64_t x = rng_next(r);
    return n > 0 ? (long)(x % (uint64_t)n) : 0;
}

/* low … high, both included. */
static inline long between(struct rng *r, long low, long high)
{
    return low + below(r, high - low + 1);
}

static inline bool chance(struct rng *r, int percent)
{
    return below(r, 100) < percent;
}

static inline long round_up_to(long n, long step)
{
    long rest = n % step;
    return rest > 0 ? n + step - rest : n - rest;
}

static inline long gcd(long a, long b)
{
    while (b) {
        long rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Zeroed memory that release() gives back, all at once. */
void *keep(size_t bytes);
void release(void);

/* The rank and size in MPI_COMM_WORLD, once MPI runs. */
extern int world_rank, world_size;
void open_world(void);

/* This rank's position, in a file that the driver reads if the rank hangs or dies. */
struct progress {
    int64_t seed, round, phase, op;
};
extern struct progress *progress;
void open_progress(const char *name);

/* Print one line about an error in this seed, and count it. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern int failures; /* lines of this kind, of this seed */

/* fail() if an MPI call returns an error. */
void must_succeed(const char *call, int error);
#define DO(name, ...) must_succeed(#name, MPI_##name(__VA_ARGS__))

/* fail() and abort the job, for errors other than wrong results. */
void give_up(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The options that all fuzzers have. */
struct run {
    uint64_t seed;
    long seeds;
    const char *progress; /* name of a file for open_progress(); NULL: none */
    const char *only;     /* a list for listed(); NULL: all */
    bool print, tame, deep;
};

/* Read the option argv[*i]; advances *i past its value, if it has one. False: it is another option.
 */
bool read_common_option(struct run *run, char **argv, int *i);

/* Whether the number is in a list like "3,7-9". */
bool listed(const char *list, int number);

#endif
