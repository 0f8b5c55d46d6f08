/* Long scans of private memory, where a rank that combines two remote operands has to fetch both.
 */
#include "coll.h"

enum { LONG = 100000 };

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    double *from = malloc(LONG * sizeof *from), *to = malloc(LONG * sizeof *to);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < LONG; i++)
            from[i] = (test_rank + 1) * (i + round);
        MPI_Exscan(from, to, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        int sum = test_rank * (test_rank + 1) / 2;
        for (int i = 0; i < LONG && test_rank; i++)
            CHECK(to[i] == sum * (double)(i + round), "round %d, element %d: %g", round, i, to[i]);
    }
    free(from);
    free(to);
    return test_end();
}
