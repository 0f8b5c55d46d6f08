/* The program creates files, windows and communicators from a communicator while it makes
 * collective calls on it. Hosts make collective calls of their own inside these, on the same or on
 * other communicators (H4: the host calls itself). Hangs or fails if such a call is accelerated on
 * some ranks only. */
#include "kinds.h"

#include <unistd.h>

enum { TIMES = 4, N = 3000 };

static MPI_Comm comm;

static void file(int mark)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char name[4096] = "";
    int mine[N], back[N];
    MPI_File file;
    if (test_rank == 0)
        snprintf(name, sizeof name, "%s/coll_host_calls.%d", folder, (int)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm);
    for (int i = 0; i < N; i++)
        mine[i] = mark + test_rank * N + i, back[i] = -1;
    int error = MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CHECK(!error, "%s does not open", name);
    MPI_Offset at = (MPI_Offset)test_rank * (MPI_Offset)sizeof mine;
    MPI_File_write_at_all(file, at, mine, N, MPI_INT, MPI_STATUS_IGNORE);
    kinds_all(comm, mark, "the communicator of a file");
    MPI_File_sync(file);
    MPI_Barrier(comm);
    MPI_File_read_at_all(file, (MPI_Offset)test_next() * (MPI_Offset)sizeof mine, back, N, MPI_INT,
                         MPI_STATUS_IGNORE);
    CHECK(back[7] == mark + test_next() * N + 7, "%d", back[7]);
    MPI_File_close(&file);
    if (test_rank == 0)
        unlink(name);
}

static void window(int mark)
{
    int *memory = window_memory(sizeof *memory), mine = mark + test_rank;
    MPI_Win win;
    MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    kinds_all(comm, mark, "the communicator of a window");
    MPI_Put(&mine, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win);
    kinds_all(comm, mark + 1, "the communicator of a window that is written");
    MPI_Win_fence(0, win);
    CHECK(*memory == mark + test_previous(), "%d", *memory);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm other;
        file(i);
        kinds_all(comm, i, "after a file");
        window(i);
        kinds_all(comm, i, "after a window");
        MPI_Comm_dup(comm, &other);
        kinds_all(other, i, "a copy");
        kinds_all(comm, i, "after a copy was made");
        MPI_Comm_free(&other);
        kinds_all(comm, i, "after a copy was freed");
    }
    MPI_Comm_free(&comm);
    return test_end();
}
