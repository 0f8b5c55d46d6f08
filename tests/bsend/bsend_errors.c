/* Errors have the standard's class and reach the program once, through the communicator's handler,
 * with the name of the call that the program made; also if the same call was valid and accelerated
 * before. */
#include "bsend.h"

static unsigned char out[LONG];
static int handled, handled_class;
static char text[MPI_MAX_ERROR_STRING];

static void handler(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    handled++;
    handled_class = class_of(*error);
    int length;
    MPI_Error_string(*error, text, &length);
}

/* MPICH's messages name the call. */
static bool names_the_call(void)
{
    return host_is("Open MPI") || strstr(text, "MPI_Bsend(");
}

#define CHECK_HANDLED(call, expected)                                                         \
    do {                                                                                      \
        handled = handled_class = 0;                                                          \
        int class_ = class_of(call);                                                          \
        CHECK(class_ == (expected) && handled == 1 && handled_class == (expected),            \
              "%s: class %d, handled %d times as %d", #call, class_, handled, handled_class); \
        CHECK(names_the_call(), "%s: %s", #call, text);                                       \
    } while (0)

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int next = test_next();
    /* Open MPI 4.1 waits for a message that it has rejected, so nothing more is sent there. */
    MPI_Comm comm = MPI_COMM_WORLD, refusing;
    MPI_Comm_dup(MPI_COMM_WORLD, &refusing);
    MPI_Errhandler count;
    MPI_Comm_create_errhandler(handler, &count);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, count);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, count);
    MPI_Comm_set_errhandler(refusing, count);
    fill(out, LONG, 0);

    void *at;
    int bytes;

    /* no buffer */
    CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, next, 0, refusing), MPI_ERR_BUFFER);

    /* a buffer that lacks the overhead, or a part of it */
    static char little[LONG + 8];
    for (int more = 0; more <= 8; more += 8) {
        MPI_Buffer_attach(little, LONG + more);
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, next, 0, refusing), MPI_ERR_BUFFER);
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, next, 0, refusing), MPI_ERR_BUFFER);
        MPI_Buffer_detach(&at, &bytes);
    }

    /* a second buffer; Open MPI 4.1 reports no error, but keeps the first */
    static char other[1000], first[4 * (LONG + MPI_BSEND_OVERHEAD)];
    MPI_Buffer_attach(first, sizeof first);
    handled = 0; /* MPI_ERR_BUFFER, or MPI_ERR_OTHER in MPICH 4.2 */
    bool refused = MPI_Buffer_attach(other, sizeof other) != MPI_SUCCESS && handled == 1;
    CHECK(refused || host_is("Open MPI"), "%d", handled);
    send_often(out, LONG, 0, 1, comm);

    int *most, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag);
    bool less = flag && *most < INT32_MAX;
    if (less)
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, 1, *most + 1, comm), MPI_ERR_TAG);

    for (int repeated = 0; repeated < 3; repeated++) {
        MPI_Datatype open;
        MPI_Type_contiguous(LONG, MPI_BYTE, &open);
        CHECK_HANDLED(MPI_Bsend(out, -1, MPI_BYTE, 1, 0, comm), MPI_ERR_COUNT);
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_DATATYPE_NULL, 1, 0, comm), MPI_ERR_TYPE);
        CHECK_HANDLED(MPI_Bsend(out, 1, open, 1, 0, comm), MPI_ERR_TYPE);
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, test_size, 0, comm), MPI_ERR_RANK);
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, -77, 0, comm), MPI_ERR_RANK);
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, 1, -3, comm), MPI_ERR_TAG);
        CHECK_HANDLED(MPI_Bsend(NULL, LONG, MPI_BYTE, 1, 0, comm), MPI_ERR_BUFFER);
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, 1, 0, MPI_COMM_NULL), MPI_ERR_COMM);
        if (less)
            CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, 1, *most + 1, comm), MPI_ERR_TAG);
        MPI_Type_free(&open);
    }

    /* a rank of this communicator that does not exist in the one that reuses its handle */
    MPI_Comm two, one;
    MPI_Comm_dup(MPI_COMM_WORLD, &two);
    send_often(out, LONG, 0, test_size - 1, two);
    MPI_Comm_free(&two);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank, 0, &one);
    MPI_Comm_set_errhandler(one, count);
    CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, test_size - 1, 99, one), MPI_ERR_RANK);
    send_often(out, LONG, 0, 0, one);
    CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, test_size - 1, 99, one), MPI_ERR_RANK);
    MPI_Comm_free(&one);
    if (!host_is("Open MPI")) { /* which would dereference it */
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, 0, 99, (MPI_Comm)MPI_BYTE), MPI_ERR_COMM);
        CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, 0, 99, (MPI_Comm)0), MPI_ERR_COMM);
        CHECK_HANDLED(MPI_Bsend(out, 8, MPI_BYTE, 0, 99, (MPI_Comm)0), MPI_ERR_COMM);
    }

    MPI_Buffer_detach(&at, &bytes);
    CHECK(at == first && bytes == (int)sizeof first, "not the first buffer: %d bytes", bytes);
    CHECK_HANDLED(MPI_Bsend(out, LONG, MPI_BYTE, next, 0, refusing), MPI_ERR_BUFFER);
    MPI_Comm_free(&refusing);
    MPI_Errhandler_free(&count);
    return test_end();
}
