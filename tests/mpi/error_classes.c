/* Prints the error class of calls with wrong or unusual arguments, one line per call: the call,
 * what is unusual, the class. The script mpi/error_classes compares the lines.
 *
 *   error_classes outside      one-sided calls, without an epoch
 *   error_classes inside       the same calls inside a lock
 *   error_classes collectives  collectives on a communicator in use, and calls that allocate
 *
 * Left out: accesses beyond a window, which hosts do not check; calls in which a host crashes; and
 * errors to which op_errors and sync_errors want the standard's class, but a host returns another.
 */
#include "test.h"

static MPI_Win win;
static int *memory, origin[64], result[64], compare[64];
static MPI_Datatype uncommitted, strided, contiguous, mixed, empty, holes;
static MPI_Op own;

static void print(const char *call, const char *what, int error)
{
    if (test_rank == 0)
        printf("%s | %s | %d\n", call, what, class_of(error));
}

/* ---- one-sided operations ---- */

enum {
    MOVES = 1,
    ACCUMULATES = 2,
    FETCHES = 4,
    SINGLES = 8,
    SWAPS = 16,
    COUNTED = MOVES | ACCUMULATES | FETCHES,
    REDUCTIONS = ACCUMULATES | FETCHES | SINGLES,
    ALL = COUNTED | SINGLES | SWAPS
};

/* Arguments; the calls use what they have parameters for. */
struct use {
    int count, there_count, back_count, rank;
    MPI_Aint disp;
    MPI_Datatype type, there, back_type;
    MPI_Op op;
    void *from;
};

static void finish(MPI_Request *request)
{
    if (*request != MPI_REQUEST_NULL)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    *request = MPI_REQUEST_NULL;
}

#define FROM       u.from, u.count, u.type
#define BACK       result, u.back_count, u.back_type
#define TO         u.rank, u.disp, u.there_count, u.there
#define TRY(call)  print(name_of(#call), what, call)
#define WAIT(call) (TRY(call), finish(&r))

static const char *name_of(const char *call)
{
    static char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(call, "("), call);
    return name;
}

static void try_calls(int calls, const char *what, struct use u)
{
    MPI_Request r = MPI_REQUEST_NULL;
    if (calls & MOVES) {
        TRY(MPI_Put(FROM, TO, win));
        TRY(MPI_Get(result, u.count, u.type, TO, win));
        WAIT(MPI_Rput(FROM, TO, win, &r));
        WAIT(MPI_Rget(result, u.count, u.type, TO, win, &r));
    }
    if (calls & ACCUMULATES) {
        TRY(MPI_Accumulate(FROM, TO, u.op, win));
        WAIT(MPI_Raccumulate(FROM, TO, u.op, win, &r));
    }
    if (calls & FETCHES) {
        TRY(MPI_Get_accumulate(FROM, BACK, TO, u.op, win));
        WAIT(MPI_Rget_accumulate(FROM, BACK, TO, u.op, win, &r));
    }
    if (calls & SINGLES)
        TRY(MPI_Fetch_and_op(u.from, result, u.type, u.rank, u.disp, u.op, win));
    if (calls & SWAPS)
        TRY(MPI_Compare_and_swap(u.from, compare, result, u.type, u.rank, u.disp, win));
}

