/* As `bsend_self_attribute receive`, but with a session, which is finalized before MPI_Finalize or,
 * with the argument `after`, after MPI_Finalize. The host may call the delete functions in the last
 * of the two calls. */
#include "bsend.h"

#if MPI_VERSION >= 4
static unsigned char out[LONG], in[LONG];

static int receives(MPI_Comm self, int key, void *value, void *state)
{
    (void)self, (void)key, (void)value, (void)state;
    MPI_Recv(in, LONG, MPI_BYTE, test_previous(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(!wrong_bytes(in, LONG, 1), "the message");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key;
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    bool after = argc > 1 && !strcmp(argv[1], "after");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    attach(room_for(1, LONG));
    fill(out, LONG, 1);
    MPI_Bsend(out, LONG, MPI_BYTE, test_next(), 0, MPI_COMM_WORLD);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, receives, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
    if (!after)
        MPI_Session_finalize(&session);
    MPI_Finalize();
    if (after)
        MPI_Session_finalize(&session);
    return test_failures ? 1 : 0;
}
#else
int main(void)
{
    return 77; /* only for hosts that have sessions */
}
#endif
