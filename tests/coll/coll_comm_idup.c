/* A communicator is set up while an MPI_Comm_idup of it is in progress, which Open MPI continues at
 * any time (H14: setting up is itself collective). Fails by a hang, or by wrong data on the
 * duplicate. The set-up must not make a call wait that does not wait in the host (H15:
 * collectives that do not synchronise). */
#include "inter.h"
#include "kinds.h"

enum { POLLS = 200, BROADCASTS = 3, AHEAD = 20, TIMES = 4, CALLS = 5 };

static void duplicate(MPI_Comm parent, bool with_info, MPI_Comm *comm, MPI_Request *request)
{
#if MPI_VERSION >= 4
    if (with_info) {
        MPI_Comm_idup_with_info(parent, MPI_INFO_NULL, comm, request);
        return;
    }
#endif
    (void)with_info;
    MPI_Comm_idup(parent, comm, request);
}

/* The host goes on with MPI_Comm_idup on all ranks but one: the root of the broadcasts that follow,
 * which does not wait for anything in the host. */
static void make_progress(void)
{
    int flag;
    for (int i = 0; test_rank && i < POLLS; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void use(MPI_Comm comm, int mark, const char *name)
{
    for (int i = 0; i < TIMES; i++)
        kinds_all(comm, mark + i, name);
}

static void complete(MPI_Comm comm, MPI_Request *request, int mark)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    use(comm, mark, "the duplicate");
    MPI_Comm_free(&comm);
}

static void broadcast(MPI_Comm parent, int times)
{
    for (int i = 0; i < times; i++) {
        int value = test_rank ? -1 : i;
        MPI_Bcast(&value, 1, MPI_INT, 0, parent);
        kinds_expect(value, i, "bcast", "the parent");
    }
}

/* `calls`: on the parent before the duplication, which thus begins before the set-up, during it, or
 * after it. */
static void within(MPI_Comm parent, int calls, bool with_info)
{
    MPI_Comm comm;
    MPI_Request request;
    for (int i = 0; i < calls; i++)
        MPI_Barrier(parent);
    duplicate(parent, with_info, &comm, &request);
    make_progress();
    broadcast(parent, BROADCASTS);
    use(parent, calls, "the parent");
    complete(comm, &request, calls);
}

/* A communicator that the library sets up by itself, not through another one. */
static MPI_Comm of_all(void)
{
    MPI_Comm comm;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_create_group(MPI_COMM_WORLD, world, 3, &comm);
    MPI_Group_free(&world);
    return comm;
}

static void within_group(int calls, bool with_info)
{
    MPI_Comm parent = of_all();
    within(parent, calls, with_info);
    MPI_Comm_free(&parent);
}

/* The last rank takes part in the broadcasts when their root has made all of them. */
static void ahead(void)
{
    MPI_Comm comm, parent = of_all();
    MPI_Request request;
    int last = test_size - 1;
    MPI_Comm_idup(parent, &comm, &request);
    if (test_rank == last)
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    broadcast(parent, AHEAD);
    if (test_rank == 0)
        MPI_Send(NULL, 0, MPI_INT, last, 0, MPI_COMM_WORLD);
    complete(comm, &request, 0);
    MPI_Comm_free(&parent);
}

static void sum_of_other_group(MPI_Comm inter, const struct inter *x)
{
    int mine = inter_mine(x), sum = -1, expected = 0;
    for (int r = 0; r < x->others; r++)
        expected += inter_other(x, r);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    kinds_expect(sum, expected, "allreduce", "an intercommunicator");
}

static void between_groups(int calls, bool with_info)
{
    struct inter x = inter_make(0, test_size / 2);
    MPI_Comm comm;
    MPI_Request request;
    for (int i = 0; i < calls; i++)
        MPI_Barrier(x.comm);
    duplicate(x.comm, with_info, &comm, &request);
    make_progress();
    for (int i = 0; i < CALLS; i++)
        sum_of_other_group(x.comm, &x);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < CALLS; i++)
        sum_of_other_group(comm, &x);
    MPI_Comm_free(&comm);
    inter_free(&x);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    within(MPI_COMM_WORLD, 0, false);
    for (int calls = 0; calls < CALLS; calls++)
        for (int with_info = 0; with_info < 2; with_info++) {
            within_group(calls, with_info);
            between_groups(calls, with_info);
        }
    ahead();
    return test_end();
}
