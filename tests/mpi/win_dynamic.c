/* Dynamic windows: operations on attached memory, shared or private, give the right results under
 * all kinds of synchronization, in whatever order ranges are attached and detached. The first
 * argument says which memory; further ones what is tested. */
#include "test.h"

#include <pthread.h>
#include <unistd.h>

enum { COUNT = 64, ROOM = 1 << 15, RANKS_MAX = 8 };

static MPI_Win win;
static int in_statics[ROOM] __attribute__((aligned(64)));

/* ---- memory ---- */

static bool is_from_mpi(const char *kind)
{
    return !strcmp(kind, "shared");
}

/* ROOM elements */
static int *get_memory(const char *kind)
{
    int *memory = in_statics;
    if (is_from_mpi(kind))
        return window_memory(ROOM * sizeof(int));
    if (strcmp(kind, "statics"))
        memory = malloc(ROOM * sizeof *memory);
    memset(memory, 0, ROOM * sizeof *memory);
    return memory;
}

static void free_memory(const char *kind, int *memory)
{
    if (is_from_mpi(kind))
        MPI_Free_mem(memory);
    else if (strcmp(kind, "statics"))
        free(memory);
}

static void make_window(void)
{
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void share_address(const void *memory, MPI_Aint *addresses)
{
    MPI_Aint mine;
    MPI_Get_address(memory, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
}

/* ---- synchronization ---- */

enum sync { FENCE, POST, LOCK, LOCK_ALL, SYNCS };
static MPI_Group all;

static void begin(enum sync sync, int target)
{
    if (sync == FENCE)
        MPI_Win_fence(0, win);
    if (sync == POST) {
        MPI_Win_post(all, 0, win);
        MPI_Win_start(all, 0, win);
    }
    if (sync == LOCK)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    if (sync == LOCK_ALL)
        MPI_Win_lock_all(0, win);
}

/* Afterwards all operations are complete on all ranks. */
static void end(enum sync sync, int target)
{
    if (sync == FENCE)
        MPI_Win_fence(0, win);
    if (sync == POST) {
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
    if (sync == LOCK)
        MPI_Win_unlock(target, win);
    if (sync == LOCK_ALL)
        MPI_Win_unlock_all(win);
    if (sync == LOCK || sync == LOCK_ALL)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- operations ---- */

/* A put to the next rank is there when the epoch has ended. */
static void put(int *memory, const MPI_Aint *at)
{
    for (int s = 0; s < SYNCS; s++)
        for (int i = 0; i < 3; i++) {
            int value = 1000 * test_rank + 10 * s + i;
            begin(s, test_next());
            CHECK_CLASS(
                MPI_Put(&value, 1, MPI_INT, test_next(), at[test_next()] + 4 * i, 1, MPI_INT, win),
                MPI_SUCCESS);
            end(s, test_next());
            CHECK(memory[i] == 1000 * test_previous() + 10 * s + i, "sync %d: %d", s, memory[i]);
            MPI_Barrier(MPI_COMM_WORLD);
        }
}

/* Other operations, each by every rank on the next one. */
static void operate(int *memory, const MPI_Aint *at)
{
    int next = test_next(), got[4] = {0}, one = 1, two = 2, ten = 10;
    for (int s = 0; s < SYNCS; s++) {
        for (int i = 0; i < 8; i++)
            memory[i] = i;
        MPI_Barrier(MPI_COMM_WORLD);
        begin(s, next);
        MPI_Get(&got[0], 1, MPI_INT, next, at[next] + 28, 1, MPI_INT, win);
        MPI_Accumulate(&ten, 1, MPI_INT, next, at[next], 1, MPI_INT, MPI_SUM, win);
        MPI_Accumulate(&two, 1, MPI_INT, next, at[next], 1, MPI_INT, MPI_PROD, win);
        MPI_Get_accumulate(&ten, 1, MPI_INT, &got[1], 1, MPI_INT, next, at[next] + 4, 1, MPI_INT,
                           MPI_REPLACE, win);
        MPI_Fetch_and_op(&one, &got[2], MPI_INT, next, at[next] + 8, MPI_SUM, win);
        MPI_Compare_and_swap(&ten, &two, &got[3], MPI_INT, next, at[next] + 16, win);
        end(s, next);
        CHECK(got[0] == 7 && got[1] == 1 && got[2] == 2 && got[3] == 4, "sync %d: %d %d %d %d", s,
              got[0], got[1], got[2], got[3]);
        CHECK(memory[0] == 20 && memory[1] == 10 && memory[2] == 3 && memory[4] == 4,
              "sync %d: %d %d %d %d", s, memory[0], memory[1], memory[2], memory[4]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void request(int *memory, const MPI_Aint *at)
{
    int next = test_next(), got[2] = {0}, value = test_rank + 5, one = 1;
    MPI_Request r[4];
    memset(memory, 0, 4 * sizeof *memory);
    memory[1] = 11 * test_rank;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Rput(&value, 1, MPI_INT, next, at[next], 1, MPI_INT, win, &r[0]);
    MPI_Rget(&got[0], 1, MPI_INT, next, at[next] + 4, 1, MPI_INT, win, &r[1]);
    MPI_Raccumulate(&one, 1, MPI_INT, next, at[next] + 8, 1, MPI_INT, MPI_SUM, win, &r[2]);
    MPI_Rget_accumulate(&value, 1, MPI_INT, &got[1], 1, MPI_INT, next, at[next] + 12, 1, MPI_INT,
                        MPI_SUM, win, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    CHECK(got[0] == 11 * next && got[1] == 0, "%d, %d", got[0], got[1]);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[0] == test_previous() + 5 && memory[2] == 1 && memory[3] == test_previous() + 5,
          "%d, %d, %d", memory[0], memory[2], memory[3]);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks add to the memory of rank 0; and increment by a get and a put under an exclusive lock.
 */
static void sum(int *memory, const MPI_Aint *at)
{
    enum { TIMES = 50 };
    int one = 1, seen;
    for (int s = 0; s < SYNCS; s++) {
        memory[0] = memory[1] = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < TIMES; i++) {
            begin(s, 0);
            MPI_Accumulate(&one, 1, MPI_INT, 0, at[0], 1, MPI_INT, MPI_SUM, win);
            MPI_Fetch_and_op(&one, &seen, MPI_INT, 0, at[0] + 4, MPI_SUM, win);
            if (s == LOCK)
                MPI_Win_unlock(0, win);
            else
                end(s, 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (!test_rank)
            CHECK(memory[0] == TIMES * test_size && memory[1] == TIMES * test_size,
                  "sync %d: %d, %d", s, memory[0], memory[1]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&seen, 1, MPI_INT, 0, at[0], 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        seen++;
        MPI_Put(&seen, 1, MPI_INT, 0, at[0], 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!test_rank)
        CHECK(memory[0] == TIMES * test_size, "%d", memory[0]);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Flushes of each kind complete what they should. */
static void flush(int *memory, const MPI_Aint *at)
{
    int next = test_next(), seen = -1;
    MPI_Win_lock_all(0, win);
    for (int how = 0; how < 4; how++) {
        int value = 100 * how + test_rank;
        MPI_Put(&value, 1, MPI_INT, next, at[next], 1, MPI_INT, win);
        if (how % 2)
            MPI_Win_flush(next, win);
        else
            MPI_Win_flush_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        CHECK(memory[0] == 100 * how + test_previous(), "%d", memory[0]);
        MPI_Get(&seen, 1, MPI_INT, next, at[next], 1, MPI_INT, win);
        if (how % 2)
            MPI_Win_flush_local(next, win);
        else
            MPI_Win_flush_local_all(win);
        CHECK(seen == value, "%d", seen);
        MPI_Win_flush(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void test_operations(const char *kind)
{
    int *memory = get_memory(kind);
    MPI_Aint at[RANKS_MAX];
    MPI_Win_attach(win, memory, COUNT * sizeof *memory);
    share_address(memory, at);
    put(memory, at);
    operate(memory, at);
    request(memory, at);
    sum(memory, at);
    flush(memory, at);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, memory);
    free_memory(kind, memory);
}

/* ---- attaching ---- */

/* Ranges that are attached and detached inside an epoch, in any order, and used in turn. */
static void test_ranges(const char *kind)
{
    enum { RANGES = 24, STEP = 2 * COUNT };
    int *memory = get_memory(kind);
    MPI_Aint at[RANKS_MAX];
    share_address(memory, at);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < RANGES; i++)
            MPI_Win_attach(win, memory + i * 7 % RANGES * STEP, COUNT * sizeof *memory);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 2 * RANGES; i++) {
            int value = 1000 * round + 10 * i + test_rank, next = test_next();
            MPI_Aint to = at[next] + (MPI_Aint)sizeof value * (i * 5 % RANGES * STEP + i % COUNT);
            CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, next, to, 1, MPI_INT, win), MPI_SUCCESS);
            MPI_Win_flush(next, win);
            int seen = -1;
            MPI_Get(&seen, 1, MPI_INT, next, to, 1, MPI_INT, win);
            MPI_Win_flush(next, win);
            CHECK(seen == value, "range %d: %d", i, seen);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 2 * RANGES; i++)
            CHECK(memory[i * 5 % RANGES * STEP + i % COUNT] ==
                      1000 * round + 10 * i + test_previous(),
                  "round %d, range %d", round, i);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < RANGES; i++)
            MPI_Win_detach(win, memory + i * 11 % RANGES * STEP);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    free_memory(kind, memory);
}

/* Open MPI reports accesses to pages of which no part is attached; MPICH accesses any address. */
static int put_and_flush(MPI_Aint at)
{
    int value = 7, next = test_next();
    int error = MPI_Put(&value, 1, MPI_INT, next, at, 1, MPI_INT, win);
    int later = MPI_Win_flush(next, win);
    return error ? error : later;
}

static void test_errors(const char *kind)
{
    int *memory = get_memory(kind), *other = get_memory(kind), next = test_next();
    MPI_Aint at[RANKS_MAX], there[RANKS_MAX];
    bool detects = host_is("Open MPI");
    share_address(memory, at);
    share_address(other, there);
    CHECK_CLASS(put_and_flush(at[next]), MPI_ERR_RMA_SYNC);
    for (int round = 0; round < 2; round++) {
        MPI_Win_attach(win, memory, COUNT / 2 * sizeof *memory);
        MPI_Win_attach(win, other, COUNT * sizeof *memory);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        CHECK_CLASS(put_and_flush(there[next]), MPI_SUCCESS);
        CHECK_CLASS(put_and_flush(at[next]), MPI_SUCCESS);
        if (detects)
            CHECK_CLASS(put_and_flush(at[next] + ROOM / 2 * 4), MPI_ERR_RMA_RANGE);
        CHECK_CLASS(put_and_flush(at[next]), MPI_SUCCESS);
        MPI_Win_unlock(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(win, memory);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        if (detects)
            CHECK_CLASS(put_and_flush(at[next]), MPI_ERR_RMA_RANGE);
        CHECK_CLASS(put_and_flush(there[next]), MPI_SUCCESS);
        MPI_Win_unlock(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(win, other);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free_memory(kind, memory);
    free_memory(kind, other);
}

static void test_attributes(void)
{
    int *flavor, found;
    void *base;
    MPI_Aint *size;
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &found);
    CHECK(found && *flavor == MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &found);
    CHECK(found && base == MPI_BOTTOM, "%p", base);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &found);
    CHECK(found && *size == 0, "%ld", (long)*size);
}

/* ---- memory of both kinds in one operation ---- */

/* Blocks of the two kinds in turn. Both memories of the target begin with the same offset. */
static MPI_Datatype mixed_type(MPI_Aint first, MPI_Aint second, int blocks)
{
    MPI_Datatype type;
    MPI_Aint at[16];
    for (int i = 0; i < blocks; i++)
        at[i] = (i % 2 ? second : first) + (MPI_Aint)(8 * i);
    MPI_Type_create_hindexed_block(blocks, 1, at, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void check_mixed(const int *first, const int *second, int step, int base)
{
    for (int i = 0; i < 8; i++)
        CHECK((i % 2 ? second : first)[2 * i] == base + step * i, "block %d: %d, expected %d", i,
              (i % 2 ? second : first)[2 * i], base + step * i);
}

static void test_mixed(const char *kind, const char *other)
{
    int *first = get_memory(kind), *second = get_memory(other), next = test_next();
    MPI_Aint at[RANKS_MAX], there[RANKS_MAX];
    MPI_Request r;
    int data[8], got[8];
    MPI_Win_attach(win, first, COUNT * sizeof *first);
    MPI_Win_attach(win, second, COUNT * sizeof *second);
    share_address(first, at);
    share_address(second, there);
    MPI_Datatype type = mixed_type(at[next], there[next], 8);
    for (int s = 0; s < SYNCS; s++) {
        for (int i = 0; i < 8; i++)
            data[i] = 100 * test_rank + i + s;
        begin(s, next);
        CHECK_CLASS(MPI_Put(data, 8, MPI_INT, next, 0, 1, type, win), MPI_SUCCESS);
        end(s, next);
        check_mixed(first, second, 1, 100 * test_previous() + s);
        MPI_Barrier(MPI_COMM_WORLD);
        begin(s, next);
        CHECK_CLASS(MPI_Accumulate(data, 8, MPI_INT, next, 0, 1, type, MPI_SUM, win), MPI_SUCCESS);
        end(s, next);
        check_mixed(first, second, 2, 2 * (100 * test_previous() + s));
        MPI_Barrier(MPI_COMM_WORLD);
        memset(got, 0, sizeof got);
        begin(s, next);
        CHECK_CLASS(MPI_Get(got, 8, MPI_INT, next, 0, 1, type, win), MPI_SUCCESS);
        end(s, next);
        for (int i = 0; i < 8; i++)
            CHECK(got[i] == 2 * data[i], "%d: %d", i, got[i]);
        memset(got, 0, sizeof got);
        begin(s, next);
        CHECK_CLASS(MPI_Get_accumulate(data, 8, MPI_INT, got, 8, MPI_INT, next, 0, 1, type,
                                       MPI_REPLACE, win),
                    MPI_SUCCESS);
        end(s, next);
        for (int i = 0; i < 8; i++)
            CHECK(got[i] == 2 * data[i], "%d: %d", i, got[i]);
        check_mixed(first, second, 1, 100 * test_previous() + s);
        MPI_Barrier(MPI_COMM_WORLD);
        memset(got, 0, sizeof got);
        begin(s, next);
        CHECK_CLASS(
            MPI_Get_accumulate(NULL, 0, MPI_INT, got, 8, MPI_INT, next, 0, 1, type, MPI_NO_OP, win),
            MPI_SUCCESS);
        end(s, next);
        for (int i = 0; i < 8; i++)
            CHECK(got[i] == data[i], "%d: %d", i, got[i]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_lock_all(0, win);
    MPI_Rput(data, 8, MPI_INT, next, 0, 1, type, win, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Win_flush(next, win);
    MPI_Raccumulate(data, 8, MPI_INT, next, 0, 1, type, MPI_SUM, win, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Rget_accumulate(data, 8, MPI_INT, got, 8, MPI_INT, next, 0, 1, type, MPI_SUM, win, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; i < 8; i++)
        CHECK(got[i] == 2 * data[i], "%d: %d", i, got[i]);
    MPI_Win_flush(next, win);
    MPI_Rget(got, 8, MPI_INT, next, 0, 1, type, win, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; i < 8; i++)
        CHECK(got[i] == 3 * data[i], "%d: %d", i, got[i]);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Win_detach(win, first);
    MPI_Win_detach(win, second);
    free_memory(kind, first);
    free_memory(other, second);
}

/* ---- threads ---- */

enum { THREADS = 3, ADDED = 200 };
struct work {
    const MPI_Aint *first, *second;
    int number;
};

static void *add(void *argument)
{
    const struct work *w = argument;
    int one = 1, seen;
    for (int i = 0; i < ADDED; i++)
        for (int target = 0; target < test_size; target++) {
            MPI_Accumulate(&one, 1, MPI_INT, target, w->first[target], 1, MPI_INT, MPI_SUM, win);
            MPI_Fetch_and_op(&one, &seen, MPI_INT, target, w->second[target], MPI_SUM, win);
            if (i % 16 == w->number)
                MPI_Win_flush(target, win);
        }
    return NULL;
}

static void test_threads(const char *kind, const char *other)
{
    int *first = get_memory(kind), *second = get_memory(other);
    MPI_Aint at[RANKS_MAX], there[RANKS_MAX];
    pthread_t threads[THREADS];
    struct work work[THREADS];
    MPI_Win_attach(win, first, COUNT * sizeof *first);
    MPI_Win_attach(win, second, COUNT * sizeof *second);
    share_address(first, at);
    share_address(second, there);
    MPI_Win_lock_all(0, win);
    for (int t = 0; t < THREADS; t++) {
        work[t] = (struct work){at, there, t};
        pthread_create(&threads[t], NULL, add, &work[t]);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    int expected = THREADS * ADDED * test_size;
    CHECK(first[0] == expected && second[0] == expected, "%d, %d, expected %d", first[0], second[0],
          expected);
    MPI_Win_detach(win, first);
    MPI_Win_detach(win, second);
    free_memory(kind, first);
    free_memory(other, second);
}

/* ---- freeing ---- */

/* Attach memory, and put a number to that of the next rank. The epoch remains open. */
static int *put_after_fence(const char *kind)
{
    static int value;
    int *memory = get_memory(kind), next = test_next();
    MPI_Aint at[RANKS_MAX];
    value = test_rank + 50;
    MPI_Win_attach(win, memory, COUNT * sizeof *memory);
    share_address(memory, at);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, next, at[next], 1, MPI_INT, win);
    return memory;
}

/* The epoch of the last fence is still open. */
static void test_open_epoch(const char *kind)
{
    int *memory = put_after_fence(kind);
    CHECK_CLASS(MPI_Win_free(&win), MPI_SUCCESS);
    CHECK(memory[0] == test_previous() + 50, "%d", memory[0]);
    free_memory(kind, memory);
    make_window();
}

/* The host permits no MPI_Win_lock. */
static void test_no_locks(const char *kind)
{
    MPI_Info info;
    MPI_Win_free(&win);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win);
    MPI_Info_free(&info);
    int *memory = put_after_fence(kind);
    MPI_Win_fence(0, win);
    CHECK(memory[0] == test_previous() + 50, "%d", memory[0]);
    MPI_Win_detach(win, memory);
    free_memory(kind, memory);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "shared", *what = argc > 2 ? argv[2] : "operations";
    int provided;
    MPI_Init_thread(&argc, &argv, strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    make_window();
    if (!strcmp(what, "operations")) {
        test_attributes();
        test_operations(kind);
    } else if (!strcmp(what, "ranges")) {
        test_ranges(kind);
    } else if (!strcmp(what, "errors")) {
        test_errors(kind);
    } else if (!strcmp(what, "threads")) {
        const char *other = argc > 3 ? argv[3] : "private";
        test_threads(kind, other);
        test_threads(other, kind);
    } else if (!strcmp(what, "free")) {
        test_open_epoch(kind);
    } else if (!strcmp(what, "no_locks")) {
        test_no_locks(kind);
    } else {
        test_mixed(kind, "private");
        test_mixed("private", kind);
    }
    MPI_Group_free(&all);
    if (!getenv("TEST_UNFREED"))
        MPI_Win_free(&win);
    return test_end();
}
