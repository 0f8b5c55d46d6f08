/* What ARMCI-MPI does with windows: below Global Arrays, every put is an accumulate with
 * MPI_REPLACE and every get a MPI_Get_accumulate with MPI_NO_OP, in one epoch of MPI_Win_lock_all,
 * with datatypes for patches of matrices; counters and mutexes are windows, too. Fails if data of a
 * patch, a sum, a counter or what a mutex protects is wrong, or if a buffer is still read after
 * MPI_Win_flush_local. */
#include "test.h"

enum { SIDE = 32, CELLS = SIDE * SIDE, BYTES = CELLS * sizeof(double), ROUNDS = 6, TAKEN = 200 };

static MPI_Win matrices, words; /* one matrix, and some longs, per rank */
static double *mine, patch[CELLS], fetched[CELLS];
static long *my_words;

enum { COUNTER, TOKEN, SPIN, GUARDED, WORDS = 8 };

static double value(int origin, int target, int cell, int round)
{
    return origin + 16 * target + 256 * round + 4096 * cell;
}

/* ---- windows ---- */

static MPI_Info hints(int round)
{
    static const char *const keys[] = {"alloc_shm", "accumulate_ordering", "accumulate_ops"};
    static const char *const values[][3] = {{"true", "rar,raw,war,waw", "same_op_no_op"},
                                            {"false", "none", "same_op"},
                                            {"true", "rar", "same_op_no_op"}};
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 0; i < 3; i++)
        MPI_Info_set(info, keys[i], values[round % 3][i]);
    return info;
}

static void open_windows(int round)
{
    MPI_Info info = round % 2 ? hints(round) : MPI_INFO_NULL;
    MPI_Win_allocate(BYTES, 1, info, MPI_COMM_WORLD, &mine, &matrices);
    MPI_Win_allocate(WORDS * sizeof(long), 1, info, MPI_COMM_WORLD, &my_words, &words);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, matrices);
    MPI_Win_lock_all(0, words);
    memset(mine, 0, BYTES);
    memset(my_words, 0, WORDS * sizeof(long));
    MPI_Win_sync(matrices);
    MPI_Win_sync(words);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All operations are complete on all ranks, and this rank may load what they have stored. */
static void fence(void)
{
    MPI_Win_flush_all(matrices);
    MPI_Win_flush_all(words);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(matrices);
    MPI_Win_sync(words);
}

static void change_mode(int round)
{
    MPI_Info info = hints(round + 1);
    fence();
    MPI_Win_set_info(matrices, info);
    MPI_Info_free(&info);
}

static void close_windows(void)
{
    fence();
    MPI_Win_unlock_all(matrices);
    MPI_Win_unlock_all(words);
    MPI_Win_free(&matrices);
    MPI_Win_free(&words);
}

/* ---- puts, gets and sums ---- */

