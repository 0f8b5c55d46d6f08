/* A library ends its communication when MPI_Finalize deletes an attribute of MPI_COMM_SELF: a rank
 * that waits there in a barrier still takes part in messages (H9: host progress while waiting). */
#include "test.h"

enum { LONG = 1 << 20 };

static int cleaned;

static int cleanup(MPI_Comm self, int key, void *value, void *state)
{
    (void)self, (void)key, (void)state;
    char *in = calloc(LONG, 1), *out = value;
    MPI_Request request;
    if (test_rank == 0) {
        MPI_Irecv(in, LONG, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(!memcmp(in, out, LONG));
    } else {
        if (test_rank == 1)
            MPI_Send(out, LONG, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(in);
    cleaned++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key;
    char *data = malloc(LONG);
    test_begin(&argc, &argv);
    for (int i = 0; i < LONG; i++)
        data[i] = (char)(i * 7 + i / 1000);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, cleanup, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, data);
    for (int i = 0; i < 8; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    CHECK(cleaned == 1, "cleaned %d times", cleaned);
    free(data);
    return test_failures ? 1 : 0;
}
