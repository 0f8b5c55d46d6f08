/* Data movement of each collective on intercommunicators: groups of any sizes, each rank of both
 * groups as root, short and long data, different layouts at the two ends, no data.
 *
 *   coll_inter [malloc | alloc]   where buffers come from
 */
#include "inter.h"

#include <unistd.h>

static const size_t sizes[] = {0, 1, 8, 100, 3000, 8192, 8200, 40000, 300000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct inter x;

/* Every second int; `bytes` worth of ints. */
static MPI_Datatype spaced;
static bool lay_out_spaced(size_t bytes)
{
    return bytes % sizeof(int) == 0 && (coll_turn + (unsigned)test_rank) % 3 == 0;
}

/* `blocks` blocks of data in a buffer, contiguous or with gaps. */
struct data {
    struct buffer buffer;
    size_t bytes, stride;
    bool spaced;
    MPI_Datatype type;
    int count;
};

static struct data data_make(size_t bytes, int blocks)
{
    struct data d = {.bytes = bytes, .spaced = lay_out_spaced(bytes)};
    d.stride = bytes * (d.spaced ? 2 : 1);
    d.type = d.spaced ? spaced : MPI_BYTE;
    d.count = (int)(bytes / (d.spaced ? sizeof(int) : 1));
    d.buffer = buffer_make(d.stride * (size_t)blocks);
    return d;
}

static void data_copy(struct data *d, int block, char *plain, bool out)
{
    char *at = d->buffer.data + (size_t)block * d->stride;
    size_t piece = d->spaced ? sizeof(int) : d->bytes, step = d->spaced ? 2 * piece : piece;
    for (size_t done = 0; done < d->bytes; done += piece, at += step)
        memcpy(out ? plain + done : at, out ? at : plain + done, piece);
}

static void data_fill(struct data *d, int block, int from, int to)
{
    char *plain = malloc(d->bytes + 1);
    coll_fill(plain, d->bytes, from, to);
    data_copy(d, block, plain, false);
    free(plain);
}

static void data_expect(const char *what, struct data *d, int block, int from, int to)
{
    char *plain = malloc(d->bytes + 1);
    data_copy(d, block, plain, true);
    coll_expect(what, plain, d->bytes, from, to);
    free(plain);
}

static void data_free(struct data *d)
{
    buffer_free(&d->buffer);
}

/* ---- with a root ---- */

static void bcast(size_t bytes, int side, int rank)
{
    int root = inter_root(&x, side, rank);
    struct data d = data_make(bytes, 1);
    if (root == MPI_ROOT)
        data_fill(&d, 0, inter_mine(&x), 0);
    MPI_Bcast(d.buffer.data, d.count, d.type, root, x.comm);
    if (root != MPI_PROC_NULL)
        data_expect("bcast", &d, 0, inter_id(side, rank), 0);
    else
        CHECK(coll_untouched(d.buffer.data, d.buffer.data + d.stride), "bcast wrote");
    data_free(&d);
}

static void gather(size_t bytes, int side, int rank)
{
    int root = inter_root(&x, side, rank), all = x.others;
    struct data mine = data_make(bytes, 1), got = data_make(bytes, all);
    int counts[64], displs[64];
    if (root >= 0)
        data_fill(&mine, 0, inter_mine(&x), inter_id(side, rank));
    for (int r = 0; r < all; r++) {
        counts[r] = got.count;
        displs[r] = (all - 1 - r) * got.count;
    }
    bool varying = coll_turn % 2;
    if (varying)
        MPI_Gatherv(mine.buffer.data, mine.count, mine.type, got.buffer.data, counts, displs,
                    got.type, root, x.comm);
    else
        MPI_Gather(mine.buffer.data, mine.count, mine.type, got.buffer.data, got.count, got.type,
                   root, x.comm);
    for (int r = 0; r < all && root == MPI_ROOT; r++)
        data_expect("gather", &got, varying ? all - 1 - r : r, inter_other(&x, r), inter_mine(&x));
    if (root != MPI_ROOT)
        CHECK(coll_untouched(got.buffer.data, got.buffer.data + got.stride), "gather wrote");
    data_free(&mine);
    data_free(&got);
}

static void scatter(size_t bytes, int side, int rank)
{
    int root = inter_root(&x, side, rank), all = x.others;
    struct data mine = data_make(bytes, 1), out = data_make(bytes, all);
    int counts[64], displs[64];
    bool varying = coll_turn % 2;
    for (int r = 0; r < all; r++) {
        counts[r] = out.count;
        displs[r] = (all - 1 - r) * out.count;
        data_fill(&out, varying ? all - 1 - r : r, inter_mine(&x), inter_other(&x, r));
    }
    if (varying)
        MPI_Scatterv(out.buffer.data, counts, displs, out.type, mine.buffer.data, mine.count,
                     mine.type, root, x.comm);
    else
        MPI_Scatter(out.buffer.data, out.count, out.type, mine.buffer.data, mine.count, mine.type,
                    root, x.comm);
    if (root >= 0)
        data_expect("scatter", &mine, 0, inter_id(side, rank), inter_mine(&x));
    else
        CHECK(coll_untouched(mine.buffer.data, mine.buffer.data + mine.stride), "scatter wrote");
    data_free(&mine);
    data_free(&out);
}

/* ---- for all ---- */

static void allgather(size_t bytes)
{
    struct data mine = data_make(bytes, 1), got = data_make(bytes, x.others);
    int counts[64], displs[64];
    data_fill(&mine, 0, inter_mine(&x), 0);
    for (int r = 0; r < x.others; r++) {
        counts[r] = got.count;
        displs[r] = (x.others - 1 - r) * got.count;
    }
    bool varying = coll_turn % 2;
    if (varying)
        MPI_Allgatherv(mine.buffer.data, mine.count, mine.type, got.buffer.data, counts, displs,
                       got.type, x.comm);
    else
        MPI_Allgather(mine.buffer.data, mine.count, mine.type, got.buffer.data, got.count, got.type,
                      x.comm);
    for (int r = 0; r < x.others; r++)
        data_expect("allgather", &got, varying ? x.others - 1 - r : r, inter_other(&x, r), 0);
    data_free(&mine);
    data_free(&got);
}

/* More from group 0 than from group 1. */
static size_t from_side(size_t bytes, int side)
{
    return side ? bytes / 2 / sizeof(int) * sizeof(int) : bytes;
}

static void alltoall(size_t bytes, int kind)
{
    struct data out = data_make(from_side(bytes, x.side), x.others);
    struct data in = data_make(from_side(bytes, !x.side), x.others);
    int out_counts[64], out_displs[64], in_counts[64], in_displs[64];
    MPI_Datatype out_types[64], in_types[64];
    for (int r = 0; r < x.others; r++) {
        data_fill(&out, r, inter_mine(&x), inter_other(&x, r));
        out_counts[r] = out.count;
        in_counts[r] = in.count;
        out_displs[r] = r * (kind == 2 ? (int)out.stride : out.count);
        in_displs[r] = r * (kind == 2 ? (int)in.stride : in.count);
        out_types[r] = out.type;
        in_types[r] = in.type;
    }
    if (kind == 0)
        MPI_Alltoall(out.buffer.data, out.count, out.type, in.buffer.data, in.count, in.type,
                     x.comm);
    else if (kind == 1)
        MPI_Alltoallv(out.buffer.data, out_counts, out_displs, out.type, in.buffer.data, in_counts,
                      in_displs, in.type, x.comm);
    else
        MPI_Alltoallw(out.buffer.data, out_counts, out_displs, out_types, in.buffer.data, in_counts,
                      in_displs, in_types, x.comm);
    for (int r = 0; r < x.others; r++)
        data_expect("alltoall", &in, r, inter_other(&x, r), inter_mine(&x));
    data_free(&out);
    data_free(&in);
}

/* No rank of one group returns before all ranks of the other have entered. */
static void barrier(int *arrived, MPI_Win win)
{
    for (int i = 0; i < 2 * test_size; i++) {
        int seen, turn = *arrived + 1;
        if (i == test_rank)
            usleep(3000);
        MPI_Fetch_and_op(&turn, &seen, MPI_INT, test_rank, 0, MPI_REPLACE, win);
        MPI_Win_flush(test_rank, win);
        MPI_Barrier(x.comm);
        for (int r = 0; r < x.others; r++) {
            MPI_Fetch_and_op(NULL, &seen, MPI_INT, x.world[r], 0, MPI_NO_OP, win);
            MPI_Win_flush(x.world[r], win);
            CHECK(seen >= turn, "barrier: rank %d has come %d times, not %d", r, seen, turn);
        }
    }
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Win win;
    int *arrived = window_memory(sizeof *arrived);
    MPI_Win_create(arrived, sizeof *arrived, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    for (int many = 1; many < test_size; many++) {
        x = inter_make(many - 1, many);
        coll_warm(x.comm);
        for (int s = 0; s < SIZES; s++) {
            for (int side = 0; side < 2; side++) {
                int roots = side == x.side ? x.size : x.others;
                for (int root = 0; root < roots; root++) {
                    coll_turn++;
                    bcast(sizes[s], side, root);
                    gather(sizes[s], side, root);
                    scatter(sizes[s], side, root);
                }
            }
            coll_turn++;
            allgather(sizes[s]);
            for (int kind = 0; kind < 3; kind++)
                alltoall(sizes[s], kind);
        }
        barrier(arrived, win);
        inter_free(&x);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(arrived);
    MPI_Type_free(&spaced);
    return test_end();
}
