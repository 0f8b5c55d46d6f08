/* Datatypes on either side: the count that the receiver gets, and where it stores the elements. */
#include "bsend.h"

enum { INTS = 8192, TIMES = 8 };

static int out[4 * INTS], in[4 * INTS];

static void send_as(MPI_Datatype type, int count, const char *name)
{
    MPI_Datatype vector;
    int packed, elements, copies;
    MPI_Type_vector(INTS, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_size(type, &packed);
    for (int i = 0; i < TIMES; i++) {
        if (i == TIMES / 2)
            out[3] += 1000000; /* in each of the types */
        if (test_rank == 0)
            MPI_Bsend(out, count, type, 1, i, MPI_COMM_WORLD);
        if (test_rank == 1) {
            MPI_Status status;
            memset(in, 0xff, sizeof in);
            MPI_Probe(0, i, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, type, &copies);
            MPI_Get_elements(&status, type, &elements);
            CHECK(copies == count && elements == INTS, "%s: %d, %d", name, copies, elements);
            MPI_Recv(in, 1, vector, 0, i, MPI_COMM_WORLD, &status);
            MPI_Get_elements(&status, vector, &elements);
            MPI_Get_count(&status, vector, &copies);
            CHECK(copies == 1 && elements == INTS, "%s: %d, %d", name, copies, elements);
            /* the data, packed */
            int *want = malloc((size_t)INTS * sizeof *want), at = 0, wrong = 0;
            MPI_Pack(out, count, type, want, INTS * (int)sizeof *want, &at, MPI_COMM_WORLD);
            for (int e = 0; e < INTS; e++)
                wrong += in[2 * e] != want[e] || in[2 * e + 1] != -1;
            CHECK(!wrong, "%s, message %d: %d", name, i, wrong);
            free(want);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&vector);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    attach(room_for(4, INTS * (int)sizeof(int)));
    for (int i = 0; i < 4 * INTS; i++)
        out[i] = 3 * i;
    MPI_Datatype type, inner;

    send_as(MPI_INT, INTS, "int");

    MPI_Type_contiguous(16, MPI_INT, &type);
    MPI_Type_commit(&type);
    send_as(type, INTS / 16, "contiguous");
    MPI_Type_free(&type);

    MPI_Type_vector(INTS / 2, 2, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    send_as(type, 1, "vector");
    MPI_Type_free(&type);

    MPI_Type_create_resized(MPI_INT, 0, 12, &type);
    MPI_Type_commit(&type);
    send_as(type, INTS, "resized");
    MPI_Type_free(&type);

    /* the same bytes in another order, from the same address */
    int lengths[] = {INTS / 2, INTS / 2}, displs[] = {INTS / 2, 0};
    MPI_Type_indexed(2, lengths, displs, MPI_INT, &type);
    MPI_Type_commit(&type);
    send_as(type, 1, "indexed");
    send_as(MPI_INT, INTS, "int again");
    MPI_Type_free(&type);

    /* an absolute address */
    MPI_Aint address;
    MPI_Get_address(out, &address);
    MPI_Type_contiguous(INTS, MPI_INT, &inner);
    int one = 1;
    MPI_Type_create_struct(1, &one, &address, &inner, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < TIMES; i++) {
        if (test_rank == 0)
            MPI_Bsend(MPI_BOTTOM, 1, type, 1, i, MPI_COMM_WORLD);
        if (test_rank == 1) {
            memset(in, 0, sizeof in);
            MPI_Recv(in, INTS, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(!memcmp(in, out, INTS * sizeof *in), "from MPI_BOTTOM");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&inner);
    detach();
    return test_end();
}
