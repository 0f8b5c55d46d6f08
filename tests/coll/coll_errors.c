/* Wrong arguments return the standard's error class and invoke the communicator's error handler
 * once; nothing is written, and the communicator stays usable. Every rank makes the same mistake,
 * so no rank waits for another. */
#include "kinds.h"

static MPI_Comm comm;
static int called, last_class;
static MPI_Comm called_with;

static void handler(MPI_Comm *c, int *code, ...)
{
    called++;
    called_with = *c;
    last_class = class_of(*code);
}

#define EXPECT(call, class)                                                                        \
    do {                                                                                           \
        called = 0, last_class = MPI_SUCCESS;                                                      \
        int got_ = class_of(call);                                                                 \
        CHECK(got_ == (class), "%s: class %d, expected %d", #call, got_, class);                   \
        CHECK(called == 1, "%s: the handler was called %d times", #call, called);                  \
        CHECK(last_class == (class) && called_with == comm, "%s: handler: %d", #call, last_class); \
    } while (0)

static int out[64], in[64];

static void roots_and_counts(void)
{
    int none = test_size;
    EXPECT(MPI_Bcast(in, 1, MPI_INT, none, comm), MPI_ERR_ROOT);
    EXPECT(MPI_Bcast(in, 1, MPI_INT, -5, comm), MPI_ERR_ROOT);
    EXPECT(MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, none, comm), MPI_ERR_ROOT);
    EXPECT(MPI_Scatter(out, 1, MPI_INT, in, 1, MPI_INT, none, comm), MPI_ERR_ROOT);
    EXPECT(MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, none, comm), MPI_ERR_ROOT);
    EXPECT(MPI_Bcast(in, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
    EXPECT(MPI_Allgather(out, -1, MPI_INT, in, -1, MPI_INT, comm), MPI_ERR_COUNT);
    EXPECT(MPI_Alltoall(out, -1, MPI_INT, in, -1, MPI_INT, comm), MPI_ERR_COUNT);
}

static void types_and_operations(void)
{
    MPI_Datatype raw;
    MPI_Type_contiguous(2, MPI_INT, &raw); /* not committed */
    EXPECT(MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
    EXPECT(MPI_Bcast(in, 1, raw, 0, comm), MPI_ERR_TYPE);
    EXPECT(MPI_Allgather(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm), MPI_ERR_TYPE);
    EXPECT(MPI_Alltoall(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm), MPI_ERR_TYPE);
    EXPECT(MPI_Allreduce(out, in, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
    EXPECT(MPI_Reduce(out, in, 1, MPI_INT, MPI_OP_NULL, 0, comm), MPI_ERR_OP);
    EXPECT(MPI_Scan(out, in, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
    EXPECT(MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
    EXPECT(MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_BAND, comm), MPI_ERR_OP);
    EXPECT(MPI_Reduce(out, in, 1, MPI_FLOAT, MPI_BXOR, 0, comm), MPI_ERR_OP);
    EXPECT(MPI_Allreduce(out, in, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, comm), MPI_ERR_OP);
    EXPECT(MPI_Scan(out, in, 1, MPI_INT, MPI_MAXLOC, comm), MPI_ERR_OP);
    MPI_Type_free(&raw);
}

/* MPI_IN_PLACE instead of the receive buffer. Hosts differ in the error class, and in whose handler
 * they call. */
static void in_place_of_the_result(void)
{
    CHECK(class_of(MPI_Allreduce(out, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm)), "MPI_Allreduce");
    CHECK(class_of(MPI_Allreduce(out, MPI_IN_PLACE, 64, MPI_INT, MPI_SUM, comm)), "MPI_Allreduce");
    CHECK(class_of(MPI_Scan(out, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm)), "MPI_Scan");
    CHECK(class_of(MPI_Allgather(out, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm)),
          "MPI_Allgather");
    CHECK(class_of(MPI_Alltoall(out, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm)), "MPI_Alltoall");
}

/* MPICH 4.0.2 alone does not check this argument. */
static void negative_counts(void)
{
    EXPECT(MPI_Allreduce(out, in, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    EXPECT(MPI_Scan(out, in, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    EXPECT(MPI_Exscan(out, in, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    EXPECT(MPI_Reduce_scatter_block(out, in, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
}

/* Open MPI 4.1 alone accepts these arguments. */
static void aliases(void)
{
    EXPECT(MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    EXPECT(MPI_Scan(in, in, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    EXPECT(MPI_Alltoall(in, 4, MPI_INT, in, 4, MPI_INT, comm), MPI_ERR_BUFFER);
}

static void null_buffers(void)
{
    EXPECT(MPI_Bcast(NULL, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
    EXPECT(MPI_Allreduce(NULL, in, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    EXPECT(MPI_Allreduce(out, NULL, 64, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    EXPECT(MPI_Allgather(out, 4, MPI_INT, NULL, 4, MPI_INT, comm), MPI_ERR_BUFFER);
    int counts[16], displs[16] = {0};
    MPI_Datatype types[16];
    for (int r = 0; r < test_size; r++)
        counts[r] = 1, types[r] = MPI_INT;
    EXPECT(MPI_Allgatherv(out, 1, MPI_INT, NULL, counts, displs, MPI_INT, comm), MPI_ERR_BUFFER);
    EXPECT(MPI_Alltoallv(NULL, counts, displs, MPI_INT, in, counts, displs, MPI_INT, comm),
           MPI_ERR_BUFFER);
    EXPECT(MPI_Alltoallv(out, counts, displs, MPI_INT, NULL, counts, displs, MPI_INT, comm),
           MPI_ERR_BUFFER);
    EXPECT(MPI_Alltoallw(NULL, counts, displs, types, in, counts, displs, types, comm),
           MPI_ERR_BUFFER);
    EXPECT(MPI_Reduce_scatter(out, NULL, counts, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    EXPECT(MPI_Reduce_scatter_block(out, NULL, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bcast(NULL, 0, MPI_INT, 0, comm), MPI_SUCCESS);
    CHECK_CLASS(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Errhandler errhandler;
    coll_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(comm, errhandler);
    for (int turn = 0; turn < 2; turn++) { /* on a new communicator, and on one with a team */
        memset(in, COLL_MARK, sizeof in);
        roots_and_counts();
        types_and_operations();
        if (argc > 1 && !strcmp(argv[1], "aliases"))
            aliases();
        if (argc > 1 && !strcmp(argv[1], "null"))
            null_buffers();
        if (argc > 1 && !strcmp(argv[1], "counts"))
            negative_counts();
        CHECK(coll_untouched((char *)in, (char *)(in + 64)), "something was written");
        called = 0;
        for (int i = 0; i < 8; i++)
            kinds_all(comm, i, "after errors");
        CHECK(!called, "the handler was called for nothing");
    }
    /* Errors without a communicator belong to MPI_COMM_WORLD, since MPI-4 to MPI_COMM_SELF. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    in_place_of_the_result();
    CHECK_CLASS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL), MPI_ERR_COMM);
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free(&comm);
    return test_end();
}
