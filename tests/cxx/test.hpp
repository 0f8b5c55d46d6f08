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

// Initialises MPI. Returns whether the host grants MPI_THREAD_MULTIPLE, without which the test
// fails.
inline bool begin_threads(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
    return provided == MPI_THREAD_MULTIPLE;
}
