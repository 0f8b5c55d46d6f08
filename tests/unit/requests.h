/* Requests of a simulated host: each is a number, and the test decides when it is complete. */
#ifndef UNIT_REQUESTS_H
#define UNIT_REQUESTS_H

#include "tests/unit/unit.h"

enum { REQUESTS = 4096 };

static _Atomic bool complete[REQUESTS], asked_and_freed[REQUESTS];
static _Atomic uintptr_t next;

/* Fails if the request has already been freed. */
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
