/* A persistent buffered send keeps its datatype without copying the attributes of the datatype: no
 * copy function of the program is called, and the delete function is called once. Messages of all
 * kinds of datatypes arrive. */
#include "bsend.h"

enum { BLOCK = 5000, BLOCKS = 4, SPREAD = 3 * BLOCK, SPAN = BLOCKS * SPREAD };

static int copied, deleted;
static unsigned char out[SPAN], in[SPAN], expected[SPAN];

static int copy(MPI_Datatype type, int key, void *state, void *value, void *new, int *flag)
{
    (void)type, (void)key, (void)state, (void)value, (void)new, (void)flag;
    copied++;
    return MPI_ERR_OTHER;
}

static int delete (MPI_Datatype type, int key, void *value, void *state)
{
    (void)type, (void)key, (void)value, (void)state;
    deleted++;
    return MPI_SUCCESS;
}

/* Send `count` elements to this rank twice. */
static void send_twice(const void *from, void *to, int count, MPI_Datatype type, bool is_freed)
{
    MPI_Request request;
    MPI_Datatype receives;
    MPI_Type_contiguous(count, type, &receives);
    MPI_Type_commit(&receives);
    CHECK_CLASS(MPI_Bsend_init(from, count, type, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    if (is_freed)
        MPI_Type_free(&type);
    for (int i = 0; i < 2; i++) {
        memset(in, 0, sizeof in);
        MPI_Start(&request);
        MPI_Recv(to, 1, receives, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(!memcmp(in, expected, sizeof in), "other data");
    }
    MPI_Request_free(&request);
    MPI_Type_free(&receives);
}

static void expect_bytes(int first, int bytes)
{
    memcpy(expected + first, out + first, (size_t)bytes);
}

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

/* A type with gaps and other bounds than its data. */
static MPI_Datatype spread(void)
{
    MPI_Datatype block, type;
    int length = BLOCK;
    MPI_Aint at = BLOCK;
    MPI_Type_create_hindexed(1, &length, &at, MPI_BYTE, &block);
    MPI_Type_create_resized(block, -BLOCK, SPREAD, &type);
    MPI_Type_free(&block);
    return committed(type);
}

/* The beginning of `buffer`, relative to MPI_BOTTOM. */
static MPI_Datatype absolute(const void *buffer)
{
    MPI_Datatype type;
    MPI_Aint at;
    int length = BLOCKS * BLOCK;
    MPI_Get_address(buffer, &at);
    MPI_Type_create_hindexed(1, &length, &at, MPI_BYTE, &type);
    return committed(type);
}

static void of_attributes(void)
{
    int key;
    MPI_Datatype type = spread();
    MPI_Type_create_keyval(copy, delete, &key, NULL);
    MPI_Type_set_attr(type, key, NULL);
    for (int b = 0; b < BLOCKS; b++)
        expect_bytes(b * SPREAD + BLOCK, BLOCK);
    send_twice(out, in, BLOCKS, type, true);
    CHECK(copied == 0 && deleted == 1, "copied %d times, deleted %d times", copied, deleted);
    MPI_Type_free_keyval(&key);
}

/* The receiver's type has the receiver's addresses. */
static void of_absolute_addresses(void)
{
    MPI_Datatype from = absolute(out), to = absolute(in);
    MPI_Request request;
    MPI_Bsend_init(MPI_BOTTOM, 1, from, 0, 0, MPI_COMM_SELF, &request);
    MPI_Type_free(&from);
    memset(in, 0, sizeof in);
    MPI_Start(&request);
    MPI_Recv(MPI_BOTTOM, 1, to, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(!memcmp(in, out, BLOCKS * BLOCK), "other data");
    MPI_Request_free(&request);
    MPI_Type_free(&to);
}

static void of_predefined_types(void)
{
    MPI_Datatype f90;
    memset(expected, 0, sizeof expected);
    expect_bytes(0, 4 * BLOCK);
    send_twice(out, in, BLOCK, MPI_FLOAT, false);
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &f90);
    send_twice(out, in, BLOCK, f90, false);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    attach(room_for(4, SPAN));
    fill(out, SPAN, 1);
    of_attributes();
    of_absolute_addresses();
    of_predefined_types();
    detach();
    return test_end();
}
