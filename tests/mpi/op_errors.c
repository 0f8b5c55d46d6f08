/* Each wrong argument of an operation is reported with the error class that MPI names, before
 * anything is written, and the epoch stays open (H20: unusual windows; H21: errors). */
#include "test.h"

enum { COUNT = 16 };

static MPI_Win win;
static int *memory, here[2 * COUNT], result[2 * COUNT], target;
static MPI_Datatype uncommitted, strided, pair_struct;
static MPI_Op own;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

/* The calls, with all arguments valid except the one that is passed. */
struct use {
    int count, rank;
    MPI_Aint disp;
    int there_count;
    MPI_Datatype type, there;
    MPI_Op op;
};

#define EACH(expected, ...)                        \
    do {                                           \
        struct use u_ = {.count = 1,               \
                         .rank = target,           \
                         .there_count = 1,         \
                         .type = MPI_INT,          \
                         .there = MPI_INT,         \
                         .op = MPI_SUM};           \
        __VA_ARGS__;                               \
        CHECK_CLASS(put(u_), expected);            \
        CHECK_CLASS(get(u_), expected);            \
        CHECK_CLASS(accumulate(u_), expected);     \
        CHECK_CLASS(get_accumulate(u_), expected); \
        requests(u_, expected);                    \
    } while (0)

static int put(struct use u)
{
    return MPI_Put(here, u.count, u.type, u.rank, u.disp, u.there_count, u.there, win);
}

static int get(struct use u)
{
    return MPI_Get(result, u.count, u.type, u.rank, u.disp, u.there_count, u.there, win);
}

static int accumulate(struct use u)
{
    return MPI_Accumulate(here, u.count, u.type, u.rank, u.disp, u.there_count, u.there, u.op, win);
}

static int get_accumulate(struct use u)
{
    return MPI_Get_accumulate(here, u.count, u.type, result, u.count, u.type, u.rank, u.disp,
                              u.there_count, u.there, u.op, win);
}

static void requests(struct use u, int expected)
{
    MPI_Request r = MPI_REQUEST_NULL;
    CHECK_CLASS(MPI_Rput(here, u.count, u.type, u.rank, u.disp, u.there_count, u.there, win, &r),
                expected);
    CHECK_CLASS(MPI_Rget(result, u.count, u.type, u.rank, u.disp, u.there_count, u.there, win, &r),
                expected);
    CHECK_CLASS(MPI_Raccumulate(here, u.count, u.type, u.rank, u.disp, u.there_count, u.there, u.op,
                                win, &r),
                expected);
    CHECK_CLASS(MPI_Rget_accumulate(here, u.count, u.type, result, u.count, u.type, u.rank, u.disp,
                                    u.there_count, u.there, u.op, win, &r),
                expected);
}

static void bad_arguments(void)
{
    EACH(MPI_ERR_COUNT, u_.count = -1);
    EACH(MPI_ERR_COUNT, u_.there_count = -1);
    EACH(MPI_ERR_RANK, u_.rank = test_size);
    EACH(MPI_ERR_RANK, u_.rank = -77);
    EACH(MPI_ERR_TYPE, u_.type = MPI_DATATYPE_NULL);
    EACH(MPI_ERR_TYPE, u_.there = MPI_DATATYPE_NULL);
    EACH(MPI_ERR_TYPE, u_.type = uncommitted);
    EACH(MPI_ERR_TYPE, u_.there = uncommitted);
    EACH(MPI_ERR_RMA_RANGE, u_.disp = COUNT);
    EACH(MPI_ERR_RMA_RANGE, u_.disp = COUNT - 1; u_.count = u_.there_count = 2);
    EACH(MPI_ERR_RMA_RANGE, u_.disp = PTRDIFF_MAX);
    EACH(MPI_ERR_RMA_RANGE, u_.disp = PTRDIFF_MAX / (int)sizeof(int));
    EACH(MPI_ERR_RMA_RANGE, u_.disp = 1; u_.count = COUNT; u_.there = strided);
    EACH(MPI_ERR_DISP, u_.disp = -1);
}

static void bad_operations(void)
{
    struct use u = {
        .count = 1, .rank = target, .there_count = 1, .type = MPI_INT, .there = MPI_INT};
    MPI_Op const wrong[] = {MPI_OP_NULL, own};
    for (int i = 0; i < 2; i++) {
        u.op = wrong[i];
        CHECK_CLASS(accumulate(u), MPI_ERR_OP);
        CHECK_CLASS(get_accumulate(u), MPI_ERR_OP);
        CHECK_CLASS(MPI_Fetch_and_op(here, result, MPI_INT, target, 0, u.op, win), MPI_ERR_OP);
    }
    u.type = u.there = MPI_FLOAT;
    u.op = MPI_BAND; /* not defined for floating-point types */
    CHECK_CLASS(accumulate(u), MPI_ERR_OP);
    CHECK_CLASS(get_accumulate(u), MPI_ERR_OP);
    CHECK_CLASS(MPI_Fetch_and_op(here, result, MPI_FLOAT, target, 0, MPI_BAND, win), MPI_ERR_OP);
}