#define WITH(calls, ...)                                       \
    do {                                                       \
        struct use u = {.count = 1,                            \
                        .there_count = 1,                      \
                        .back_count = 1,                       \
                        .rank = test_rank,                     \
                        .type = MPI_INT,                       \
                        .there = MPI_INT,                      \
                        .back_type = MPI_INT,                  \
                        .op = MPI_SUM,                         \
                        .from = origin};                       \
        __VA_ARGS__;                                           \
        try_calls(calls, #__VA_ARGS__, u);                     \
        u.rank = MPI_PROC_NULL;                                \
        try_calls(calls, #__VA_ARGS__ " to MPI_PROC_NULL", u); \
    } while (0)

#define COUNT u.count = u.there_count = u.back_count
#define TYPE  u.type = u.there = u.back_type

static void targets(void)
{
    WITH(ALL, );
    WITH(ALL, u.rank = test_size);
    WITH(ALL, u.rank = -77);
    WITH(ALL, u.rank = MPI_ANY_SOURCE);
    WITH(ALL, u.disp = -1);
    WITH(ALL, u.disp = PTRDIFF_MIN);
    WITH(ALL, u.disp = -1; COUNT = 0);
}

static void counts(void)
{
    WITH(COUNTED, u.count = -1);
    WITH(COUNTED, u.there_count = -1);
    WITH(FETCHES, u.back_count = -1);
    WITH(COUNTED, COUNT = 0);
    WITH(COUNTED, COUNT = 0; u.from = NULL);
}

static void types(void)
{
    WITH(ALL, TYPE = MPI_DATATYPE_NULL);
    WITH(COUNTED, TYPE = MPI_DATATYPE_NULL; COUNT = 0);
    WITH(COUNTED, u.there = MPI_DATATYPE_NULL);
    WITH(FETCHES, u.back_type = MPI_DATATYPE_NULL);
    WITH(ALL, TYPE = uncommitted);
    WITH(COUNTED, u.there = uncommitted);
    WITH(COUNTED, u.type = uncommitted);
    WITH(FETCHES, u.back_type = uncommitted);
    WITH(ALL, TYPE = strided);
    WITH(ALL, TYPE = contiguous);
    WITH(ALL, TYPE = mixed);
    WITH(ALL, TYPE = mixed; u.op = MPI_REPLACE);
    WITH(FETCHES, TYPE = mixed; u.op = MPI_NO_OP);
    WITH(ALL, TYPE = holes);
    WITH(ALL, TYPE = empty);
    WITH(COUNTED, u.type = MPI_FLOAT);
    WITH(COUNTED, u.there = MPI_FLOAT);
    WITH(FETCHES, u.back_type = MPI_FLOAT);
    WITH(ALL, TYPE = MPI_FLOAT);
    WITH(ALL, TYPE = MPI_CHAR);
    WITH(ALL, TYPE = MPI_AINT);
    WITH(MOVES | SWAPS, TYPE = MPI_BYTE);
    WITH(MOVES | SWAPS, TYPE = MPI_PACKED);
    WITH(MOVES | SWAPS, TYPE = MPI_DOUBLE_INT);
    WITH(MOVES | SWAPS, TYPE = MPI_C_BOOL);
}

static void operations(void)
{
    WITH(REDUCTIONS, u.op = MPI_OP_NULL);
    WITH(REDUCTIONS, u.op = own);
    WITH(REDUCTIONS, u.op = MPI_NO_OP);
    WITH(REDUCTIONS, u.op = MPI_REPLACE);
    WITH(REDUCTIONS, u.op = MPI_MINLOC);
    WITH(REDUCTIONS, u.op = MPI_MINLOC; TYPE = MPI_2INT);
    WITH(REDUCTIONS, u.op = MPI_BAND; TYPE = MPI_FLOAT);
    WITH(REDUCTIONS, u.op = MPI_BAND; TYPE = MPI_BYTE);
    WITH(REDUCTIONS, u.op = MPI_LAND; TYPE = MPI_C_BOOL);
    WITH(REDUCTIONS, u.op = MPI_MAX; TYPE = MPI_C_DOUBLE_COMPLEX);
    WITH(REDUCTIONS, u.op = MPI_BAND; TYPE = MPI_DOUBLE; COUNT = 0);
    WITH(REDUCTIONS, u.op = MPI_OP_NULL; COUNT = 0);
    WITH(REDUCTIONS, u.op = own; COUNT = 0);
    WITH(REDUCTIONS, u.op = MPI_NO_OP; COUNT = 0);
    WITH(REDUCTIONS, u.op = MPI_NO_OP; u.from = NULL);
    WITH(REDUCTIONS, u.op = MPI_NO_OP; u.from = NULL; u.count = 0; u.type = MPI_DATATYPE_NULL);
    WITH(REDUCTIONS, u.op = MPI_REPLACE; u.type = MPI_FLOAT);
    WITH(REDUCTIONS, u.op = MPI_NO_OP; u.there = MPI_FLOAT);
}

static void two_errors(void)
{
    WITH(COUNTED, u.count = -1; u.type = MPI_DATATYPE_NULL);
    WITH(COUNTED, u.count = -1; u.rank = test_size);
    WITH(COUNTED, u.there_count = -1; u.disp = -1);
    WITH(COUNTED, u.there_count = -1; u.type = uncommitted);
    WITH(COUNTED, u.type = uncommitted; u.disp = -1);
    WITH(COUNTED, u.type = MPI_DATATYPE_NULL; u.rank = test_size);
    WITH(ALL, u.disp = -1; u.rank = test_size);
    WITH(REDUCTIONS, u.op = MPI_OP_NULL; u.rank = test_size);
    WITH(REDUCTIONS, u.op = MPI_OP_NULL; u.disp = -1);
    WITH(REDUCTIONS, u.op = MPI_OP_NULL; TYPE = MPI_DATATYPE_NULL);
    WITH(REDUCTIONS, u.op = own; TYPE = MPI_DATATYPE_NULL);
    WITH(REDUCTIONS, u.op = MPI_MINLOC; TYPE = strided);
    WITH(REDUCTIONS, u.op = own; TYPE = mixed);
}

static void synchronization(void)
{
    static const char what[] = "";
    TRY(MPI_Win_sync(win));
    TRY(MPI_Win_flush(test_rank, win));
    TRY(MPI_Win_flush_local(test_rank, win));
    TRY(MPI_Win_flush_all(win));
    TRY(MPI_Win_flush_local_all(win));
    TRY(MPI_Win_unlock(test_size, win));
    TRY(MPI_Win_lock(MPI_LOCK_SHARED, test_size, 0, win));
    TRY(MPI_Win_lock(MPI_LOCK_SHARED, -77, 0, win));
    TRY(MPI_Win_unlock_all(win));
    TRY(MPI_Win_wait(win));
}

static void one_sided(bool inside)
{
    if (inside)
        MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win);
    targets();
    counts();
    types();
    operations();
    two_errors();
    synchronization();
    if (inside)
        MPI_Win_unlock(test_rank, win);
}

/* ---- collectives and allocation ---- */

static void allocation(void)
{
    static const char what[] = "";
    void *base;
    MPI_Win none;
    TRY(MPI_Win_create(memory, -5, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none));
    TRY(MPI_Win_create(memory, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &none));
    TRY(MPI_Win_create(memory, 4, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &none));
    TRY(MPI_Win_allocate(-5, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none));
    TRY(MPI_Win_allocate(4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none));
    TRY(MPI_Alloc_mem(-5, MPI_INFO_NULL, &base));
    TRY(MPI_Alloc_mem(5, MPI_INFO_NULL, NULL));
}

static void moving(const char *what, int count, MPI_Datatype type, int root)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    TRY(MPI_Bcast(origin, count, type, root, comm));
    TRY(MPI_Gather(origin, count, type, result, count, type, root, comm));
    TRY(MPI_Scatter(origin, count, type, result, count, type, root, comm));
    if (root)
        return;
    TRY(MPI_Allgather(origin, count, type, result, count, type, comm));
    TRY(MPI_Alltoall(origin, count, type, result, count, type, comm));
}