/* Rows `first`, `first` + `step` and so on of a matrix whose rows have `cells` cells. */
static MPI_Datatype rows_indexed(int first, int step, int cells)
{
    int starts[SIDE], count = 0;
    MPI_Datatype rows;
    for (int row = first; row < SIDE; row += step)
        starts[count++] = row * SIDE * (int)sizeof(double);
    MPI_Type_create_indexed_block(count, cells * (int)sizeof(double), starts, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
    return rows;
}

static MPI_Datatype columns(int first, int count, MPI_Datatype element, int size)
{
    MPI_Datatype type;
    MPI_Type_create_subarray(2, (int[]){SIDE, SIDE * size}, (int[]){SIDE, count * size},
                             (int[]){0, first * size}, MPI_ORDER_C, element, &type);
    MPI_Type_commit(&type);
    return type;
}

static void put(int target, MPI_Datatype from, MPI_Datatype to)
{
    MPI_Accumulate(patch, 1, from, target, 0, 1, to, MPI_REPLACE, matrices);
    MPI_Win_flush_local(target, matrices);
    memset(patch, 0xff, sizeof patch);
}

static void get(int target, MPI_Datatype from, MPI_Datatype to)
{
    memset(fetched, 0xee, sizeof fetched);
    MPI_Get_accumulate(NULL, 0, MPI_BYTE, fetched, 1, to, target, 0, 1, from, MPI_NO_OP, matrices);
    MPI_Win_flush(target, matrices);
}

/* Each rank writes rows of each matrix, and fetches the columns of all. */
static void move_patches(int round)
{
    MPI_Datatype rows = rows_indexed(test_rank, test_size, SIDE);
    for (int t = 0; t < test_size; t++) {
        for (int i = 0; i < CELLS; i++)
            patch[i] = value(test_rank, t, i, round);
        put(t, rows, rows);
    }
    MPI_Type_free(&rows);
    fence();
    int first = 5 + test_rank, count = 11;
    MPI_Datatype some = columns(first, count, MPI_BYTE, sizeof(double));
    for (int t = 0; t < test_size; t++) {
        get(t, some, some);
        for (int i = 0; i < CELLS; i++) {
            bool inside = i % SIDE >= first && i % SIDE < first + count;
            double expected = inside ? value(i / SIDE % test_size, t, i, round) : 0;
            CHECK(inside ? fetched[i] == expected : ((char *)&fetched[i])[3] == (char)0xee,
                  "round %d target %d cell %d: %g, not %g", round, t, i, fetched[i], expected);
        }
    }
    MPI_Type_free(&some);
    fence();
}

/* All add to overlapping columns of all matrices, many times. */
static void add_patches(int round)
{
    memset(mine, 0, BYTES);
    fence();
    MPI_Datatype some = columns(test_rank, SIDE / 2, MPI_DOUBLE, 1);
    for (int n = 0, t = 0; n < TAKEN; n++, t = n / 10 % test_size) {
        for (int i = 0; i < CELLS; i++)
            patch[i] = value(test_rank, t, i, round);
        MPI_Accumulate(patch, 1, some, t, 0, 1, some, MPI_SUM, matrices);
        MPI_Win_flush_local(t, matrices);
        memset(patch, 0xff, sizeof patch);
    }
    MPI_Type_free(&some);
    fence();
    int times = 0;
    for (int n = 0; n < TAKEN; n++)
        times += n / 10 % test_size == test_rank;
    for (int i = 0; i < CELLS; i++) {
        double expected = 0;
        for (int r = 0; r < test_size; r++)
            if (i % SIDE >= r && i % SIDE < r + SIDE / 2)
                expected += times * value(r, test_rank, i, round);
        CHECK(mine[i] == expected, "cell %d: %g, not %g", i, mine[i], expected);
    }
    fence();
}

/* Nonblocking puts to all ranks, then gets, which are waited for in the reverse order. */
static void move_later(int round)
{
    MPI_Request requests[2 * SIDE];
    int per_rank = SIDE / test_size, bytes = SIDE * (int)sizeof(double), n = 0;
    for (int i = 0; i < CELLS; i++)
        patch[i] = value(test_rank, 0, i, round + 1);
    for (int t = 0; t < test_size; t++)
        for (int k = 0; k < per_rank; k++) {
            int row = test_rank * per_rank + k;
            MPI_Rput(&patch[row * SIDE], bytes, MPI_BYTE, t, row * bytes, bytes, MPI_BYTE, matrices,
                     &requests[n++]);
        }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    memset(patch, 0xff, sizeof patch);
    fence();
    for (int t = 0; t < test_size; t++) {
        n = 0;
        for (int row = 0; row < per_rank * test_size; row++)
            MPI_Rget(&fetched[row * SIDE], bytes, MPI_BYTE, t, row * bytes, bytes, MPI_BYTE,
                     matrices, &requests[n++]);
        while (n--)
            MPI_Wait(&requests[n], MPI_STATUS_IGNORE);
        for (int i = 0; i < per_rank * test_size * SIDE; i++)
            CHECK(fetched[i] == value(i / SIDE / per_rank, 0, i, round + 1), "cell %d: %g", i,
                  fetched[i]);
    }
    fence();
}

/* ---- counters and mutexes ---- */

static long fetch(long operand, MPI_Op op, int word)
{
    long before = -1;
    MPI_Fetch_and_op(&operand, &before, MPI_LONG, 0, word * (int)sizeof(long), op, words);
    MPI_Win_flush(0, words);
    return before;
}

/* Each number is drawn by one rank. */
static void draw_numbers(void)
{
    int drawn[TAKEN] = {0}, times[TAKEN];
    for (long number; (number = fetch(1, MPI_SUM, COUNTER)) < TAKEN;)
        drawn[number]++;
    MPI_Allreduce(drawn, times, TAKEN, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < TAKEN; i++)
        CHECK(times[i] == 1, "%d was drawn %d times", i, times[i]);
}

/* No token is lost or doubled. */
static void swap_tokens(void)
{
    long seen = 0, sum, put_in = 0, all_in;
    for (int i = 0; i < TAKEN; i++) {
        long token = 1 + test_rank + i * test_size;
        put_in += token;
        seen += fetch(token, MPI_REPLACE, TOKEN);
    }
    fence();
    seen += test_rank ? 0 : my_words[TOKEN];
    MPI_Allreduce(&seen, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&put_in, &all_in, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == all_in, "%ld, not %ld", sum, all_in);
}

/* The increment is not atomic: a mutex protects it. */
static void increment(void)
{
    int at = GUARDED * sizeof(long);
    long now = 0;
    MPI_Get(&now, 1, MPI_LONG, 0, at, 1, MPI_LONG, words);
    MPI_Win_flush(0, words);
    now++;
    MPI_Put(&now, 1, MPI_LONG, 0, at, 1, MPI_LONG, words);
    MPI_Win_flush(0, words);
}

static void use_spin_mutex(void)
{
    for (int i = 0; i < TAKEN; i++) {
        long locked = 1 + test_rank, free = 0, before;
        do {
            MPI_Compare_and_swap(&locked, &free, &before, MPI_LONG, 0, SPIN * sizeof(long), words);
            MPI_Win_flush(0, words);
        } while (before != free);
        increment();
        CHECK(fetch(free, MPI_REPLACE, SPIN) == locked);
    }
}

/* Set this rank's byte in the queue, and read those of the others. */
static void enter_queue(MPI_Win queue, char *bytes, char own)
{
    int after = test_size - test_rank - 1;
    bytes[test_rank] = own;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, queue);
    MPI_Put(&bytes[test_rank], 1, MPI_BYTE, 0, test_rank, 1, MPI_BYTE, queue);
    if (test_rank)
        MPI_Get(bytes, test_rank, MPI_BYTE, 0, 0, test_rank, MPI_BYTE, queue);
    if (after)
        MPI_Get(&bytes[test_rank + 1], after, MPI_BYTE, 0, test_rank + 1, after, MPI_BYTE, queue);
    MPI_Win_unlock(0, queue);
    bytes[test_rank] = 0;
}

