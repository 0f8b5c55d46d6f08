/* Communicators of parts of the world: its two halves and the world, which MPIACCEL_NODE_SIZE can
 * split into two nodes.
 *
 *   coll_nodes [middle]   also one that has a rank of each half
 */
#include "kinds.h"

enum { TIMES = 10 };

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Comm half, middle;
    bool inner = test_rank > 0 && test_rank < test_size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, test_rank / 2, 0, &half);
    MPI_Comm_split(MPI_COMM_WORLD, inner ? 1 : MPI_UNDEFINED, 0, &middle);
    for (int i = 0; i < TIMES; i++) {
        kinds_all(half, i, "a half");
        kinds_all(MPI_COMM_WORLD, i, "the world");
        if (inner && argc > 1)
            kinds_all(middle, i, "the middle");
    }
    MPI_Comm_free(&half);
    if (inner)
        MPI_Comm_free(&middle);
    return test_end();
}
