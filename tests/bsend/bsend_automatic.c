/* The buffers of MPI-4.1: MPI_BUFFER_AUTOMATIC, buffers of a communicator and of a session, and
 * flushing, which waits until all messages have been received and keeps the buffer attached. With
 * "iflush", the program uses the nonblocking flush before it sends. Only where MPI is 4.1. */
#include "bsend.h"

#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
/* MPICH up to 5.0 alone does not wait for messages that have left its own buffer. */
#define WAITS(buffer) (!host_is("MPICH") || (buffer) != MPI_BUFFER_AUTOMATIC)
/* Open MPI 6.0 alone waits in MPI_Buffer_iflush. */
#define IFLUSH_WAITS host_is("Open MPI")

enum { MESSAGES = 6 };

static unsigned char out[LONG], in[LONG];
static bool iflushes;

/* Rank 0 always sends the same bytes from the same address. */
static void send_all(MPI_Comm comm, int messages, unsigned seed)
{
    fill(out, LONG, seed);
    for (int i = 0; i < messages && test_rank == 0; i++)
        CHECK_CLASS(MPI_Bsend(out, LONG, MPI_BYTE, 1, i, comm), MPI_SUCCESS);
    memset(out, 0xee, LONG);
}

static void receive_all(MPI_Comm comm, int messages, unsigned seed)
{
    for (int i = messages - 1; i >= 0 && test_rank == 1; i--) {
        MPI_Recv(in, LONG, MPI_BYTE, 0, i, comm, MPI_STATUS_IGNORE);
        CHECK(!wrong_bytes(in, LONG, seed), "message %d", i);
    }
}

/* A message is received late, and the sender waits for it. */
static void flush_with(void (*flush)(MPI_Comm), MPI_Comm comm, unsigned seed)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = seconds();
    send_all(comm, 1, seed);
    if (test_rank == 0) {
        CHECK(seconds() - start < 0.3, "a buffered send has waited");
        flush(comm);
        CHECK(seconds() - start > 0.15, "flushed before all was received");
    } else {
        pause_ms(400);
    }
    receive_all(comm, 1, seed);
}

static void flush(MPI_Comm comm)
{
    (void)comm;
    CHECK_CLASS(MPI_Buffer_flush(), MPI_SUCCESS);
}