/* The mutex is handed on by a message. */
static void use_queue_mutex(void)
{
    char bytes[64], *memory;
    MPI_Win queue;
    MPI_Alloc_mem(64, MPI_INFO_NULL, &memory);
    memset(memory, 0, 64);
    MPI_Win_create(memory, test_rank ? 0 : 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &queue);
    for (int i = 0; i < TAKEN / 10; i++) {
        enter_queue(queue, bytes, 1);
        if (memchr(bytes, 1, (size_t)test_size))
            MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        increment();
        enter_queue(queue, bytes, 0);
        for (int r = 1; r < test_size; r++) {
            int next = (test_rank + r) % test_size;
            if (bytes[next]) {
                MPI_Send(NULL, 0, MPI_BYTE, next, 7, MPI_COMM_WORLD);
                break;
            }
        }
    }
    MPI_Win_free(&queue);
    MPI_Free_mem(memory);
}

static void check_guarded(long times)
{
    fence();
    CHECK(test_rank || my_words[GUARDED] == times, "%ld, not %ld", my_words[GUARDED], times);
    fence();
    my_words[GUARDED] = 0;
    fence();
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        open_windows(round);
        move_patches(round);
        if (round > 2)
            change_mode(round);
        add_patches(round);
        move_later(round);
        draw_numbers();
        swap_tokens();
        use_spin_mutex();
        check_guarded((long)TAKEN * test_size);
        use_queue_mutex();
        check_guarded((long)(TAKEN / 10) * test_size);
        close_windows();
    }
    return test_end();
}
