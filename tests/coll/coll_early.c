/* Ranks 0 and 1 make a communicator in a session before MPI_Init. If they are the ranks of one
 * node, only this node has early groups (node_setup.h). Then all nodes leave windows and
 * collectives that span nodes to the host. Otherwise the job hangs. */
#define _GNU_SOURCE
#include "coll.h"
#include "past_library.h"

#if MPI_VERSION >= 4
static __typeof__(&MPI_Comm_create_from_group) past_library;

static MPI_Comm communicator_of(MPI_Group group, __typeof__(past_library) create)
{
    MPI_Comm comm = MPI_COMM_NULL;
    create(group, "early", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    return comm;
}

/* Before a communicator of all processes exists, MPICH 4.0 makes none of some processes. Create
 * that of all directly in the host, so that the ranks of the node do not meet in it. */
static void make_early_communicators(MPI_Session session, MPI_Comm early[2])
{
    static const int first[] = {0, 1};
    MPI_Group world, few;
    int rank;
    *(void **)&past_library = find("MPI_Comm_create_from_group");
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_rank(world, &rank);
    early[0] = communicator_of(world, past_library);
    if (rank < 2) {
        MPI_Group_incl(world, 2, first, &few);
        early[1] = communicator_of(few, MPI_Comm_create_from_group);
        MPI_Group_free(&few);
    }
    MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Comm early[2] = {MPI_COMM_NULL, MPI_COMM_NULL}, duplicate;
    MPI_Win win;
    int x = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    make_early_communicators(session, early);
    coll_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    coll_warm(duplicate);
    MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, duplicate, &win);
    MPI_Win_free(&win);
    MPI_Comm_free(&duplicate);
    for (int i = 0; i < 2; i++)
        if (early[i] != MPI_COMM_NULL)
            MPI_Comm_free(&early[i]);
    MPI_Finalize();
    MPI_Session_finalize(&session);
    return test_failures ? 1 : 0;
}
#else
int main(void)
{
    return 77; /* only for hosts that have them */
}
#endif
