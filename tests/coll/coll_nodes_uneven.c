/* MPI_Allreduce with a user-defined operation if one node has more than 8 ranks, with which the
 * library does not combine long operands, and another node has fewer: both nodes leave the same
 * calls to the host. Otherwise the job hangs. */
#include "coll.h"

enum { LONGEST = 20000 };

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 4096, 4097, 5000, 16384, 16385, LONGEST};
    static int operand[LONGEST], result[LONGEST];
    MPI_Op sum;
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    MPI_Op_create(add, 1, &sum);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int i = 0, n = lengths[k];
        for (int j = 0; j < n; j++)
            operand[j] = test_rank + j;
        MPI_Allreduce(operand, result, n, MPI_INT, sum, MPI_COMM_WORLD);
        while (i < n && result[i] == test_size * (test_size - 1) / 2 + test_size * i)
            i++;
        CHECK(i == n, "of %d elements, number %d is %d", n, i, result[i]);
    }
    MPI_Op_free(&sum);
    return test_end();
}
