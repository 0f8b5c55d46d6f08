/* Errors of accelerated calls invoke the window's own error handler, exactly once, with the window
 * and the error class: MPI_ERRORS_RETURN, a function of the program, and a handler that was
 * replaced. The communicator's handler is not called, except for errors of window creation. */
#include "test.h"

static MPI_Win win, called_with;
static int called, last_class, comm_called;

static void on_window(MPI_Win *w, int *code, ...)
{
    called++;
    called_with = *w;
    last_class = class_of(*code);
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    comm_called++;
    last_class = class_of(*code);
}

static int memory_value, *memory;

static void expect(int times, int error_class, const char *what)
{
    CHECK(called == times, "%s: the handler was called %d times", what, called);
    CHECK(last_class == error_class, "%s: class %d", what, last_class);
    CHECK(called_with == win, "%s: the handler was given another window", what);
    called = 0;
    last_class = MPI_SUCCESS;
}

static void through_function(void)
{
    int value = 1;
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    expect(1, MPI_ERR_RMA_SYNC, "put outside an epoch");
    CHECK_CLASS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    expect(1, MPI_ERR_RMA_SYNC, "unlock");
    CHECK_CLASS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
    expect(1, MPI_ERR_RMA_SYNC, "flush");
    CHECK_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    expect(1, MPI_ERR_RMA_SYNC, "complete");
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, test_size, 0, win), MPI_ERR_RANK);
    expect(1, MPI_ERR_RANK, "lock");
    CHECK_CLASS(MPI_Win_lock(99, 0, 0, win), MPI_ERR_LOCKTYPE);
    expect(1, MPI_ERR_LOCKTYPE, "lock of no type");
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    expect(1, MPI_ERR_RMA_RANGE, "put beyond the window");
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    expect(1, MPI_ERR_OP, "accumulate");
    CHECK_CLASS(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    expect(1, MPI_ERR_COUNT, "put of a negative count");
    CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    expect(1, MPI_ERR_RMA_SYNC, "free");
    CHECK(win != MPI_WIN_NULL);
    CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
    CHECK(!called && !comm_called);
}

/* The handler is that of MPI_COMM_WORLD, or since MPI-4 that of MPI_COMM_SELF; hosts differ. */
static void of_no_communicator(MPI_Errhandler handler)
{
    void *base;
    MPI_Win none = MPI_WIN_NULL;
    MPI_Comm invalid = (MPI_Comm)0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    comm_called = 0;
    CHECK_CLASS(MPI_Win_create(memory, 4, 1, MPI_INFO_NULL, invalid, &none), MPI_ERR_COMM);
    CHECK(comm_called == 1 && last_class == MPI_ERR_COMM, "%d, %d", comm_called, last_class);
    CHECK_CLASS(MPI_Win_allocate(4, 1, MPI_INFO_NULL, invalid, &base, &none), MPI_ERR_COMM);
    CHECK(comm_called == 2 && last_class == MPI_ERR_COMM, "%d, %d", comm_called, last_class);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void of_creation(void)
{
    MPI_Win none = MPI_WIN_NULL;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_comm, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    comm_called = 0;
    CHECK(MPI_Win_create(memory, -5, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none) != MPI_SUCCESS);
    CHECK(comm_called == 1 && last_class == MPI_ERR_SIZE, "%d, %d", comm_called, last_class);
    CHECK(MPI_Win_create(memory, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &none) != MPI_SUCCESS);
    CHECK(comm_called == 2 && last_class == MPI_ERR_DISP, "%d, %d", comm_called, last_class);
    of_no_communicator(handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    called = 0;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    bool fatal = argc > 1 && !strcmp(argv[1], "fatal");
    memory = window_memory(sizeof *memory);
    MPI_Errhandler handler, before;
    MPI_Win_create(memory, sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_errhandler(win, &before);
    CHECK(before == MPI_ERRORS_ARE_FATAL);
    if (fatal) {
        /* Only the job's exit status shows whether this call aborts; nothing else in this case is
         * wrong. */
        if (test_rank == 0)
            MPI_Put(&memory_value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_free(&win);
        MPI_Free_mem(memory);
        MPI_Finalize();
        return 0;
    }
    MPI_Win_create_errhandler(on_window, &handler);
    MPI_Win_set_errhandler(win, handler);
    through_function();
    through_function();
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    CHECK(!called, "the handler was called after it had been replaced");
    MPI_Win_set_errhandler(win, handler);
    MPI_Errhandler_free(&handler); /* the window keeps it alive */
    through_function();
    if (argc > 1 && !strcmp(argv[1], "creation"))
        of_creation();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(*memory == 0);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    MPI_Free_mem(memory);
    return test_end();
}