static void iflush(MPI_Comm comm)
{
    (void)comm;
    MPI_Request request;
    double start = seconds();
    CHECK_CLASS(MPI_Buffer_iflush(&request), MPI_SUCCESS);
    CHECK(IFLUSH_WAITS || seconds() - start < 0.3, "MPI_Buffer_iflush has waited");
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

static void comm_flush(MPI_Comm comm)
{
    CHECK_CLASS(MPI_Comm_flush_buffer(comm), MPI_SUCCESS);
}

static void comm_iflush(MPI_Comm comm)
{
    MPI_Request request;
    CHECK_CLASS(MPI_Comm_iflush_buffer(comm, &request), MPI_SUCCESS);
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

/* Buffers of the process: one of the program, and MPI_BUFFER_AUTOMATIC. */
static void process_buffer(void *buffer, int bytes, unsigned seed)
{
    void *at = NULL;
    CHECK_CLASS(MPI_Buffer_attach(buffer, bytes), MPI_SUCCESS);
    fill(out, LONG, seed);
    send_often(out, LONG, 0, 1, MPI_COMM_WORLD);
    flush_with(flush, MPI_COMM_WORLD, seed);
    if (iflushes && WAITS(buffer))
        flush_with(iflush, MPI_COMM_WORLD, seed);
    send_all(MPI_COMM_WORLD, MESSAGES, seed);
    receive_all(MPI_COMM_WORLD, MESSAGES, seed);
    CHECK_CLASS(MPI_Buffer_detach(&at, &bytes), MPI_SUCCESS);
    CHECK(at == buffer, "%p for %p", at, buffer);
}

/* A buffer of a communicator, while the process has one too. */
static void comm_buffer(void *buffer, int bytes, unsigned seed)
{
    void *at = NULL;
    int none;
    MPI_Comm comm;
    static char beside[2 * (LONG + MPI_BSEND_OVERHEAD)];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Buffer_attach(beside, sizeof beside);
    CHECK_CLASS(MPI_Comm_attach_buffer(comm, buffer, bytes), MPI_SUCCESS);
    fill(out, LONG, seed);
    send_often(out, LONG, 0, 1, comm);
    flush_with(comm_flush, comm, seed);
    if (iflushes && WAITS(buffer))
        flush_with(comm_iflush, comm, seed);
    send_all(comm, MESSAGES, seed);
    receive_all(comm, MESSAGES, seed);
    CHECK_CLASS(MPI_Comm_detach_buffer(comm, &at, &bytes), MPI_SUCCESS);
    CHECK(at == buffer, "%p for %p", at, buffer);
    MPI_Buffer_detach(&at, &none);
    CHECK(at == beside, "%p for %p", at, (void *)beside);
    MPI_Comm_free(&comm);
}

/* There is room for one message, and each is received before the next is sent. */
static void comm_room_again(void)
{
    void *at;
    int size, bytes = room_for(1, 2000);
    MPI_Comm comm;
    char *buffer = malloc((size_t)bytes);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_attach_buffer(comm, buffer, bytes);
    for (int i = 0; i < 100; i++) {
        if (test_rank == 0)
            CHECK_CLASS(MPI_Bsend(out, 2000, MPI_BYTE, 1, i, comm), MPI_SUCCESS);
        else
            MPI_Recv(in, 2000, MPI_BYTE, 0, i, comm, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_detach_buffer(comm, &at, &size);
    MPI_Comm_free(&comm);
    free(buffer);
}

/* A communicator's buffer does not wait for messages on another communicator. */
static void flush_beside(void *buffer, int bytes)
{
    void *at;
    int size;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    MPI_Comm_attach_buffer(comm, buffer, bytes);
    fill(out, LONG, 7);
    send_often(out, LONG, 0, 1, MPI_COMM_WORLD);
    send_often(out, LONG, 0, 1, comm);
    send_all(MPI_COMM_WORLD, 1, 7);
    if (test_rank == 0) {
        MPI_Comm_flush_buffer(comm);
        MPI_Comm_detach_buffer(comm, &at, &size);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 1, comm); /* the other message is received only now */
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
        MPI_Comm_detach_buffer(comm, &at, &size);
    }
    receive_all(MPI_COMM_WORLD, 1, 7);
    MPI_Buffer_detach(&at, &size);
    MPI_Comm_free(&comm);
}

/* Without a buffer of its own scope the host rejects each message. */
static void no_buffer(void)
{
    void *at;
    int size;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
    for (int i = 0; i < 4; i++)
        CHECK_CLASS(i % 2 ? MPI_Ibsend(out, LONG, MPI_BYTE, test_rank, 0, MPI_COMM_WORLD, &request)
                          : MPI_Bsend(out, LONG, MPI_BYTE, test_rank, 0, MPI_COMM_WORLD),
                    MPI_ERR_BUFFER);
    MPI_Comm_detach_buffer(comm, &at, &size);
    MPI_Comm_free(&comm);
}

static void session_buffer(void)
{
    void *at;
    int size;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "libmpiaccel.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &comm);
    CHECK_CLASS(MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
    send_all(comm, MESSAGES, 8);
    receive_all(comm, MESSAGES, 8);
    CHECK_CLASS(MPI_Session_detach_buffer(session, &at, &size), MPI_SUCCESS);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int bytes = room_for(2 * MESSAGES, LONG);
    void *buffer = malloc((size_t)bytes);
    if (argc > 1 && !strcmp(argv[1], "session"))
        session_buffer();
    iflushes = argc > 1 && !strcmp(argv[1], "iflush");
    if (iflushes) {
        void *at;
        int size;
        MPI_Buffer_attach(buffer, bytes);
        iflush(MPI_COMM_WORLD);
        MPI_Buffer_detach(&at, &size);
    }
    process_buffer(MPI_BUFFER_AUTOMATIC, 0, 1);
    process_buffer(buffer, bytes, 2);
    comm_buffer(MPI_BUFFER_AUTOMATIC, 0, 3);
    comm_buffer(buffer, bytes, 4);
    comm_room_again();
    flush_beside(buffer, bytes);
    no_buffer();
    free(buffer);
    return test_end();
}
#else
int main(void)
{
    return 77;
}
#endif
