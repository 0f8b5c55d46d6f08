/* Elements wider than the processor's atomics, unaligned elements, and small neighbours in one word
 * are each combined atomically, without changing the adjacent elements (H18: atomicity of
 * accumulates). */
#include "test.h"

enum { ROUNDS = 1500 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    /* 0: long double; 16: complex; 33: an unaligned int64; 48..55: bytes; 56..63: shorts */
    char *memory = window_memory(64);
    MPI_Win win = window_over(memory, 64, 1);
    long double wide = 1, wide_before;
    double pair[2] = {1, 2};
    int64_t unaligned = 1;
    unsigned char byte = 1;
    short two = 1;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        int target = (i + test_rank) % test_size, own = test_rank % 4;
        MPI_Fetch_and_op(&wide, &wide_before, MPI_LONG_DOUBLE, target, 0, MPI_SUM, win);
        MPI_Accumulate(pair, 1, MPI_C_DOUBLE_COMPLEX, target, 16, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM,
                       win);
        MPI_Accumulate(&unaligned, 1, MPI_INT64_T, target, 33, 1, MPI_INT64_T, MPI_SUM, win);
        MPI_Accumulate(&byte, 1, MPI_UNSIGNED_CHAR, target, 48 + own, 1, MPI_UNSIGNED_CHAR, MPI_SUM,
                       win);
        MPI_Accumulate(&two, 1, MPI_SHORT, target, 56 + 2 * own, 1, MPI_SHORT, MPI_SUM, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    int each = ROUNDS / test_size; /* how many times a rank was this rank's target */
    memcpy(&wide, memory, sizeof wide);
    memcpy(pair, memory + 16, sizeof pair);
    memcpy(&unaligned, memory + 33, sizeof unaligned);
    CHECK(wide == ROUNDS, "long double %Lf", wide);
    CHECK(pair[0] == ROUNDS && pair[1] == 2 * ROUNDS, "complex %f, %f", pair[0], pair[1]);
    CHECK(unaligned == ROUNDS, "unaligned %ld", (long)unaligned);
    for (int rank = 0; rank < test_size && rank < 4; rank++) {
        memcpy(&two, memory + 56 + 2 * rank, sizeof two);
        CHECK((unsigned char)memory[48 + rank] == (unsigned char)each, "byte %d", rank);
        CHECK(two == each, "short of rank %d: %d of %d", rank, two, each);
    }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
