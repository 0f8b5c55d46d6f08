/* Less room than what comes: MPI_ERR_TRUNCATE where the room is, nothing written beyond it, nobody
 * else the wiser, and nobody waits for ever. On a communicator that is known.
 *
 *   coll_truncated [small]   leaves out what is so large that Open MPI 4.1 alone crashes
 */
#include "coll.h"

enum { ROOM = 10 };

static MPI_Comm comm;

static void expect_room(struct buffer *b, int error, const char *what, int n)
{
    CHECK(class_of(error) == MPI_ERR_TRUNCATE, "%s of %d: class %d", what, n, class_of(error));
    buffer_free(b); /* sees what was written beyond */
}

int main(int argc, char **argv)
{
    static const int counts[] = {11, 100, 1000, 60000};
    coll_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int c = 0; c < (argc > 1 ? 3 : 4); c++) {
        int n = counts[c], error;
        /* one communicator each: what is left of it is not said */
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
