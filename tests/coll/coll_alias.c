/* One rank passes the same buffer as send and receive buffer, which is an error of the program, and
 * the other ranks do not. If the host accepts it (Open MPI 4.1 does), it must not hang. With
 * "unchecked", a setting switches the host's check off, and all ranks pass the same buffer twice to
 * MPI_Reduce. */
#include "coll.h"

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    for (int root = 0; argc > 1 && root < test_size; root++) {
        long data[600] = {test_rank, [599] = 1};
        MPI_Reduce(data, data, 600, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
        if (test_rank == root)
            CHECK(data[0] == test_size * (test_size - 1) / 2 && data[599] == test_size,
                  "root %d: %ld %ld", root, data[0], data[599]);
    }
    for (int one = 0; one < test_size; one++) {
        int mine = 1 + test_rank, sum = 0;
        int *to = test_rank == one ? &mine : &sum;
        MPI_Allreduce(&mine, to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(*to == test_size * (test_size + 1) / 2, "rank %d: %d", one, *to);
        mine = 1 + test_rank;
        MPI_Scan(&mine, to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(*to == (test_rank + 1) * (test_rank + 2) / 2, "rank %d: scan %d", one, *to);
    }
    return test_end();
}
