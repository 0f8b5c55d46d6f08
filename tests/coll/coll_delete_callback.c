/* The delete function of a communicator's attribute uses the communicator, which MPI_Comm_free is
 * about to free. No state of it remains when its handle is reused for another group (H24: a freed
 * handle comes back for something else). */
#include "kinds.h"

static int deleted, calls;
static bool only_barriers; /* which do not complete the set-up of a communicator at once */

static int delete (MPI_Comm comm, int key, void *value, void *state)
{
    (void)key, (void)value, (void)state;
    for (int i = 0; i < calls; i++)
        if (only_barriers)
            MPI_Barrier(comm);
        else
            kinds_all(comm, 3 * i, "the communicator that is being freed");
    deleted++;
    return MPI_SUCCESS;
}

/* MPI_Comm_free calls the delete functions although the team's set-up has just begun. MPI_Comm_free
 * waits only a millisecond for the set-up, so on a busy machine some calls are late. */
static void during_set_up(int key)
{
    enum { TIMES = 50 };
    int in_time = 0;
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, test_rank, &comm);
        MPI_Comm_set_attr(comm, key, NULL);
        MPI_Barrier(comm);
        MPI_Barrier(comm);
        int before = deleted;
        MPI_Comm_free(&comm);
        in_time += deleted > before;
    }
    CHECK(in_time, "MPI_Comm_free called no delete function");
}

int main(int argc, char **argv)
{
    int key;
    coll_begin(&argc, &argv);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key, NULL);
    for (int i = 0; i < 24; i++) {
        MPI_Comm whole, half;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -test_rank : test_rank, &whole);
        MPI_Comm_set_attr(whole, key, NULL);
        if (i % 4 == 3)
            coll_warm(whole);
        if (i % 8 == 4)
            MPI_Barrier(whole);
        calls = i % 3;
        only_barriers = i % 8 == 4;
        MPI_Comm_free(&whole);
        CHECK(deleted == i + 1, "%d", deleted);
        MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, &half);
        for (int k = 0; k < 3; k++)
            kinds_all(half, i, "the next with its handle");
        MPI_Comm_free(&half);
    }
    calls = 0;
    during_set_up(key);
    MPI_Comm_free_keyval(&key);
    return test_end();
}
