/* Collectives on communicators of a session (MPI-4), in a program that never calls MPI_Init; with
 * the argument, in one that calls it while the session is open (H31: life cycle). */
#include "kinds.h"

#if MPI_VERSION >= 4
enum { TIMES = 5 };

static void use(MPI_Session session, const char *set)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &test_rank);
    for (int i = 0; i < TIMES; i++)
        kinds_all(comm, i, set);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    use(session, "mpi://SELF");
    use(session, "mpi://WORLD");
    if (argc > 1) {
        coll_begin(&argc, &argv);
        kinds_all(MPI_COMM_WORLD, 1, "the world");
        use(session, "mpi://WORLD");
        for (int i = 0; i < TIMES; i++)
            kinds_all(MPI_COMM_WORLD, i, "the world");
        MPI_Finalize();
    }
    use(session, "mpi://WORLD");
    MPI_Session_finalize(&session);
    return test_failures ? 1 : 0;
}
#else
int main(void)
{
    return 77; /* only for hosts that have them */
}
#endif
