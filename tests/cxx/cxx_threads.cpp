// Threads of the C++ library use windows: all threads one window together, and each thread a window
// of its own. There are more threads than a window has lines for atomic operations (H25: threads).
#include "test.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

constexpr int threads = 20, rounds = 2, times = 5000, locks = 200;

static MPI_Win window(std::int64_t *&memory, int elements)
{
    MPI_Win win;
    MPI_Aint bytes = elements * MPI_Aint(sizeof *memory);
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    std::fill_n(memory, elements, 0);
    MPI_Win_create(memory, bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    return win;
}

// Adds 0 to element 0 of rank 0, in the open epoch.
static void add_nothing(MPI_Win win)
{
    const std::int64_t zero = 0;
    std::int64_t before;
    MPI_Fetch_and_op(&zero, &before, MPI_INT64_T, 0, 0, MPI_SUM, win);
}

// Run `work` in `count` threads, none of which starts before all have made an MPI call.
static void in_threads(int count, void (*work)(int thread, MPI_Win win), const MPI_Win *wins,
                       bool one_each)
{
    std::vector<std::thread> running;
    std::atomic<int> absent{count};
    auto begin = [&](int t) {
        MPI_Win win = wins[one_each ? t : 0];
        if (one_each)
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        add_nothing(win);
        if (one_each)
            MPI_Win_unlock(0, win);
        for (absent--; absent;)
            std::this_thread::yield();
        work(t, win);
    };
    for (int t = 0; t < count; t++)
        running.emplace_back(begin, t);
    for (auto &thread : running)
        thread.join();
}

// Element 0 of rank 0 is a counter; element 1 + t of the next rank belongs to thread t.
static void count_and_put(int thread, MPI_Win win)
{
    const std::int64_t one = 1;
    std::int64_t before, mine, back = -1;
    for (int i = 0; i < times; i++) {
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
        mine = 1000 * rank + i;
        MPI_Put(&mine, 1, MPI_INT64_T, next(), 1 + thread, 1, MPI_INT64_T, win);
        MPI_Win_flush(next(), win);
        MPI_Get(&back, 1, MPI_INT64_T, next(), 1 + thread, 1, MPI_INT64_T, win);
        MPI_Win_flush(next(), win);
        check(back == mine, "a thread's own element");
    }
}

// Epochs of all kinds, in each thread on a window of its own.
static void lock_and_swap(int, MPI_Win win)
{
    std::int64_t before, seen = 0;
    for (int i = 0; i < locks; i++) {
        MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win);
        do {
            std::int64_t mine = seen + 1;
            before = seen;
            MPI_Compare_and_swap(&mine, &before, &seen, MPI_INT64_T, 0, 0, win);
            MPI_Win_flush(0, win);
        } while (seen != before);
        MPI_Win_unlock(0, win);
    }
}

static std::int64_t element(MPI_Win win, int index)
{
    std::int64_t value;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(&value, 1, MPI_INT64_T, 0, index, 1, MPI_INT64_T, win);
    MPI_Win_unlock(0, win);
    return value;
}

static void together()
{
    std::int64_t *memory;
    MPI_Win win = window(memory, 1 + threads);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < rounds; round++)
        in_threads(threads, count_and_put, &win, false);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    check(element(win, 0) == std::int64_t(2) * ranks * threads * rounds * times,
          "sum of all threads");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

static void apart()
{
    constexpr int windows = 4;
    std::int64_t *memory[windows];
    MPI_Win win[windows];
    for (int w = 0; w < windows; w++)
        win[w] = window(memory[w], 1);
    MPI_Barrier(MPI_COMM_WORLD);
    in_threads(windows, lock_and_swap, win, true);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int w = 0; w < windows; w++)
        check(element(win[w], 0) == std::int64_t(ranks) * locks, "sum of one thread of each rank");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int w = 0; w < windows; w++) {
        MPI_Win_free(&win[w]);
        MPI_Free_mem(memory[w]);
    }
}

// Memory that one thread allocates is freed by another.
static void memory()
{
    std::vector<void *> blocks(threads * 50);
    auto allocate = [&](int t) {
        for (int i = 0; i < 50; i++)
            MPI_Alloc_mem(64 + 100 * i, MPI_INFO_NULL, &blocks[std::size_t(t * 50 + i)]);
    };
    std::atomic<int> errors{0};
    auto free = [&](int t) {
        for (int i = 0; i < 50; i++)
            errors += MPI_Free_mem(blocks[std::size_t((t + 1) % threads * 50 + i)]) != MPI_SUCCESS;
    };
    std::vector<std::thread> running;
    for (int t = 0; t < threads; t++)
        running.emplace_back(allocate, t);
    for (auto &thread : running)
        thread.join();
    running.clear();
    for (int t = 0; t < threads; t++)
        running.emplace_back(free, t);
    for (auto &thread : running)
        thread.join();
    check(errors == 0, "MPI_Free_mem in another thread");
}

int main(int argc, char **argv)
{
    if (begin_threads(argc, argv)) {
        together();
        apart();
        memory();
    }
    MPI_Finalize();
    return failures ? 1 : 0;
}
