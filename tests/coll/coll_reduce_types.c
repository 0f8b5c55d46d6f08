/* Every predefined operation on every predefined datatype that MPI defines it for, in every
 * reduction; one element, a few, many. The numbers are small, so that the order does not matter.
 *
 *   coll_reduce_types [plain]   leaves out what hosts alone get wrong: bytes that overflow or have
 *                               the upper bit set, and types longer than 8 bytes
 */
#include "coll.h"
#include "predefined.h"

enum { BYTES_MAX = 2000 * 32 };
static const int counts[] = {1, 33, 700};

static MPI_Comm comm;
static bool plain;
static _Alignas(32) char mine[4 * BYTES_MAX], got[4 * BYTES_MAX];

static int number(int rank, int i)
{
    int any = i * 7 + rank * 3 + (int)coll_turn;
    return plain ? any % 4 : any % 11 - 5;
}

/* Element i of the first `ranks` ranks, combined. */
static void combined(const struct type *t, MPI_Op op, int ranks, int i, void *to)
{
    _Alignas(32) char value[32];
    value_of(t, number(0, i), to);
    for (int r = 1; r < ranks; r++) {
        value_of(t, number(r, i), value);
        combine(t, op, to, value);
    }
}

static void check(const struct type *t, const struct operation *op, const char *what, int ranks,
                  int first, int count)
{
    for (int i = 0; i < count; i++) {
        _Alignas(32) char expected[32];
        combined(t, op->handle, ranks, first + i, expected);
        if (!equal(t, got + i * t->size, expected)) {
            CHECK(!"equal", "%s, %s, %s: element %d of %d", what, t->name, op->name, i, count);
            return;
        }
    }
}

static void one(const struct type *t, const struct operation *op, int n)
{
    int all = n * test_size, pieces[16];
    coll_turn++;
    for (int i = 0; i < all; i++)
        value_of(t, number(test_rank, i), mine + i * t->size);
    memset(got, 0, (size_t)(all * t->size));
    MPI_Allreduce(mine, got, n, t->handle, op->handle, comm);
    check(t, op, "allreduce", test_size, 0, n);
    int root = (int)coll_turn % test_size;
    MPI_Reduce(mine, got, n, t->handle, op->handle, root, comm);
    if (test_rank == root)
        check(t, op, "reduce", test_size, 0, n);
    MPI_Scan(mine, got, n, t->handle, op->handle, comm);
    check(t, op, "scan", test_rank + 1, 0, n);
    MPI_Exscan(mine, got, n, t->handle, op->handle, comm);
    if (test_rank)
        check(t, op, "exscan", test_rank, 0, n);
    MPI_Reduce_scatter_block(mine, got, n, t->handle, op->handle, comm);
    check(t, op, "reduce_scatter_block", test_size, n * test_rank, n);
    int first = 0;
    for (int r = 0; r < test_size; r++)
        pieces[r] = (r + (int)coll_turn) % 3 ? n / (r + 1) : 0;
    for (int r = 0; r < test_rank; r++)
        first += pieces[r];
    MPI_Reduce_scatter(mine, got, pieces, t->handle, op->handle, comm);
    check(t, op, "reduce_scatter", test_size, first, pieces[test_rank]);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    coll_warm(comm);
    plain = argc > 1;
    for (const struct type *t = predefined_types(); t->name; t++) {
        if (plain && t->size > 8)
            continue;
        for (const struct operation *op = operations_for(t->kind); op->name; op++)
            for (int c = 0; c < (int)(sizeof counts / sizeof *counts); c++)
                if (op->handle != MPI_REPLACE && op->handle != MPI_NO_OP)
                    one(t, op, counts[c]);
    }
    return test_end();
}
