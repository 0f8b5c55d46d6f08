/* How much stack each call uses: it is made on a stack of its own, which was painted before. Prints
 * a line for each call with the most bytes that any rank has used, from the frame of the caller on.
 * The script coll/stack compares them with those of the host alone. */
#include "coll.h"

#include <pthread.h>
#include <sys/mman.h>

enum { STACK = 256 << 10, PAINT = 0xa5, ROUNDS = 4, LONG = 1 << 18, BSEND_ROOM = 64 << 20 };

static double *from, *to;
static MPI_Op user_op, user_order;
static MPI_Datatype vector;
static MPI_Win win;
static MPI_Comm inter;
static int counts[64], displs[64], byte_displs[64];
static MPI_Datatype types[64];

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const double *a = in;
    double *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        b[i] += a[i];
}

/* ---- the calls; `n` elements ---- */

#define CALL(name, ...)     \
    static void name(int n) \
    {                       \
        (void)n;            \
        __VA_ARGS__;        \
    }
CALL(barrier, MPI_Barrier(MPI_COMM_WORLD))
CALL(bcast, MPI_Bcast(from, n, MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(bcast_vector, MPI_Bcast(from, n, vector, 1, MPI_COMM_WORLD))
CALL(gather, MPI_Gather(from, n, MPI_DOUBLE, to, n, MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(gatherv,
     MPI_Gatherv(from, counts[0], MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(scatter, MPI_Scatter(from, n, MPI_DOUBLE, to, n, MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(scatterv,
     MPI_Scatterv(from, counts, displs, MPI_DOUBLE, to, counts[0], MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(allgather, MPI_Allgather(from, n, MPI_DOUBLE, to, n, MPI_DOUBLE, MPI_COMM_WORLD))
CALL(allgather_vector, MPI_Allgather(from, n, MPI_DOUBLE, to, n / 2, vector, MPI_COMM_WORLD))
CALL(allgatherv,
     MPI_Allgatherv(from, counts[0], MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, MPI_COMM_WORLD))
CALL(alltoall, MPI_Alltoall(from, n, MPI_DOUBLE, to, n, MPI_DOUBLE, MPI_COMM_WORLD))
CALL(alltoallv, MPI_Alltoallv(from, counts, displs, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE,
                              MPI_COMM_WORLD))
CALL(alltoallw, MPI_Alltoallw(from, counts, byte_displs, types, to, counts, byte_displs, types,
                              MPI_COMM_WORLD))
CALL(reduce, MPI_Reduce(from, to, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD))
CALL(reduce_user, MPI_Reduce(from, to, n, MPI_DOUBLE, user_order, 0, MPI_COMM_WORLD))
CALL(allreduce, MPI_Allreduce(from, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(allreduce_user, MPI_Allreduce(from, to, n, MPI_DOUBLE, user_op, MPI_COMM_WORLD))
CALL(reduce_scatter, MPI_Reduce_scatter(from, to, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(reduce_scatter_user, MPI_Reduce_scatter(from, to, counts, MPI_DOUBLE, user_op, MPI_COMM_WORLD))
CALL(reduce_scatter_block,
     MPI_Reduce_scatter_block(from, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(scan, MPI_Scan(from, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(scan_user, MPI_Scan(from, to, n, MPI_DOUBLE, user_op, MPI_COMM_WORLD))
CALL(exscan, MPI_Exscan(from, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(inter_allreduce, MPI_Allreduce(from, to, n, MPI_DOUBLE, MPI_SUM, inter))
CALL(inter_alltoallw,
     MPI_Alltoallw(from, counts, byte_displs, types, to, counts, byte_displs, types, inter))
CALL(inter_reduce_scatter, MPI_Reduce_scatter_block(from, to, n, MPI_DOUBLE, MPI_SUM, inter))

static void put_get(int n)
{
    int peer = (test_rank + 1) % test_size;
    MPI_Win_fence(0, win);
    MPI_Put(from, n, MPI_DOUBLE, peer, 0, n, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Get(to, n / 4, vector, peer, 0, n / 4, vector, win);
    MPI_Win_fence(0, win);
}

static void accumulate(int n)
{
    int peer = (test_rank + 1) % test_size;
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
    MPI_Accumulate(from, n, MPI_DOUBLE, peer, 0, n, MPI_DOUBLE, MPI_SUM, win);
    MPI_Get_accumulate(from, n / 4, vector, to, n / 4, vector, peer, 0, n / 4, vector, MPI_SUM,
                       win);
    MPI_Fetch_and_op(from, to, MPI_DOUBLE, peer, 0, MPI_SUM, win);
    MPI_Win_flush(peer, win);
    MPI_Win_unlock(peer, win);
}

static void create_window(int n)
{
    MPI_Win new;
    double *memory;
    MPI_Win_allocate(n * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &new);
    MPI_Win_free(&new);
}

static void bsend(int n)
{
    int next = (test_rank + 1) % test_size, previous = (test_rank + test_size - 1) % test_size;
    MPI_Bsend(from, n, MPI_DOUBLE, next, 1, MPI_COMM_WORLD);
    MPI_Recv(to, n, MPI_DOUBLE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void communicators(int n)
{
    MPI_Comm comm;
    (void)n;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 4; i++)
        MPI_Allreduce(from, to, 4, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Comm_free(&comm);
}

static void datatypes(int n)
{
    MPI_Datatype type;
    MPI_Type_vector(n / 2, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(from, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
}

static void memory(int n)
{
    void *at;
    MPI_Alloc_mem(n * 8, MPI_INFO_NULL, &at);
    MPI_Free_mem(at);
}

static const struct {
    const char *name;
    void (*function)(int);
} cases[] = {{"barrier", barrier},
             {"bcast", bcast},
             {"bcast_vector", bcast_vector},
             {"gather", gather},
             {"gatherv", gatherv},
             {"scatter", scatter},
             {"scatterv", scatterv},
             {"allgather", allgather},
             {"allgather_vector", allgather_vector},
             {"allgatherv", allgatherv},
             {"alltoall", alltoall},
             {"alltoallv", alltoallv},
             {"alltoallw", alltoallw},
             {"reduce", reduce},
             {"reduce_user", reduce_user},
             {"allreduce", allreduce},
             {"allreduce_user", allreduce_user},
             {"reduce_scatter", reduce_scatter},
             {"reduce_scatter_user", reduce_scatter_user},
             {"reduce_scatter_block", reduce_scatter_block},
             {"scan", scan},
             {"scan_user", scan_user},
             {"exscan", exscan},
             {"inter_allreduce", inter_allreduce},
             {"inter_alltoallw", inter_alltoallw},
             {"inter_reduce_scatter", inter_reduce_scatter},
             {"put_get", put_get},
             {"accumulate", accumulate},
             {"create_window", create_window},
             {"bsend", bsend},
             {"communicators", communicators},
             {"datatypes", datatypes},
             {"memory", memory}};

/* ---- measuring ---- */

static unsigned char *stack;
static int which, elements;
static long used;

static __attribute__((noinline)) void *run(void *nothing)
{
    const unsigned char *top = __builtin_frame_address(0), *low = stack;
    memset(stack, PAINT, (size_t)(top - stack) - 1024);
    for (int i = 0; i < ROUNDS; i++)
        cases[which].function(elements);
    while (low < top && *low == PAINT)
        low++;
    used = top - low;
    return nothing;
}

static void measure(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    long most;
    for (int r = 0; r < test_size; r++) {
        counts[r] = elements;
        displs[r] = r * elements;
        byte_displs[r] = 8 * displs[r];
        types[r] = MPI_DOUBLE;
    }
    for (int i = 0; i < 2; i++)
        cases[which].function(elements);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    CHECK(!pthread_create(&thread, &attributes, run, NULL), "no thread");
    pthread_join(thread, NULL);
    MPI_Reduce(&used, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!test_rank)
        printf("%s.%d %ld\n", cases[which].name, elements, most);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {4, 1024, 8192, LONG};
    int granted;
    MPI_Comm half;
    void *base;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    from = calloc((size_t)test_size + 1, 8 * LONG);
    to = calloc((size_t)test_size + 1, 2 * 8 * LONG);
    void *room = malloc(BSEND_ROOM);
    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Buffer_attach(room, BSEND_ROOM);
    MPI_Op_create(add, 1, &user_op);
    MPI_Op_create(add, 0, &user_order);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    MPI_Win_allocate(8 * LONG * 4, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - test_rank % 2, 0, &inter);
    coll_warm(MPI_COMM_WORLD);
    coll_warm(inter);
    for (which = 0; which < (int)(sizeof cases / sizeof *cases); which++)
        for (int i = 0; i < 4; i++) {
            elements = sizes[i];
            measure();
        }
    MPI_Win_free(&win);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Buffer_detach(&base, &granted);
    return test_end();
}
