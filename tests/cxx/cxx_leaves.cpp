// An error handler leaves the call that failed, by a C++ exception or by longjmp. The calls that
// follow are accelerated on all ranks, whether one rank has failed or all (H21: errors). If a call
// leaves something behind that it would have removed on its way back, a later call crashes, or this
// rank leaves collective calls to the host and the job hangs.
//
//   cxx_leaves throw|longjmp
#include "test.hpp"

#include <csetjmp>
#include <cstring>

static bool jumps;
static std::jmp_buf back;

static void leave(MPI_Comm *, int *code, ...)
{
    if (jumps)
        std::longjmp(back, 1);
    throw *code;
}

static void call(int number)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Datatype type = number == 2 ? MPI_INT : MPI_DATATYPE_NULL;
    MPI_Win win;
    void *memory;
    switch (number) {
    case 0:
        MPI_Comm_free(&comm);
        break;
    case 1:
        MPI_Comm_disconnect(&comm);
        break;
    case 2:
    case 3:
        MPI_Type_free(&type);
        break;
    case 4: // the host reports an info handle that is 0
        MPI_Win_allocate(64, 1, (MPI_Info)0, MPI_COMM_SELF, &memory, &win);
        break;
    case 5:
        MPI_Win_create(nullptr, 0, 1, (MPI_Info)0, MPI_COMM_SELF, &win);
        break;
    case 6: // no such root
        MPI_Bcast(&number, 1, MPI_INT, ranks, MPI_COMM_WORLD);
        break;
    }
}
constexpr int calls = 7;

static void __attribute__((noinline)) overwrite_stack()
{
    volatile char unused[16384];
    std::memset(const_cast<char *>(unused), 0x41, sizeof unused);
}

// True: the call has been left.
static bool __attribute__((noinline)) is_left(int number)
{
    if (jumps) {
        if (setjmp(back))
            return true;
        call(number);
        return false;
    }
    try {
        call(number);
    } catch (int) {
        return true;
    }
    return false;
}

// From frames of any depth, as the calls that follow in a program
static void __attribute__((noinline)) use_new_objects(int depth)
{
    volatile char frame[256];
    frame[0] = 0;
    if (depth > 0) {
        use_new_objects(depth - 1);
        return;
    }
    MPI_Comm comm;
    MPI_Win win;
    MPI_Datatype pair;
    int value[2] = {rank, 1}, sum[2], *memory;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 6; i++)
        MPI_Allreduce(value, sum, 2, MPI_INT, MPI_SUM, comm);
    check(sum[1] == ranks, "the sum of a new communicator");
    MPI_Comm_free(&comm);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Win_fence(0, win);
    MPI_Put(value, 1, pair, next(), 0, 1, pair, win);
    MPI_Win_fence(0, win);
    check(memory[0] == previous() && memory[1] == 1 && !frame[0], "the data of a new window");
    MPI_Type_free(&pair);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    jumps = argc > 1 && !std::strcmp(argv[1], "longjmp");
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < 6; i++) { // the library counts the barriers, but not the wrong broadcasts
        if (rank == 0)
            check(is_left(6), "the error handler was not called");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int number = 0; number < calls; number++)
        for (int all = 0; all < 2; all++) {
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
            MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
            if (all || rank == number % ranks)
                check(is_left(number), "the error handler was not called");
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
            MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
            overwrite_stack();
            use_new_objects(0);
            use_new_objects(8);
        }
    MPI_Finalize();
    return failures != 0;
}
