/* One rank has a session when the ranks call MPI_Finalize, so its host is not finalized then. The
 * other ranks must not wait for it in node_setup_finalize(). */
#include "test.h"

#if MPI_VERSION >= 4
int main(int argc, char **argv)
{
    MPI_Session session;
    test_begin(&argc, &argv);
    if (test_rank == 0)
        CHECK(!MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    int result = test_end();
    if (test_rank == 0)
        MPI_Session_finalize(&session);
    return result;
}
#else
int main(void)
{
    return 0;
}
#endif
