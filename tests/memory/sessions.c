/* Sessions (MPI-4; H31: life cycle): opened and closed twice, with memory and messages used in
 * each, in a program that never calls MPI_Init; with the argument `mixed`, around MPI_Init, and
 * then with windows on a session's communicators. An outer session stays open: MPICH 4.0.2 alone
 * fails at a second initialisation, and at windows without the world model. */
#include "test.h"

#if MPI_VERSION >= 4
static void on_windows(MPI_Comm comm)
{
    long *memory, value = 7 + test_rank;
    int rank, size;
    MPI_Win win;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK_CLASS(MPI_Alloc_mem(64, MPI_INFO_NULL, &memory), MPI_SUCCESS);
    memory[0] = 0;
    MPI_Win_create(memory, 64, 8, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(memory[0] >= 7, "%ld", memory[0]);
    MPI_Win_free(&win);
    CHECK_CLASS(MPI_Free_mem(memory), MPI_SUCCESS);

    /* MPICH 4.0.2 alone addresses wrong bytes unless the size is a multiple of 64. */
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, comm, &memory, &win);
    MPI_Win_lock_all(0, win);
    MPI_Accumulate(&value, 1, MPI_LONG, (rank + 1) % size, 1, 1, MPI_LONG, MPI_REPLACE, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(comm);
    CHECK(memory[1] >= 7, "%ld", memory[1]);
    MPI_Win_free(&win);
}

static void on_messages(MPI_Comm comm)
{
    char *memory;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK_CLASS(MPI_Alloc_mem(64, MPI_INFO_NULL, &memory), MPI_SUCCESS);
    memset(memory, 0, 64);
    memory[0] = (char)(1 + rank);
    MPI_Sendrecv(memory, 1, MPI_CHAR, (rank + 1) % size, 0, memory + 1, 1, MPI_CHAR, MPI_ANY_SOURCE,
                 0, comm, MPI_STATUS_IGNORE);
    CHECK(memory[1] == 1 + (rank + size - 1) % size, "%d", memory[1]);
    CHECK_CLASS(MPI_Free_mem(memory), MPI_SUCCESS);
}

static void on_set(MPI_Session session, const char *set)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    on_messages(comm);
    int initialized, finalized;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized && !finalized)
        on_windows(comm);
    MPI_Comm_free(&comm);
}

static MPI_Session open_session(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    return session;
}

static void use_session(void)
{
    MPI_Session session = open_session();
    on_set(session, "mpi://SELF");
    on_set(session, "mpi://WORLD");
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    bool mixed = argc > 1 && !strcmp(argv[1], "mixed");
    MPI_Session outer = open_session();
    use_session();
    if (mixed) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
        use_session();
        MPI_Finalize();
    }
    use_session();
    MPI_Session_finalize(&outer);
    return test_failures ? 1 : 0;
}
#else
int main(void)
{
    return 77; /* only for hosts that have them */
}
#endif
