/* A buffer of one rank may be GPU memory: on its communicators all ranks leave the collectives to
 * the host, even though on an intercommunicator only the remote group is informed first (H7: GPU
 * memory).
 *
 *   coll_gpu RANK accepts   only the host of this rank accepts GPU memory
 *   coll_gpu RANK LIBRARY   this rank loads a GPU runtime after another communicator was set up
 */
#include "gpu/gpu.h"
#include "inter.h"

int main(int argc, char **argv)
{
    MPI_Comm before;
    coll_begin(&argc, &argv);
    bool accepts = !strcmp(argv[2], "accepts"), concerned = test_rank == atoi(argv[1]);
    gpu_accepted = accepts && concerned;
    MPI_Comm_dup(MPI_COMM_WORLD, &before);
    for (int i = 0; i < 4; i++)
        MPI_Barrier(before);
    MPI_Comm_free(&before);
    if (!accepts && concerned)
        gpu_load(argv[0], argv[2]);
    for (int many = 1; many < test_size; many++) {
        struct inter x = inter_make(0, many);
        for (int i = 0; i < 30; i++) {
            int root = inter_root(&x, i % 2, 0), data = root == MPI_ROOT ? i : -1, sum = -1;
            MPI_Bcast(&data, 1, MPI_INT, root, x.comm);
            CHECK(root == MPI_PROC_NULL || data == i, "bcast: %d", data);
            if (i > 10 || many % 2)
                MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, x.comm);
            CHECK((i <= 10 && many % 2 == 0) || sum == i * x.others, "allreduce: %d", sum);
        }
        inter_free(&x);
    }
    return test_end();
}
