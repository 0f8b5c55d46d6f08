/* Intercommunicators are freed while their set-up may still be in progress. Fails if they leave
 * shared memory behind: after many of them there is room for one more. */
#include "inter.h"

enum { CYCLES = 150 };

static void use(const struct inter *x, int calls)
{
    for (int i = 0; i < calls; i++) {
        int root = inter_root(x, i % 2, 0), data = root == MPI_ROOT ? i : -1;
        MPI_Bcast(&data, 1, MPI_INT, root, x->comm);
        CHECK(root == MPI_PROC_NULL || data == i, "call %d: %d", i, data);
    }
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        struct inter x = inter_make(0, 1);
        use(&x, 2 + cycle % 3);
        if (cycle % 2)
            inter_free(&x);
        else {
            MPI_Comm_disconnect(&x.comm);
            MPI_Comm_free(&x.local);
        }
    }
    struct inter x = inter_make(0, 1);
    for (int i = 0; i < 40; i++)
        MPI_Barrier(x.comm);
    inter_free(&x);
    return test_end();
}
