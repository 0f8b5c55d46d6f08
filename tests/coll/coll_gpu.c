/* One rank loads a GPU runtime after communicators were created without one. From then on its new
 * communicators are left to the host, on all ranks, even though on an intercommunicator only the
 * remote group is informed first (H7: GPU memory).
 *
 *   coll_gpu RANK LIBRARY   which rank loads which library; one that is not a GPU runtime changes
 *                           nothing
 */
#include "inter.h"

#include <dlfcn.h>

static void load(const char *program, const char *library)
{
    char path[4096];
    int folder = (int)(strrchr(program, '/') - program);
    snprintf(path, sizeof path, "%.*s/gpu/%s", folder, program, library);
    void *runtime = dlopen(path, RTLD_NOW);
    CHECK(runtime && dlsym(runtime, "cuda_is_here"), "%s: %s", path, dlerror());
}

int main(int argc, char **argv)
{
    MPI_Comm before;
    coll_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &before);
    for (int i = 0; i < 4; i++)
        MPI_Barrier(before);
    MPI_Comm_free(&before);
    if (test_rank == atoi(argv[1]))
        load(argv[0], argv[2]);
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
