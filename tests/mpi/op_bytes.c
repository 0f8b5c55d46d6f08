/* In accumulates, hosts accept operations on MPI_BYTE that MPI does not define, such as MPI_SUM.
 * mpi4py's tests use it with zero elements. The library must accept them, with the same results. */
#include "test.h"

enum { BYTES = 2 };

static const struct {
    MPI_Op op;
    const char *name;
    unsigned char result[BYTES]; /* of 100, 3 and 57, 7 */
} ops[] = {
    {MPI_SUM, "MPI_SUM", {157, 10}}, {MPI_PROD, "MPI_PROD", {100 * 57 % 256, 21}},
    {MPI_MAX, "MPI_MAX", {100, 7}},  {MPI_MIN, "MPI_MIN", {57, 3}},
    {MPI_LAND, "MPI_LAND", {1, 1}},  {MPI_LOR, "MPI_LOR", {1, 1}},
    {MPI_LXOR, "MPI_LXOR", {0, 0}},  {MPI_BAND, "MPI_BAND", {32, 3}},
    {MPI_BOR, "MPI_BOR", {125, 7}},  {MPI_BXOR, "MPI_BXOR", {93, 4}},
};

static void combine(MPI_Win win, unsigned char *memory, int i)
{
    const unsigned char operand[BYTES] = {57, 7};
    unsigned char before[BYTES];
    memory[0] = 100;
    memory[1] = 3;
    MPI_Win_fence(0, win);
    CHECK(!MPI_Get_accumulate(operand, BYTES, MPI_BYTE, before, BYTES, MPI_BYTE, test_next(), 0,
                              BYTES, MPI_BYTE, ops[i].op, win));
    MPI_Win_fence(0, win);
    CHECK(before[0] == 100 && before[1] == 3, "%s: %d %d", ops[i].name, before[0], before[1]);
    CHECK(memory[0] == ops[i].result[0] && memory[1] == ops[i].result[1], "%s: %d %d", ops[i].name,
          memory[0], memory[1]);
}

static void combine_nothing(MPI_Win win, MPI_Datatype type, MPI_Op op)
{
    double operand = 1, before = 2;
    CHECK(
        !MPI_Get_accumulate(&operand, 0, type, &before, 0, type, test_next(), 0, 0, type, op, win));
    CHECK(!MPI_Accumulate(&operand, 0, type, test_next(), 0, 0, type, op, win));
    CHECK(!MPI_Accumulate(&operand, 1, type, MPI_PROC_NULL, 0, 1, type, op, win));
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    unsigned char *memory = window_memory(BYTES);
    MPI_Win win = window_over(memory, BYTES, 1);
    for (int i = 0; i < (int)(sizeof ops / sizeof *ops); i++)
        combine(win, memory, i);
    combine_nothing(win, MPI_BYTE, MPI_SUM);
    if (argc > 1) /* MPICH only */
        combine_nothing(win, MPI_DOUBLE, MPI_BAND);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
