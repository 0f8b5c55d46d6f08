/* The requests of a made-up host: each is a number, and complete when the test says so. */
#ifndef UNIT_REQUESTS_H
#define UNIT_REQUESTS_H

#include "tests/unit/unit.h"

enum { REQUESTS = 4096 };

static _Atomic bool complete[REQUESTS], asked_and_freed[REQUESTS];
static _Atomic uintptr_t next;

/* Nobody may ask for one that has been freed. */
static inline bool host_sent(uintptr_t *request)
{
    if (!complete[*request])
        return false;
    EXPECT(!atomic_exchange(&asked_and_freed[*request], true), "request %zu", (size_t)*request);
    return true;
}

static inline void complete_all(void)
{
    for (int i = 0; i < REQUESTS; i++)
        complete[i] = true;
}

static inline void forget_all(void)
{
    for (int i = 0; i < REQUESTS; i++)
        complete[i] = asked_and_freed[i] = false;
    next = 0;
}

#endif
