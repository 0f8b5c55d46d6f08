/* A message longer than the receive buffer: MPI_ERR_TRUNCATE at the receiver, nothing written
 * beyond the buffer, correct results at other ranks, and no hang. On a communicator with a team.
 *
 *   coll_truncated [small]   leaves out sizes at which Open MPI 4.1 alone crashes
 */
#include "coll.h"

enum { ROOM = 10 };

static MPI_Comm comm;

static void expect_room(struct buffer *b, int error, const char *what, int n)
{
    CHECK(class_of(error) == MPI_ERR_TRUNCATE, "%s of %d: class %d", what, n, class_of(error));
    buffer_free(b); /* shows bytes written beyond the buffer */
}

int main(int argc, char **argv)
{
    static const int counts[] = {11, 100, 1000, 60000};
    coll_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int c = 0; c < (argc > 1 ? 3 : 4); c++) {
        int n = counts[c], error;
        /* a new communicator each: after an error its state is undefined */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        coll_warm(comm);
        struct buffer room = buffer_make(ROOM * sizeof(int));
        struct buffer all = buffer_make((size_t)(n * test_size) * sizeof(int));
        if (test_rank == 0) {
            error = MPI_Bcast(all.data, n, MPI_INT, 0, comm);
            CHECK(error == MPI_SUCCESS, "the root of bcast: %d", class_of(error));
            buffer_free(&room);
        } else {
            error = MPI_Bcast(room.data, ROOM, MPI_INT, 0, comm);
            expect_room(&room, error, "bcast", n);
        }
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        coll_warm(comm);
        room = buffer_make(ROOM * sizeof(int));
        if (test_rank == 0) {
            error = MPI_Scatter(all.data, n, MPI_INT, MPI_IN_PLACE, n, MPI_INT, 0, comm);
            CHECK(error == MPI_SUCCESS, "the root of scatter: %d", class_of(error));
            buffer_free(&room);
        } else {
            error = MPI_Scatter(NULL, 0, MPI_INT, room.data, ROOM, MPI_INT, 0, comm);
            expect_room(&room, error, "scatter", n);
        }
        buffer_free(&all);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return test_end();
}
