/* Wrong arguments on an intercommunicator are detected by the ranks that take part, and not by
 * ranks that pass MPI_PROC_NULL; after each of them all ranks are still in step.
 *
 *   coll_inter_errors [cut]   only messages longer than the receive buffer
 */
#include "inter.h"

enum { N = 3000 };

static struct inter x;

static void still_works(const char *after)
{
    for (int side = 0; side < 2; side++)
        for (int rank = 0; rank < (side == x.side ? x.size : x.others); rank++) {
            int root = inter_root(&x, side, rank), data = root == MPI_ROOT ? 100 + rank : -1;
            MPI_Bcast(&data, 1, MPI_INT, root, x.comm);
            CHECK(root == MPI_PROC_NULL || data == 100 + rank, "bcast after %s: %d", after, data);
        }
    int sum = -1;
    MPI_Allreduce(&x.me, &sum, 1, MPI_INT, MPI_SUM, x.comm);
    CHECK(sum == x.others * (x.others - 1) / 2, "allreduce after %s: %d", after, sum);
}

/* With a root in group 0; a rank that passes MPI_PROC_NULL may get an error or not. */
#define WRONG(call, expected)                                                                  \
    do {                                                                                       \
        int root = inter_root(&x, 0, 0), got_ = class_of(call);                                \
        CHECK(root == MPI_PROC_NULL || got_ == (expected), "%s: class %d, expected %d", #call, \
              got_, expected);                                                                 \
        still_works(#call);                                                                    \
    } while (0)

static void wrong_arguments(void)
{
    int one = 1, all[64] = {0};
    double complex_number[2] = {0}, result[2];
    WRONG(MPI_Bcast(&one, -1, MPI_INT, root, x.comm), MPI_ERR_COUNT);
    WRONG(MPI_Bcast(&one, 1, MPI_DATATYPE_NULL, root, x.comm), MPI_ERR_TYPE);
    WRONG(MPI_Reduce(&one, all, 1, MPI_INT, MPI_OP_NULL, root, x.comm), MPI_ERR_OP);
    WRONG(MPI_Reduce(complex_number, result, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, root, x.comm),
          MPI_ERR_OP);
    CHECK_CLASS(MPI_Bcast(&one, 1, MPI_INT, 1000, x.comm), MPI_ERR_ROOT);
    still_works("a root that is none");
    CHECK_CLASS(MPI_Allreduce(complex_number, result, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, x.comm),
                MPI_ERR_OP);
    still_works("an operation that is not defined");
    CHECK_CLASS(MPI_Allgather(&one, 1, MPI_DATATYPE_NULL, all, 1, MPI_INT, x.comm), MPI_ERR_TYPE);
    still_works("a datatype that is none");
    CHECK_CLASS(MPI_Scan(&one, all, 1, MPI_INT, MPI_SUM, x.comm), MPI_ERR_COMM);
    still_works("a scan");
    int error = MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, x.comm);
    CHECK(error != MPI_SUCCESS, "in place between groups");
    still_works("in place");
}

static void nothing_at_all(void)
{
    int none = 0;
    CHECK_CLASS(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, x.comm), MPI_SUCCESS);
    CHECK_CLASS(MPI_Allgather(NULL, 0, MPI_INT, &none, 0, MPI_INT, x.comm), MPI_SUCCESS);
    still_works("nothing");
}

static void more_than_room(void)
{
    static int data[N], all[64 * N];
    for (int n = 2; n <= N; n += N - 2) {
        int root = inter_root(&x, 0, 0), room = root == MPI_ROOT ? n : n - 1;
        for (int i = 0; i < N; i++)
            data[i] = root == MPI_ROOT ? 1 : -1;
        int class = class_of(MPI_Bcast(data, room, MPI_INT, root, x.comm));
        CHECK(class == (root >= 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "bcast: class %d", class);
        CHECK(root < 0 || (data[0] == 1 && data[n - 1] == -1), "bcast: %d", data[n - 1]);
        still_works("a long bcast");
        class = class_of(MPI_Gather(data, n, MPI_INT, all, n - 1, MPI_INT, root, x.comm));
        CHECK(class == (root == MPI_ROOT ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "gather: %d", class);
        still_works("a long gather");
    }
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* Open MPI may report it there */
    for (int many = 1; many < test_size; many++) {
        x = inter_make(0, many);
        MPI_Comm_set_errhandler(x.comm, MPI_ERRORS_RETURN);
        coll_warm(x.comm);
        if (argc > 1) {
            more_than_room();
        } else {
            nothing_at_all();
            wrong_arguments();
        }
        inter_free(&x);
    }
    return test_end();
}
