/* Freeing a communicator does not wait for other ranks: the root frees it right after a Bcast, a
 * leaf after a Reduce or a Gather, and then sends the message for which the other ranks wait before
 * they take part. Communicators created meanwhile do not disturb operations still in progress on
 * the freed one. */
#include "kinds.h"

enum { CALLS = 6, TIMES = 12, N = 60, MEANWHILE = 4 };

static void token(bool send, int root)
{
    int t = 1;
    for (int r = 0; r < test_size; r++)
        if ((test_rank == root) != (r == root)) {
            if (send)
                MPI_Send(&t, 1, MPI_INT, r, 4, MPI_COMM_WORLD);
            else
                MPI_Recv(&t, 1, MPI_INT, r, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
}

static void small_and_own(void)
{
    MPI_Comm self;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    for (int i = 0; i < CALLS; i++)
        kinds_all(self, i, "of one rank");
    MPI_Comm_free(&self);
}

/* All but the last rank create, use and free communicators of their own. */
static void without_the_last(void)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, (int[]){test_size - 1}, &group);
    for (int i = 0; i < MEANWHILE; i++) {
        MPI_Comm comm;
        MPI_Comm_create_group(MPI_COMM_WORLD, group, i, &comm);
        for (int call = 0; call < 2 * CALLS; call++)
            kinds_all(comm, 1000 + i + call, "one without the last");
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* The last rank enters a Bcast late, on a communicator that all others have freed. */
static void the_last_is_late(int mark)
{
    MPI_Comm comm;
    int last = test_size - 1, t = 1, data[N];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int call = 0; call < CALLS; call++)
        kinds_all(comm, mark + call, "before all but one free it");
    for (int e = 0; e < N; e++)
        data[e] = test_rank ? -1 : mark + e;
    if (test_rank == last)
        MPI_Recv(&t, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(data, N, MPI_INT, 0, comm);
    MPI_Comm_free(&comm);
    if (test_rank != last)
        without_the_last();
    if (test_rank == 0)
        MPI_Send(&t, 1, MPI_INT, last, 5, MPI_COMM_WORLD);
    for (int e = 0; e < N; e++)
        kinds_expect(data[e], mark + e, "bcast", "one that all others have freed");
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    int data[N], sum[N], all[64 * N];
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm comm;
        int root = 0, kind = i % 3;
        bool ahead = kind == 0 ? test_rank == root : test_rank != root;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int call = 0; call < CALLS; call++)
            kinds_all(comm, i + call, "before it is freed");
        for (int e = 0; e < N; e++)
            data[e] = kind == 0 && test_rank != root ? -1 : i + e;
        if (!ahead)
            token(false, root);
        if (kind == 0)
            MPI_Bcast(data, N, MPI_INT, root, comm);
        else if (kind == 1)
            MPI_Reduce(data, sum, N, MPI_INT, MPI_SUM, root, comm);
        else
            MPI_Gather(data, N, MPI_INT, all, N, MPI_INT, root, comm);
        MPI_Comm_free(&comm);
        if (ahead) {
            small_and_own();
            token(true, root);
        }
        for (int e = 0; e < N; e++) {
            kinds_expect(data[e], i + e, "bcast", "one that is freed");
            if (kind == 1 && test_rank == root)
                kinds_expect(sum[e], test_size * (i + e), "reduce", "one that is freed");
            for (int r = 0; kind == 2 && test_rank == root && r < test_size; r++)
                kinds_expect(all[r * N + e], i + e, "gather", "one that is freed");
        }
    }
    for (int i = 0; i < TIMES && test_size > 2; i++)
        the_last_is_late(i);
    return test_end();
}
