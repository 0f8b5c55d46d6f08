/* Every predefined datatype with every operation that MPI defines for it, in all calls of the
 * accumulate family, with one element, a few and many. Fails with a wrong value where a reduction
 * function is missing or wrong. */
#include "predefined.h"

enum { FEW = 3, MANY = 40, BYTES_MAX = MANY * 32 };

enum call { ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP };

static int number(int i, int salt)
{
    return (i * 7 + salt) % 11 - 5;
}

static void check(const struct type *t, const char *what, const char *got, const char *expected,
                  int count)
{
    for (int i = 0; i < count; i++)
        CHECK(equal(t, got + i * t->size, expected + i * t->size), "%s: %s, element %d of %d",
              t->name, what, i, count);
}

static void one(const struct type *t, const struct operation *op, enum call call, int count,
                MPI_Win win)
{
    _Alignas(32) char before[BYTES_MAX], in[BYTES_MAX], out[BYTES_MAX], fetched[BYTES_MAX];
    int bytes = count * t->size, target = test_next();
    for (int i = 0; i < count; i++) {
        value_of(t, number(i, 1), before + i * t->size);
        value_of(t, number(i, 4), in + i * t->size);
    }
    memset(fetched, 0, sizeof fetched);
    MPI_Put(before, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    if (call == ACCUMULATE)
        MPI_Accumulate(in, count, t->handle, target, 0, count, t->handle, op->handle, win);
    else if (call == GET_ACCUMULATE)
        MPI_Get_accumulate(in, count, t->handle, fetched, count, t->handle, target, 0, count,
                           t->handle, op->handle, win);
    else
        MPI_Fetch_and_op(in, fetched, t->handle, target, 0, op->handle, win);
    MPI_Win_flush(target, win);
    MPI_Get(out, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    if (call != ACCUMULATE)
        check(t, "fetched", fetched, before, count);
    for (int i = 0; i < count; i++)
        combine(t, op->handle, before + i * t->size, in + i * t->size);
    check(t, op->name, out, before, count);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    /* A window in element mode, which has seen small operations only, uses other code. */
    char *few = window_memory(BYTES_MAX), *many = window_memory(BYTES_MAX);
    MPI_Win few_win = window_over(few, BYTES_MAX, 1), many_win = window_over(many, BYTES_MAX, 1);
    MPI_Win_lock_all(0, few_win);
    MPI_Win_lock_all(0, many_win);
    for (const struct type *t = predefined_types(); t->name; t++)
        for (const struct operation *op = operations_for(t->kind); op->name; op++)
            for (enum call call = ACCUMULATE; call <= FETCH_AND_OP; call++) {
                if (call == ACCUMULATE && op->handle == MPI_NO_OP)
                    continue;
                one(t, op, call, 1, few_win);
                one(t, op, call, call == FETCH_AND_OP ? 1 : FEW, few_win);
                one(t, op, call, call == FETCH_AND_OP ? 1 : MANY, many_win);
            }
    MPI_Win_unlock_all(few_win);
    MPI_Win_unlock_all(many_win);
    MPI_Win_free(&few_win);
    MPI_Win_free(&many_win);
    MPI_Free_mem(few);
    MPI_Free_mem(many);
    return test_end();
}
