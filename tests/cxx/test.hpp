// Helpers of the C++ tests, as tests/mpi/test.h for C.
#include <iostream>
#include <mpi.h>

static int rank, ranks, failures;

inline int next()
{
    return (rank + 1) % ranks;
}
inline int previous()
{
    return (rank + ranks - 1) % ranks;
}

inline void check(bool good, const char *what)
{
    if (good)
        return;
    failures++;
    std::cerr << "rank " << rank << ": " << what << std::endl;
}
