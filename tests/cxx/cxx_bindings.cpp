// The C++ bindings of MPI-2: their calls are accelerated, and errors and attributes reach the
// program through them. Skipped if the host no longer has them.
#include "test.hpp"

#include <algorithm>
#include <vector>

#if defined(MPICH_VERSION) && __has_include(<mpicxx.h>)
#define HAS_MPICH_BINDINGS
#endif
#if defined(HAS_MPICH_BINDINGS) || (defined(OMPI_BUILD_CXX_BINDINGS) && OMPI_BUILD_CXX_BINDINGS)

static void use(MPI::Win win, long *memory)
{
    long mine[2] = {10L + rank, 20L + rank}, back[2] = {-1, -1};
    memory[0] = memory[1] = 0;
    win.Fence(MPI::MODE_NOPRECEDE);
    win.Put(mine, 2, MPI::LONG, next(), 0, 2, MPI::LONG);
    win.Fence(0);
    check(memory[1] == 20 + previous(), "put");
    MPI::COMM_WORLD.Barrier(); // the next operations may arrive early
    win.Accumulate(mine, 2, MPI::LONG, next(), 0, 2, MPI::LONG, MPI::SUM);
    win.Fence(MPI::MODE_NOSUCCEED);
    check(memory[1] == 2 * (20 + previous()), "accumulate");

    win.Lock(MPI::LOCK_SHARED, next(), 0);
    win.Get(back, 2, MPI::LONG, next(), 0, 2, MPI::LONG);
    win.Unlock(next());
    check(back[0] == 2 * mine[0], "get");

    const int before[] = {previous()}, after[] = {next()};
    MPI::Group whole = win.Get_group(), origin = whole.Incl(1, before),
               target = whole.Incl(1, after);
    win.Post(origin, 0);
    win.Start(target, 0);
    win.Put(mine, 1, MPI::LONG, next(), 1, 1, MPI::LONG);
    win.Complete();
    win.Wait();
    check(memory[1] == 10 + previous(), "post and start");
    whole.Free();
    origin.Free();
    target.Free();
}

static void attributes(MPI::Win win, long *memory)
{
    void *base = nullptr;
    MPI::Aint *size = nullptr;
    int *unit = nullptr;
    check(win.Get_attr(MPI::WIN_BASE, &base) && base == memory, "MPI::WIN_BASE");
    check(win.Get_attr(MPI::WIN_SIZE, &size) && *size == 2 * sizeof *memory, "MPI::WIN_SIZE");
    check(win.Get_attr(MPI::WIN_DISP_UNIT, &unit) && *unit == sizeof *memory, "MPI::WIN_DISP_UNIT");
}

#if defined(HAS_MPICH_BINDINGS) // Open MPI is built without exceptions
static void exceptions(MPI::Win win)
{
    int caught = MPI::SUCCESS, mine = 0;
    win.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    try {
        win.Put(&mine, 1, MPI::INT, next(), 0, 1, MPI::INT);
    } catch (MPI::Exception &exception) {
        caught = exception.Get_error_class();
    }
    check(caught == MPI_ERR_RMA_SYNC, "an exception for a put outside of epochs");
}
#else
static void exceptions(MPI::Win)
{
}
#endif

// `few` bytes: in Open MPI alone, a long persistent request sends wrong data when started again.
static void buffered_sends()
{
    constexpr int bytes = 40000, few = 1000, rounds = 5;
    std::vector<char> buffer(std::size_t(6 * (bytes + MPI::BSEND_OVERHEAD))), out(bytes), in(bytes);
    MPI::Attach_buffer(buffer.data(), int(buffer.size()));
    MPI::Prequest again = MPI::COMM_WORLD.Bsend_init(out.data(), few, MPI::CHAR, next(), 2);
    for (char round = 0; round < rounds; round++) {
        out.assign(bytes, char(10 * round + rank));
        MPI::COMM_WORLD.Bsend(out.data(), bytes, MPI::CHAR, next(), 0);
        MPI::COMM_WORLD.Ibsend(out.data(), bytes, MPI::CHAR, next(), 1).Wait();
        again.Start();
        again.Wait();
        for (int tag = 0; tag <= 2; tag++) {
            const int expected = tag < 2 ? bytes : few;
            MPI::Status status;
            in.assign(bytes, -1);
            MPI::COMM_WORLD.Recv(in.data(), bytes, MPI::CHAR, previous(), tag, status);
            const auto right = std::count(in.begin(), in.end(), char(10 * round + previous()));
            check(status.Get_count(MPI::CHAR) == expected && right == expected, "a buffered send");
        }
    }
    again.Free();
    void *back = nullptr;
    const int size = MPI::Detach_buffer(back);
    check(back == buffer.data() && size == int(buffer.size()), "the buffer that was attached");
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    ranks = MPI::COMM_WORLD.Get_size();
    auto memory = static_cast<long *>(MPI::Alloc_mem(2 * sizeof(long), MPI::INFO_NULL));
    MPI::Win win = MPI::Win::Create(memory, 2 * sizeof *memory, sizeof *memory, MPI::INFO_NULL,
                                    MPI::COMM_WORLD);
    use(win, memory);
    attributes(win, memory);
    exceptions(win);
    win.Free();
    check(win == MPI::WIN_NULL, "a window that was freed");
    MPI::Free_mem(memory);
    buffered_sends();
    MPI::Finalize();
    return failures ? 1 : 0;
}

#else
int main()
{
    std::cout << "this MPI has no C++ bindings" << std::endl;
    return 77;
}
#endif
