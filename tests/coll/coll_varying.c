/* Gatherv, Scatterv, Allgatherv, Alltoallv and Alltoallw: counts that differ, some or all of them
 * zero, blocks in any order with gaps between them, whose bytes are not touched (H13: the same
 * decision on all ranks). */
#include "coll.h"

enum { UNIT = 3, GAP = 5, SHAPES = 6 };

static MPI_Comm comm;
static MPI_Datatype unit; /* bytes; counts and displacements are in units */

/* The number of units that `from` sends to `to`. */
static int amount(int shape, int base, int from, int to)
{
    switch (shape) {
    case 0:
        return 0;
    case 1: /* zero to and from every second rank */
        return (from + to) % 2 ? base : 0;
    case 2: /* only from the last rank */
        return from == test_size - 1 ? base : 0;
    case 3:
        return base / (from + 1) + to;
    case 4:
        return base;
    default:
        return (int)((unsigned)(from * 31 + to * 17 + 1) * 2654435761u >> 16) % (base + 1);
    }
}

/* A block for each rank in one buffer, with gaps of GAP units around each. */
struct blocks {
    struct buffer buffer;
    int counts[16], displs[16];
};

/* In reverse order at odd ranks, otherwise starting in the middle. */
static void blocks_place(struct blocks *b)
{
    int at = GAP;
    for (int i = 0; i < test_size; i++) {
        int r = test_rank % 2 ? test_size - 1 - i : (i + test_size / 2) % test_size;
        b->displs[r] = at;
        at += b->counts[r] + GAP;
    }
    b->buffer = buffer_make((size_t)at * UNIT);
}

static char *block(struct blocks *b, int r)
{
    return b->buffer.data + b->displs[r] * UNIT;
}

static size_t block_bytes(const struct blocks *b, int r)
{
    return (size_t)b->counts[r] * UNIT;
}

/* Nothing was written between the blocks. */
static void blocks_free(struct blocks *b, const char *what)
{
    for (int r = 0; r < test_size; r++) {
        char *end = block(b, r) + block_bytes(b, r);
        CHECK(coll_untouched(block(b, r) - GAP * UNIT, block(b, r)), "%s: before block %d", what,
              r);
        CHECK(coll_untouched(end, end + GAP * UNIT), "%s: behind block %d", what, r);
    }
    buffer_free(&b->buffer);
}

static void gatherv(int shape, int base, int root)
{
    coll_turn++;
    int mine = amount(shape, base, test_rank, root);
    struct buffer out = buffer_make((size_t)mine * UNIT);
    coll_fill(out.data, out.bytes, test_rank, root);
    if (test_rank == root) {
        struct blocks in = {0};
        for (int r = 0; r < test_size; r++)
            in.counts[r] = amount(shape, base, r, root);
        blocks_place(&in);
        MPI_Gatherv(out.data, mine, unit, in.buffer.data, in.counts, in.displs, unit, root, comm);
        for (int r = 0; r < test_size; r++)
            coll_expect("gatherv", block(&in, r), block_bytes(&in, r), r, root);
        blocks_free(&in, "gatherv");
    } else {
        MPI_Gatherv(out.data, mine, unit, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, comm);
    }
    buffer_free(&out);
}

static void scatterv(int shape, int base, int root)
{
    coll_turn++;
    int mine = amount(shape, base, root, test_rank);
    struct buffer in = buffer_make((size_t)mine * UNIT);
    if (test_rank == root) {
        struct blocks out = {0};
        for (int r = 0; r < test_size; r++)
            out.counts[r] = amount(shape, base, root, r);
        blocks_place(&out);
        for (int r = 0; r < test_size; r++)
            coll_fill(block(&out, r), block_bytes(&out, r), root, r);
        MPI_Scatterv(out.buffer.data, out.counts, out.displs, unit, in.data, mine, unit, root,
                     comm);
        blocks_free(&out, "scatterv");
    } else {
        MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, in.data, mine, unit, root, comm);
    }
    coll_expect("scatterv", in.data, in.bytes, root, test_rank);
    buffer_free(&in);
}

static void allgatherv(int shape, int base)
{
    coll_turn++;
    int mine = amount(shape, base, test_rank, 0);
    struct buffer out = buffer_make((size_t)mine * UNIT);
    struct blocks in = {0};
    coll_fill(out.data, out.bytes, test_rank, 0);
    for (int r = 0; r < test_size; r++)
        in.counts[r] = amount(shape, base, r, 0);
    blocks_place(&in);
    MPI_Allgatherv(out.data, mine, unit, in.buffer.data, in.counts, in.displs, unit, comm);
    for (int r = 0; r < test_size; r++)
        coll_expect("allgatherv", block(&in, r), block_bytes(&in, r), r, 0);
    blocks_free(&in, "allgatherv");
    buffer_free(&out);
}

static void alltoallv(int shape, int base, bool by_types)
{
    const char *what = by_types ? "alltoallw" : "alltoallv";
    coll_turn++;
    struct blocks out = {0}, in = {0};
    for (int r = 0; r < test_size; r++) {
        out.counts[r] = amount(shape, base, test_rank, r);
        in.counts[r] = amount(shape, base, r, test_rank);
    }
    blocks_place(&out);
    blocks_place(&in);
    for (int r = 0; r < test_size; r++)
        coll_fill(block(&out, r), block_bytes(&out, r), test_rank, r);
    if (by_types) { /* displacements are in bytes; counts in bytes on one rank, in units on another
                     */
        int out_counts[16], out_places[16], in_counts[16], in_places[16];
        MPI_Datatype out_types[16], in_types[16];
        for (int r = 0; r < test_size; r++) {
            bool bytes = (r + test_rank) % 3 == 0;
            out_types[r] = bytes ? MPI_BYTE : unit;
            out_counts[r] = out.counts[r] * (bytes ? UNIT : 1);
            in_types[r] = bytes ? unit : MPI_BYTE;
            in_counts[r] = in.counts[r] * (bytes ? 1 : UNIT);
            out_places[r] = out.displs[r] * UNIT;
            in_places[r] = in.displs[r] * UNIT;
        }
        MPI_Alltoallw(out.buffer.data, out_counts, out_places, out_types, in.buffer.data, in_counts,
                      in_places, in_types, comm);
    } else {
        MPI_Alltoallv(out.buffer.data, out.counts, out.displs, unit, in.buffer.data, in.counts,
                      in.displs, unit, comm);
    }
    for (int r = 0; r < test_size; r++)
        coll_expect(what, block(&in, r), block_bytes(&in, r), r, test_rank);
    blocks_free(&out, what);
    blocks_free(&in, what);
}

int main(int argc, char **argv)
{
    static const int bases[] = {1, 20, 85, 1365, 1366, 2730, 11000, 40000};
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    coll_warm(comm);
    MPI_Type_contiguous(UNIT, MPI_BYTE, &unit);
    MPI_Type_commit(&unit);
    for (int b = 0; b < (int)(sizeof bases / sizeof *bases); b++)
        for (int shape = 0; shape < SHAPES; shape++) {
            for (int root = 0; root < test_size; root++) {
                gatherv(shape, bases[b], root);
                scatterv(shape, bases[b], root);
            }
            allgatherv(shape, bases[b]);
            alltoallv(shape, bases[b], false);
            alltoallv(shape, bases[b], true);
        }
    MPI_Type_free(&unit);
    return test_end();
}
