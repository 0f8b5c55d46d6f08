/* Requests of a simulated host: each is a number, and the test decides when it is complete. */
#ifndef UNIT_REQUESTS_H
#define UNIT_REQUESTS_H

#include "pmpi_wrap/abi/host_api.h"
#include "tests/unit/unit.h"

enum { REQUESTS = 4096 };

static _Atomic bool complete[REQUESTS], asked_and_freed[REQUESTS];
static _Atomic uintptr_t next;

static inline MPI_Request request_of(uintptr_t number)
{
    return HANDLE_OF(MPI_Request, number);
}

/* Fails if the request has already been freed. */
static int test_request(MPI_Request *request, int *is_complete, MPI_Status *status)
{
    uintptr_t number = BITS(*request);
    EXPECT(number < REQUESTS && status == MPI_STATUS_IGNORE);
    *is_complete = complete[number];
    if (!*is_complete)
        return MPI_SUCCESS;
    EXPECT(!atomic_exchange(&asked_and_freed[number], true), "request %zu", (size_t)number);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

struct host_functions host = {.Test = test_request};

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
