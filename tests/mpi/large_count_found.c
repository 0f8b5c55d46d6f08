/* A program that searches for the calls with large counts at run time, as the wheels of mpi4py do,
 * finds those of the library, also if the host has none. They work all the same. A count beyond an
 * int is MPI_ERR_COUNT if the host has no large counts. */
#include "test.h"

#include <dlfcn.h>
#include <limits.h>

enum { COUNT = 100 };

static bool host_lacks_them;
static MPI_Comm apart; /* an intercommunicator of rank 0 and the others, or MPI_COMM_NULL */

/* The function name, of the given type */
#define FOUND(type, name) ((type)find(#name))

static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

typedef int send_fn(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int recv_fn(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
typedef int start_fn(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int sendrecv_fn(const void *, MPI_Count, MPI_Datatype, int, int, void *, MPI_Count,
                        MPI_Datatype, int, int, MPI_Comm, MPI_Status *);

static void check_messages(void)
{
    int out[COUNT], in[COUNT] = {0}, next = (test_rank + 1) % test_size;
    int previous = (test_rank + test_size - 1) % test_size;
    MPI_Request requests[2];
    for (int i = 0; i < COUNT; i++)
        out[i] = test_rank * COUNT + i;
    FOUND(start_fn *, MPI_Irecv_c)
    (in, COUNT, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]);
    FOUND(send_fn *, MPI_Send_c)(out, COUNT, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(in[COUNT - 1] == previous * COUNT + COUNT - 1);
    FOUND(start_fn *, MPI_Isend_c)
    (out, COUNT / 2, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Status status;
    int count;
    FOUND(recv_fn *, MPI_Recv_c)(in, COUNT, MPI_INT, previous, 2, MPI_COMM_WORLD, &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == COUNT / 2);
    memset(in, 0, sizeof in);
    FOUND(sendrecv_fn *, MPI_Sendrecv_c)
    (out, COUNT, MPI_INT, next, 3, in, COUNT, MPI_INT, previous, 3, MPI_COMM_WORLD, &status);
    CHECK(in[1] == previous * COUNT + 1);
    FOUND(start_fn *, MPI_Recv_init_c)
    (in, COUNT, MPI_INT, previous, 4, MPI_COMM_WORLD, &requests[0]);
    FOUND(start_fn *, MPI_Bsend_init_c)
    (out, COUNT, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[1]);
    char room[sizeof out + MPI_BSEND_OVERHEAD], *back = NULL;
    MPI_Count size = 0;
    FOUND(int (*)(void *, MPI_Count), MPI_Buffer_attach_c)(room, sizeof room);
    memset(in, 0, sizeof in);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in[COUNT - 1] == previous * COUNT + COUNT - 1);
    FOUND(int (*)(void *, MPI_Count *), MPI_Buffer_detach_c)(&back, &size);
    CHECK(back == room && size == sizeof room);
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&requests[i]);
}

typedef int gather_fn(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
                      MPI_Comm);
typedef int gatherv_fn(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                       const MPI_Aint *, MPI_Datatype, int, MPI_Comm);
typedef int scatterv_fn(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                        MPI_Count, MPI_Datatype, int, MPI_Comm);
typedef int all_fn(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                   MPI_Comm);
typedef int allgatherv_fn(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                          const MPI_Aint *, MPI_Datatype, MPI_Comm);
typedef int alltoallv_fn(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                         const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
typedef int alltoallw_fn(const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *,
                         void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *,
                         MPI_Comm);

/* Rank r has r + 1 numbers, and all are in the order of the ranks, with a gap of one. */
struct layout {
    MPI_Count counts[64];
    MPI_Aint places[64], bytes[64];
    int total;
};

static struct layout layout_of(int ranks)
{
    struct layout l = {.total = 0};
    for (int r = 0; r < ranks; r++) {
        l.counts[r] = r + 1;
        l.places[r] = l.total + r;
        l.bytes[r] = l.places[r] * (MPI_Aint)sizeof(int);
        l.total += r + 1;
    }
    return l;
}

static int number(int from, int to, int i)
{
    return from * 10000 + to * 100 + i;
}

static void check_gathered(const int *in, const struct layout *l, int ranks)
{
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < r + 1; i++)
            CHECK(in[l->places[r] + i] == number(r, 0, i), "from %d: %d", r, in[l->places[r] + i]);
}

static void check_irregular(void)
{
    struct layout l = layout_of(test_size);
    int out[64], in[64 * 65], root = test_size - 1;
    MPI_Count *unused = (MPI_Count *)8; /* where it is not significant */
    MPI_Aint *unused_too = (MPI_Aint *)8;
    bool is_root = test_rank == root;
    for (int i = 0; i < test_rank + 1; i++)
        out[i] = number(test_rank, 0, i);
    memset(in, 0, sizeof in);
    FOUND(gatherv_fn *, MPI_Gatherv_c)
    (out, test_rank + 1, MPI_INT, in, is_root ? l.counts : unused, is_root ? l.places : unused_too,
     MPI_INT, root, MPI_COMM_WORLD);
    if (is_root)
        check_gathered(in, &l, test_size);
    memset(out, 0, sizeof out);
    FOUND(scatterv_fn *, MPI_Scatterv_c)
    (in, is_root ? l.counts : unused, is_root ? l.places : unused_too, MPI_INT, out, test_rank + 1,
     MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < test_rank + 1; i++)
        CHECK(out[i] == number(test_rank, 0, i));
    memset(in, 0, sizeof in);
    FOUND(allgatherv_fn *, MPI_Allgatherv_c)
    (out, test_rank + 1, MPI_INT, in, l.counts, l.places, MPI_INT, MPI_COMM_WORLD);
    check_gathered(in, &l, test_size);
}

/* Between two ranks r and s, min(r, s) + 1 numbers travel in each direction. */
static void check_alltoalls(void)
{
    struct layout l = layout_of(test_size);
    MPI_Datatype types[64];
    int out[64 * 65], in[64 * 65], in_place[64 * 65];
    for (int r = 0; r < test_size; r++) {
        types[r] = MPI_INT;
        l.counts[r] = (r < test_rank ? r : test_rank) + 1;
        for (int i = 0; i < r + 1; i++)
            out[l.places[r] + i] = number(test_rank, r, i);
    }
    for (int turn = 0; turn < 3; turn++) {
        int *result = turn == 1 ? in_place : in;
        memset(in, 0, sizeof in);
        memcpy(in_place, out, sizeof in_place);
        if (turn == 0)
            FOUND(alltoallv_fn *, MPI_Alltoallv_c)
        (out, l.counts, l.places, MPI_INT, in, l.counts, l.places, MPI_INT, MPI_COMM_WORLD);
        else if (turn == 1) FOUND(alltoallv_fn *, MPI_Alltoallv_c)(
            MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in_place, l.counts, l.places, MPI_INT,
            MPI_COMM_WORLD);
        else FOUND(alltoallw_fn *, MPI_Alltoallw_c)(out, l.counts, l.bytes, types, in, l.counts,
                                                    l.bytes, types, MPI_COMM_WORLD);
        for (int r = 0; r < test_size; r++)
            for (int i = 0; i < l.counts[r]; i++)
                CHECK(result[l.places[r] + i] == number(r, test_rank, i), "turn %d, from %d: %d",
                      turn, r, result[l.places[r] + i]);
    }
}

typedef int bcast_fn(void *, MPI_Count, MPI_Datatype, int, MPI_Comm);
typedef int reduce_fn(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm);
typedef int allreduce_fn(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int scatter_reduce_fn(const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op,
                              MPI_Comm);

static void check_regular(void)
{
    int value = test_rank + 1, all[64] = {0}, sum = 0, n = test_size, ones[64 * 65];
    struct layout l = layout_of(n);
    FOUND(allreduce_fn *, MPI_Allreduce_c)(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == n * (n + 1) / 2, "%d", sum);
    FOUND(allreduce_fn *, MPI_Scan_c)(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == value * (value + 1) / 2, "%d", sum);
    FOUND(reduce_fn *, MPI_Reduce_c)(&value, &sum, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    CHECK(test_rank || sum == n, "%d", sum);
    FOUND(bcast_fn *, MPI_Bcast_c)(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(sum == n, "%d", sum);
    /* A count that is not significant may be anything. */
    FOUND(gather_fn *, MPI_Gather_c)
    (&value, 1, MPI_INT, all, test_rank ? (MPI_Count)1 << 40 : 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(test_rank || all[n - 1] == n, "%d", all[n - 1]);
    FOUND(gather_fn *, MPI_Scatter_c)(all, 1, MPI_INT, &sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(sum == value, "%d", sum);
    FOUND(all_fn *, MPI_Allgather_c)(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    FOUND(all_fn *, MPI_Alltoall_c)(MPI_IN_PLACE, 0, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    CHECK(all[0] == value && all[n - 1] == value, "%d %d", all[0], all[n - 1]);
    for (int i = 0; i < l.total; i++)
        ones[i] = 1;
    FOUND(scatter_reduce_fn *, MPI_Reduce_scatter_c)
    (ones, all, l.counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all[test_rank] == n, "%d", all[test_rank]);
    FOUND(allreduce_fn *, MPI_Reduce_scatter_block_c)
    (ones, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == n, "%d", sum);
}

/* The others send to rank 0. */
static void check_between_groups(void)
{
    if (apart == MPI_COMM_NULL)
        return;
    int rank, others, in[64 * 65] = {0};
    MPI_Comm_rank(apart, &rank);
    MPI_Comm_remote_size(apart, &others);
    struct layout l = layout_of(others);
    int out[64], root = test_rank ? 0 : MPI_ROOT;
    for (int i = 0; i < rank + 1; i++)
        out[i] = number(rank, 0, i);
    FOUND(gatherv_fn *, MPI_Gatherv_c)
    (out, rank + 1, MPI_INT, in, root == MPI_ROOT ? l.counts : NULL,
     root == MPI_ROOT ? l.places : NULL, MPI_INT, root, apart);
    if (root == MPI_ROOT)
        check_gathered(in, &l, others);
    memset(in, 0, sizeof in);
    FOUND(allgatherv_fn *, MPI_Allgatherv_c)
    (out, rank + 1, MPI_INT, in, l.counts, l.places, MPI_INT, apart);
    check_gathered(in, &l, others);
}

typedef int create_fn(void *, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, MPI_Win *);
typedef int allocate_fn(MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *, MPI_Win *);
typedef int put_fn(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype,
                   MPI_Win);
typedef int get_accumulate_fn(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count,
                              MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op,
                              MPI_Win);
typedef int query_fn(MPI_Win, int, MPI_Aint *, MPI_Aint *, void *);

typedef int accumulate_fn(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count,
                          MPI_Datatype, MPI_Op, MPI_Win);
typedef int rput_fn(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype,
                    MPI_Win, MPI_Request *);
typedef int raccumulate_fn(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count,
                           MPI_Datatype, MPI_Op, MPI_Win, MPI_Request *);
typedef int rget_accumulate_fn(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count,
                               MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op,
                               MPI_Win, MPI_Request *);

static void wait_for(MPI_Request *request)
{
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* Each rank accesses only its own part of the next one's memory, whose first element is 10. */
static void check_accesses(int *memory, MPI_Win win)
{
    int two[2] = {1, 2}, back[2] = {0}, next = (test_rank + 1) % test_size;
    MPI_Request request;
    memory[10] = memory[11] = 100;
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock_all(0, win);
    FOUND(accumulate_fn *, MPI_Accumulate_c)(two, 2, MPI_INT, next, 10, 2, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(next, win);
    FOUND(put_fn *, MPI_Get_c)(back, 2, MPI_INT, next, 10, 2, MPI_INT, win);
    MPI_Win_flush(next, win);
    CHECK(back[0] == 101 && back[1] == 102, "%d %d", back[0], back[1]);
    FOUND(rput_fn *, MPI_Rput_c)(two, 2, MPI_INT, next, 10, 2, MPI_INT, win, &request);
    wait_for(&request);
    MPI_Win_flush(next, win);
    FOUND(raccumulate_fn *, MPI_Raccumulate_c)
    (two, 2, MPI_INT, next, 10, 2, MPI_INT, MPI_SUM, win, &request);
    wait_for(&request);
    MPI_Win_flush(next, win);
    FOUND(rget_accumulate_fn *, MPI_Rget_accumulate_c)
    (two, 2, MPI_INT, back, 2, MPI_INT, next, 10, 2, MPI_INT, MPI_PROD, win, &request);
    wait_for(&request);
    MPI_Win_flush(next, win);
    CHECK(back[0] == 2 && back[1] == 4, "%d %d", back[0], back[1]);
    FOUND(rput_fn *, MPI_Rget_c)(back, 2, MPI_INT, next, 10, 2, MPI_INT, win, &request);
    wait_for(&request);
    CHECK(back[0] == 2 && back[1] == 8, "%d %d", back[0], back[1]);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_windows(void)
{
    int *memory = NULL, value = test_rank + 1, before = -1, next = (test_rank + 1) % test_size;
    int previous = (test_rank + test_size - 1) % test_size;
    MPI_Win created, allocated;
    MPI_Aint size = 0, unit = 0;
    FOUND(allocate_fn *, MPI_Win_allocate_shared_c)
    (COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &allocated);
    int *queried = NULL;
    FOUND(query_fn *, MPI_Win_shared_query_c)(allocated, test_rank, &size, &unit, &queried);
    CHECK(queried == memory && size == COUNT * sizeof(int) && unit == sizeof(int));
    memory[0] = memory[1] = 0;
    FOUND(create_fn *, MPI_Win_create_c)
    (memory, COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &created);
    MPI_Win_fence(0, created);
    FOUND(put_fn *, MPI_Put_c)(&value, 1, MPI_INT, next, 1, 1, MPI_INT, created);
    MPI_Win_fence(0, created);
    CHECK(memory[1] == previous + 1, "%d", memory[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    FOUND(get_accumulate_fn *, MPI_Get_accumulate_c)
    (&value, 1, MPI_INT, &before, 1, MPI_INT, next, 1, 1, MPI_INT, MPI_SUM, created);
    MPI_Win_fence(0, created);
    CHECK(before == test_rank + 1 && memory[1] == 2 * (previous + 1), "%d %d", before, memory[1]);
    check_accesses(memory, created);
    MPI_Win_free(&created);
    MPI_Win_free(&allocated);
}

static void check_large(void)
{
    int byte = 0;
    if (!host_lacks_them)
        return;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(
        FOUND(bcast_fn *, MPI_Bcast_c)(&byte, (MPI_Count)INT_MAX + 1, MPI_INT, 0, MPI_COMM_WORLD),
        MPI_ERR_COUNT);
    CHECK_CLASS(
        FOUND(send_fn *, MPI_Send_c)(&byte, (MPI_Count)1 << 32, MPI_INT, 0, 0, MPI_COMM_WORLD),
        MPI_ERR_COUNT);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void check_idup(void)
{
    typedef int idup_fn(MPI_Comm, MPI_Info, MPI_Comm *, MPI_Request *);
    MPI_Comm copy;
    MPI_Request request;
    FOUND(idup_fn *, MPI_Comm_idup_with_info)(MPI_COMM_WORLD, MPI_INFO_NULL, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
}

static void split(void)
{
    MPI_Comm mine;
    apart = MPI_COMM_NULL;
    if (test_size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, test_rank > 0, test_rank, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, !test_rank, 1, &apart);
    MPI_Comm_free(&mine);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    if (!find("MPI_Bcast_c"))
        return test_end(); /* as without the library on this host */
    int version, subversion;
    MPI_Get_version(&version, &subversion);
    host_lacks_them = version < 4;
    split();
    check_messages();
    check_regular();
    check_irregular();
    check_alltoalls();
    check_between_groups();
    check_windows();
    check_large();
    check_idup();
    if (apart != MPI_COMM_NULL)
        MPI_Comm_free(&apart);
    return test_end();
}
