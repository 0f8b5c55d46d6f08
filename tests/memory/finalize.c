/* MPI_Finalize is called while objects are still alive, or without any of them having been used
 * (H31: life cycle).
 *
 *   finalize nothing   no call between Init and Finalize
 *   finalize memory    memory that is never freed
 *   finalize windows   windows of MPI_Win_create and MPI_Win_allocate that are never freed
 *   finalize request   a request that is complete but never waited for
 *   finalize thread N  MPI_Init_thread with level N (0 to 3), then one-sided calls and an orderly
 *                      end
 */
#include "test.h"

static MPI_Win a_window(void)
{
    long *memory = window_memory(64), value = 9;
    MPI_Win win = window_over(memory, 64, 8);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, test_next(), 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(*memory == 9, "%ld", *memory);
    return win;
}

static void an_allocated_window(void)
{
    long *memory, value = 9;
    MPI_Win win;
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, test_next(), 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(*memory == 9, "%ld", *memory);
}

static void a_request(void)
{
    static long value = 3;
    MPI_Request request;
    MPI_Win win = a_window();
    MPI_Win_lock_all(0, win);
    MPI_Rput(&value, 1, MPI_LONG, test_next(), 1, 1, MPI_LONG, win, &request);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void use(const char *what)
{
    MPI_Win win;
    if (!strcmp(what, "memory")) {
        window_memory(0);
        window_memory(1 << 20);
    } else if (!strcmp(what, "windows")) {
        a_window();
        an_allocated_window();
    } else if (!strcmp(what, "request")) {
        a_request();
    } else if (!strcmp(what, "thread")) {
        win = a_window();
        MPI_Win_free(&win);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "nothing";
    int level = argc > 2 ? atoi(argv[2]) : 0, provided, finalized;
    if (argc > 2)
        MPI_Init_thread(&argc, &argv,
                        (int[]){MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                MPI_THREAD_MULTIPLE}[level],
                        &provided);
    else
        MPI_Init(&argc, &argv);
    if (!strcmp(what, "nothing"))
        return test_end();
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    use(what);
    MPI_Finalize();
    MPI_Finalized(&finalized);
    CHECK(finalized, "not finalized");
    return test_failures ? 1 : 0;
}
