/* An array of structures with holes takes no memory per element, however its datatype is made: peak
 * memory of a rank during a put, a get and a broadcast. */
#include "process_memory.h"
#include "test.h"

#include <stddef.h>

struct record {
    int number;
    double value;
    char tag;
};

/* KIB: more than the datatype and the buffers of a call may take. A list of the runs of a datatype
 * would take several times the data, 11.4 MiB. */
enum { SIDE = 500, RECORDS = 2 * SIDE * SIDE, KIB = 6144 };

static MPI_Datatype record_type(void)
{
    int lengths[] = {1, 1, 1};
    MPI_Aint at[] = {0, offsetof(struct record, value), offsetof(struct record, tag)};
    MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, tight, type;
    MPI_Type_create_struct(3, lengths, at, members, &tight);
    MPI_Type_create_resized(tight, 0, sizeof(struct record), &type);
    MPI_Type_free(&tight);
    return type;
}

enum { CONTIGUOUS, VECTOR, SUBARRAY, KINDS };
static const char *const kind_names[] = {"contiguous", "vector", "subarray"};

/* Every second row of a matrix of records, or its left half, or the first half of its rows. */
static MPI_Datatype half_of_records(int kind)
{
    int sizes[] = {2 * SIDE, SIDE}, counts[] = {2 * SIDE, SIDE / 2}, starts[] = {0, 0};
    MPI_Datatype record = record_type(), type;
    if (kind == CONTIGUOUS)
        MPI_Type_contiguous(RECORDS / 2, record, &type);
    else if (kind == VECTOR)
        MPI_Type_vector(SIDE, SIDE, 2 * SIDE, record, &type);
    else
        MPI_Type_create_subarray(2, sizes, counts, starts, MPI_ORDER_C, record, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&record);
    return type;
}

static bool is_in(int kind, int i)
{
    return kind == CONTIGUOUS ? i < RECORDS / 2
           : kind == VECTOR   ? i / SIDE % 2 == 0
                              : i % SIDE < SIDE / 2;
}

static void fill(struct record *records, int rank)
{
    memset(records, 0, RECORDS * sizeof *records);
    for (int i = 0; i < RECORDS; i++)
        records[i] = (struct record){i + rank, i * 0.5 + rank, (char)(i + rank)};
}

static void check(const char *what, int kind, const struct record *records, int before, int after)
{
    int wrong = 0;
    for (int i = 0; i < RECORDS; i++) {
        int from = is_in(kind, i) ? after : before;
        wrong += records[i].number != i + from || records[i].value != i * 0.5 + from ||
                 records[i].tag != (char)(i + from);
    }
    CHECK(!wrong, "%s, %s: %d wrong", what, kind_names[kind], wrong);
}

enum { PUT, GET, BCAST, CALLS };
static const char *const call_names[] = {"MPI_Put", "MPI_Get", "MPI_Bcast"};

static void perform(int call, struct record *own, MPI_Datatype type, int peer, MPI_Win win)
{
    if (call == BCAST)
        MPI_Bcast(own, 1, type, 0, MPI_COMM_WORLD);
    else if (call == PUT)
        MPI_Put(own, 1, type, peer, 0, 1, type, win);
    else
        MPI_Get(own, 1, type, peer, 0, 1, type, win);
    MPI_Win_fence(0, win);
}

/* The buffers of both ranks have been touched before. */
static void measure(int call, int kind, struct record *own, struct record *memory, MPI_Win win)
{
    int peer = 1 - test_rank;
    fill(own, test_rank);
    fill(memory, test_rank);
    MPI_Win_fence(0, win);
    CHECK(forget_peak(), "the peak cannot be reset");
    long before = status_kib("VmRSS:");
    MPI_Datatype type = half_of_records(kind);
    perform(call, own, type, peer, win);
    long more = status_kib("VmHWM:") - before;
    CHECK(before > 0 && more < KIB, "%s, %s: %ld KiB more", call_names[call], kind_names[kind],
          more);
    if (call == PUT)
        check("MPI_Put", kind, memory, test_rank, peer);
    else
        check(call_names[call], kind, own, test_rank, call == GET ? peer : 0);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Win win;
    struct record *memory, *own = calloc(RECORDS, sizeof *own);
    MPI_Aint bytes = RECORDS * sizeof *memory;
    MPI_Win_allocate(bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 8; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    fill(memory, test_rank);
    MPI_Win_fence(0, win);
    MPI_Get(own, (int)bytes, MPI_BYTE, 1 - test_rank, 0, (int)bytes, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    MPI_Bcast(own, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int kind = 0; kind < KINDS; kind++)
        for (int call = 0; call < CALLS; call++)
            measure(call, kind, own, memory, win);
    MPI_Win_free(&win);
    free(own);
    return test_end();
}
