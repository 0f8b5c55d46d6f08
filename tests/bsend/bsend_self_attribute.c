/* Delete functions of attributes of MPI_COMM_SELF, which MPI_Finalize calls before it waits for
 * messages (MPI-4.0, 11.2.4), communicate while long buffered messages are under way:
 *
 *   bsend_self_attribute receive   they receive these messages
 *   bsend_self_attribute release   they send what the receiver waits for, and a long buffered
 *                                  message
 *   bsend_self_attribute replace   they send, detach the buffer, attach another one, and send
 *                                  again
 *
 * Hangs if MPI_Finalize waits for the messages first. */
#include "bsend.h"

enum { TO_RELEASE = 9 };

static unsigned char out[LONG], in[LONG];

/* Message `m` contains fill(m). */
static void send(int m, int to)
{
    fill(out, LONG, (unsigned)m);
    CHECK_CLASS(MPI_Bsend(out, LONG, MPI_BYTE, to, m, MPI_COMM_WORLD), MPI_SUCCESS);
}

static void receive(int m, int from)
{
    memset(in, 0, LONG);
    MPI_Recv(in, LONG, MPI_BYTE, from, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(!wrong_bytes(in, LONG, (unsigned)m), "message %d", m);
}

static int receives(MPI_Comm self, int key, void *value, void *state)
{
    (void)self, (void)key, (void)state;
    receive(*(int *)value, test_previous());
    return MPI_SUCCESS;
}

static int releases(MPI_Comm self, int key, void *value, void *state)
{
    (void)self, (void)key, (void)value, (void)state;
    MPI_Send(NULL, 0, MPI_BYTE, 1, TO_RELEASE, MPI_COMM_WORLD);
    send(1, 1);
    return MPI_SUCCESS;
}

static int replaces(MPI_Comm self, int key, void *value, void *state)
{
    receives(self, key, value, state);
    send(1, test_next());
    receive(1, test_previous());
    detach();
    attach(room_for(2, LONG));
    send(2, test_next());
    return MPI_SUCCESS;
}

/* Functions that are set later are called earlier. */
static void set_function(MPI_Comm_delete_attr_function *function, int *value)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, function, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, value);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv)
{
    static int first = 0, last = 2;
    test_begin(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "receive";
    attach(room_for(8, LONG));
    if (!strcmp(what, "receive")) {
        send(first, test_next());
        set_function(receives, &first);
    } else if (!strcmp(what, "replace")) {
        send(first, test_next());
        set_function(receives, &last);
        set_function(replaces, &first);
    } else if (test_rank == 0) {
        send(first, 1);
        set_function(releases, NULL);
    } else if (test_rank == 1) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TO_RELEASE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pause_ms(200);
        receive(1, 0);
        receive(0, 0);
    }
    return test_end();
}
