// Threads of the C++ library, with a communicator and containers each, make collective calls at
// once, and so do several objects that own a communicator (H25: threads).
#include "test.hpp"

#include <complex>
#include <numeric>
#include <thread>
#include <vector>

constexpr int threads = 4, rounds = 40;

// Owns a duplicate of a communicator.
class Communicator
{
  public:
    explicit Communicator(MPI_Comm from)
    {
        MPI_Comm_dup(from, &comm);
    }
    Communicator(const Communicator &) = delete;
    Communicator &operator=(const Communicator &) = delete;
    ~Communicator()
    {
        MPI_Comm_free(&comm);
    }
    operator MPI_Comm() const
    {
        return comm;
    }

  private:
    MPI_Comm comm;
};

template <typename T> static void sums(MPI_Comm comm, MPI_Datatype type, std::size_t n, int mark)
{
    std::vector<T> mine(n), got(n);
    for (std::size_t i = 0; i < n; i++)
        mine[i] = T(rank + 1) * T(int(i % 100) + mark);
    MPI_Allreduce(mine.data(), got.data(), int(n), type, MPI_SUM, comm);
    bool good = true;
    for (std::size_t i = 0; i < n; i++)
        good &= got[i] == T(ranks * (ranks + 1) / 2) * T(int(i % 100) + mark);
    check(good, "allreduce of a vector");
}

static void exchange(MPI_Comm comm, int mark)
{
    const auto n = std::size_t(ranks);
    std::vector<int> counts(n), displs(n), out, in;
    for (int r = 0; r < ranks; r++) { // a triangle: r elements for rank r
        counts[std::size_t(r)] = r + rank + 1;
        displs[std::size_t(r)] = int(out.size());
        out.insert(out.end(), std::size_t(r + rank + 1), 100 * rank + r + mark);
    }
    in.resize(out.size());
    MPI_Alltoallv(out.data(), counts.data(), displs.data(), MPI_INT, in.data(), counts.data(),
                  displs.data(), MPI_INT, comm);
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < counts[std::size_t(r)]; i++)
            check(in[std::size_t(displs[std::size_t(r)] + i)] == 100 * r + rank + mark,
                  "alltoallv of vectors");
}

static void work(MPI_Comm comm, int thread)
{
    for (int round = 0; round < rounds; round++) {
        int mark = round + thread;
        sums<int>(comm, MPI_INT, 1, mark);
        sums<double>(comm, MPI_DOUBLE, 300, mark);
        sums<std::complex<double>>(comm, MPI_C_DOUBLE_COMPLEX, 2000, mark);
        exchange(comm, mark);
        int root = round % ranks;
        std::vector<long> data(500, rank == root ? mark : -1L);
        MPI_Bcast(data.data(), int(data.size()), MPI_LONG, root, comm);
        check(std::accumulate(data.begin(), data.end(), 0L) == 500L * mark, "bcast of a vector");
        if (round % 10 == thread) {
            Communicator own(comm);
            for (int i = 0; i < 6; i++)
                sums<float>(own, MPI_FLOAT, 50, i);
        }
    }
    MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    if (begin_threads(argc, argv)) {
        std::vector<std::thread> running;
        std::vector<MPI_Comm> comms(threads);
        for (auto &comm : comms)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int t = 0; t < threads; t++)
            running.emplace_back(work, comms[std::size_t(t)], t);
        for (auto &thread : running)
            thread.join();
        for (auto &comm : comms)
            MPI_Comm_free(&comm);
    }
    work(MPI_COMM_WORLD, 0);
    MPI_Finalize();
    return failures ? 1 : 0;
}
