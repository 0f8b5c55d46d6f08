/* A GPU runtime is loaded after a communicator and windows were set up (H7: GPU memory). If the
 * host accepts GPU memory, they have been left to the host from the beginning. Otherwise the
 * runtime changes nothing.
 *
 *   coll_gpu_late LIBRARY accepts|refuses   what the host answers for CUDA
 */
#include "coll.h"
#include "gpu/gpu.h"

enum { CALLS = 100, COUNT = 8, LONG = 16 << 10 };

static void use(MPI_Comm comm, MPI_Win win, const int *memory)
{
    for (int i = 0; i < CALLS; i++) {
        int sum = 0, value = 1000 * i + test_rank;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == i * test_size, "%d", sum);
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        CHECK(sum == i, "%d", sum);
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(memory[0] == 1000 * i + test_previous(), "%d", memory[0]);
    }
}

static void send_buffered(void)
{
    static char buffer[LONG + MPI_BSEND_OVERHEAD], out[LONG], in[LONG];
    void *at;
    int size;
    memset(out, 1 + test_rank, LONG);
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend(out, LONG, MPI_CHAR, test_next(), 0, MPI_COMM_WORLD);
    MPI_Recv(in, LONG, MPI_CHAR, test_previous(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[LONG - 1] == 1 + test_previous(), "%d", in[LONG - 1]);
    MPI_Buffer_detach(&at, &size);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    gpu_accepted = !strcmp(argv[2], "accepts");
    int *memory = window_memory(COUNT * sizeof *memory);
    MPI_Win win = window_over(memory, COUNT * sizeof *memory, sizeof *memory);
    use(MPI_COMM_WORLD, win, memory);
    gpu_load(argv[0], argv[1]);
    use(MPI_COMM_WORLD, win, memory);
    MPI_Win_free(&win);
    win = window_over(memory, COUNT * sizeof *memory, sizeof *memory);
    use(MPI_COMM_WORLD, win, memory);
    MPI_Win_free(&win);
    send_buffered();
    return test_end();
}