static int swap_at(MPI_Datatype type, int rank, MPI_Aint disp)
{
    static int zero;
    return MPI_Compare_and_swap(here, &zero, result, type, rank, disp, win);
}

static int fetch_at(MPI_Datatype type, int rank, MPI_Aint disp)
{
    return MPI_Fetch_and_op(here, result, type, rank, disp, MPI_REPLACE, win);
}

static void bad_single_elements(void)
{
    int (*const calls[])(MPI_Datatype, int, MPI_Aint) = {swap_at, fetch_at};
    for (int i = 0; i < 2; i++) {
        CHECK_CLASS(calls[i](MPI_INT, test_size, 0), MPI_ERR_RANK);
        CHECK_CLASS(calls[i](MPI_INT, -77, 0), MPI_ERR_RANK);
        CHECK_CLASS(calls[i](MPI_INT, target, COUNT), MPI_ERR_RMA_RANGE);
        CHECK_CLASS(calls[i](MPI_INT, target, PTRDIFF_MAX), MPI_ERR_RMA_RANGE);
        CHECK_CLASS(calls[i](MPI_INT, target, -1), MPI_ERR_DISP);
        CHECK_CLASS(calls[i](MPI_DATATYPE_NULL, target, 0), MPI_ERR_TYPE);
        CHECK_CLASS(calls[i](uncommitted, target, 0), MPI_ERR_TYPE);
    }
    CHECK_CLASS(swap_at(strided, target, 0), MPI_ERR_TYPE);
    if (!host_is("Open MPI")) /* it performs this */
        CHECK_CLASS(swap_at(MPI_DOUBLE, target, 0), MPI_ERR_TYPE);
    CHECK_CLASS(swap_at(MPI_DOUBLE_INT, target, 0), MPI_ERR_TYPE);
}

/* Mixed element types, or types that differ from the origin's: MPI does not define the error class.
 */
static void mixed_elements(void)
{
    CHECK(MPI_Accumulate(here, 1, MPI_INT, target, 0, 1, MPI_FLOAT, MPI_SUM, win));
    CHECK(MPI_Accumulate(here, 1, pair_struct, target, 0, 1, pair_struct, MPI_SUM, win));
}

static void outside_an_epoch(void)
{
    EACH(MPI_ERR_RMA_SYNC, (void)0);
    CHECK_CLASS(swap_at(MPI_INT, target, 0), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(fetch_at(MPI_INT, target, 0), MPI_ERR_RMA_SYNC);
}

static void bad_locks(void)
{
    CHECK_CLASS(MPI_Win_lock(-5, target, 0, win), MPI_ERR_LOCKTYPE);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, test_size, 0, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, -77, 0, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Win_unlock(test_size, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Win_flush(test_size, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Win_flush_local(test_size, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, target, 0x7000000, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_lock_all(0x7000000, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_fence(0x7000000, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_post(MPI_GROUP_EMPTY, 0x7000000, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_start(MPI_GROUP_EMPTY, 0x7000000, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    target = test_next();
    memory = window_memory(COUNT * sizeof *memory);
    for (int i = 0; i < 2 * COUNT; i++) {
        here[i] = 99;
        result[i] = 7;
    }
    win = window_over(memory, COUNT * sizeof *memory, sizeof *memory);
    MPI_Type_vector(2, 1, 3, MPI_INT, &uncommitted);
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4},
                           (MPI_Datatype[]){MPI_INT, MPI_FLOAT}, &pair_struct);
    MPI_Type_commit(&pair_struct);
    MPI_Op_create(add, 1, &own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    outside_an_epoch();
    bad_locks();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    bad_arguments();
    bad_operations();
    bad_single_elements();
    mixed_elements();
    CHECK_CLASS(MPI_Win_unlock(target, win), MPI_SUCCESS);
    outside_an_epoch();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        CHECK(memory[i] == 0, "element %d was written: %d", i, memory[i]);
    for (int i = 0; i < 2 * COUNT; i++)
        CHECK(result[i] == 7 && here[i] == 99, "element %d here was written: %d, %d", i, result[i],
              here[i]);
    MPI_Type_free(&uncommitted);
    MPI_Type_free(&strided);
    MPI_Type_free(&pair_struct);
    MPI_Op_free(&own);
    CHECK_CLASS(MPI_Win_free(&win), MPI_SUCCESS);
    MPI_Free_mem(memory);
    return test_end();
}