static void reducing(const char *what, MPI_Datatype type, MPI_Op op)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    TRY(MPI_Allreduce(origin, result, 1, type, op, comm));
    TRY(MPI_Reduce(origin, result, 1, type, op, 0, comm));
    TRY(MPI_Scan(origin, result, 1, type, op, comm));
    TRY(MPI_Exscan(origin, result, 1, type, op, comm));
    TRY(MPI_Reduce_scatter_block(origin, result, 1, type, op, comm));
}

static void collectives(void)
{
    for (int i = 0; i < 8; i++)
        MPI_Allreduce(MPI_IN_PLACE, origin, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    moving("a negative count", -1, MPI_INT, 0);
    moving("no datatype", 1, MPI_DATATYPE_NULL, 0);
    moving("no such root", 1, MPI_INT, test_size);
    moving("no rank as root", 1, MPI_INT, -77);
    reducing("no operation", MPI_INT, MPI_OP_NULL);
    reducing("MPI_NO_OP", MPI_INT, MPI_NO_OP);
    reducing("MPI_REPLACE", MPI_INT, MPI_REPLACE);
    reducing("MPI_MINLOC of one number", MPI_INT, MPI_MINLOC);
    reducing("MPI_SUM of pairs", MPI_2INT, MPI_SUM);
    reducing("MPI_BAND of MPI_FLOAT", MPI_FLOAT, MPI_BAND);
    reducing("a mixed datatype", mixed, MPI_SUM);
    reducing("no datatype", MPI_DATATYPE_NULL, MPI_SUM);
    reducing("an uncommitted datatype", uncommitted, MPI_SUM);
}

/* ---- ---- */

static void nothing(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void make_handles(void)
{
    MPI_Type_vector(2, 1, 3, MPI_INT, &uncommitted);
    MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
    MPI_Type_contiguous(1, MPI_INT, &contiguous);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4},
                           (MPI_Datatype[]){MPI_INT, MPI_FLOAT}, &mixed);
    MPI_Type_create_resized(MPI_INT, 0, 8, &holes);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Datatype *const commit[] = {&strided, &contiguous, &mixed, &holes, &empty};
    for (int i = 0; i < 5; i++)
        MPI_Type_commit(commit[i]);
    MPI_Op_create(nothing, 1, &own);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    make_handles();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memory = window_memory(64 * sizeof *memory);
    win = window_over(memory, 64 * sizeof *memory, sizeof *memory);
    if (argc > 1 && !strcmp(argv[1], "collectives")) {
        allocation();
        collectives();
    } else {
        one_sided(argc > 1 && !strcmp(argv[1], "inside"));
    }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
