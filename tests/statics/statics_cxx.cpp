// C++: objects of static storage, constructed before MPI_Init, inline variables, function statics.
// With -DMARK=MPIACCEL_SHARED some are marked; without, MPIACCEL_STATICS=1 is set.
#ifdef MARKED
#include <mpiaccel/mpiaccel.h>
#define MARK MPIACCEL_SHARED
#else
#define MARK
#endif
#include <mpi.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

static int failures;
#define CHECK(condition)                                                 \
    do {                                                                 \
        if (!(condition)) {                                              \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            failures++;                                                  \
        }                                                                \
    } while (0)

struct Grid {
    double cell[1000];
    Grid()
    {
        for (int i = 0; i < 1000; i++)
            cell[i] = i * 0.5;
    }
};

namespace
{
MARK Grid grid;
MARK long counters[64] = {1, 2, 3};
std::map<std::string, std::vector<int>> table = {{"a", {1, 2}}, {"b", {3}}};
} // namespace

static long &counter()
{
    MARK static long value = 40;
    return value;
}

int main(int argc, char **argv)
{
    counter() += 2;
    table["c"].push_back(7);
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    CHECK(counter() == 42 && grid.cell[999] == 499.5 && counters[2] == 3);
    CHECK(table.size() == 3 && table["a"][1] == 2 && table["c"][0] == 7);

    MPI_Win win;
    MPI_Win_create(&grid, sizeof grid, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    double value = rank + 0.25;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_DOUBLE, next, 10, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    CHECK(grid.cell[10] == last + 0.25 && grid.cell[11] == 5.5);
    MPI_Win_free(&win);

    MPI_Win_create(&counter(), sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    long one = 1;
    MPI_Win_fence(0, win);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(counter() == (rank == 0 ? 42 + size : 42));
    MPI_Win_free(&win);
    std::cout << "" << std::flush;
    MPI_Finalize();
    return failures != 0;
}
