/* Communicators in parts: the two halves of the world, one that lies across them, and the world,
 * which the test runner can make two nodes. */
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
        if (inner)
            kinds_all(middle, i, "the middle");
    }
    MPI_Comm_free(&half);
    if (inner)
        MPI_Comm_free(&middle);
    return test_end();
}
