/* Bcast, Gather, Scatter, Allgather and Alltoall deliver each byte to its place: all sizes, every
 * root, buffers at any alignment. Arguments that are significant only at the root are invalid
 * elsewhere. */
#include "coll.h"

static MPI_Comm comm;

static int shift(void)
{
    return (int)(coll_turn + (unsigned)test_rank) % 5;
}

static void bcast(size_t n, int root)
{
    struct buffer b = buffer_shifted(n, shift());
    coll_turn++;
    if (test_rank == root)
        coll_fill(b.data, n, root, 0);
    MPI_Bcast(b.data, (int)n, MPI_BYTE, root, comm);
    coll_expect("bcast", b.data, n, root, 0);
    buffer_free(&b);
}

static void gather(size_t n, int root)
{
    coll_turn++;
    struct buffer out = buffer_shifted(n, shift()), in = {0};
    coll_fill(out.data, n, test_rank, root);
    if (test_rank == root) {
        in = buffer_shifted(n * (size_t)test_size, shift());
        MPI_Gather(out.data, (int)n, MPI_BYTE, in.data, (int)n, MPI_BYTE, root, comm);
        for (int r = 0; r < test_size; r++)
            coll_expect("gather", in.data + (size_t)r * n, n, r, root);
        buffer_free(&in);
    } else {
        MPI_Gather(out.data, (int)n, MPI_BYTE, NULL, -7, MPI_DATATYPE_NULL, root, comm);
    }
    coll_expect("what was gathered", out.data, n, test_rank, root);
    buffer_free(&out);
}

static void scatter(size_t n, int root)
{
    coll_turn++;
    struct buffer in = buffer_shifted(n, shift()), out = {0};
    if (test_rank == root) {
        out = buffer_shifted(n * (size_t)test_size, shift());
        for (int r = 0; r < test_size; r++)
            coll_fill(out.data + (size_t)r * n, n, root, r);
        MPI_Scatter(out.data, (int)n, MPI_BYTE, in.data, (int)n, MPI_BYTE, root, comm);
        buffer_free(&out);
    } else {
        MPI_Scatter(NULL, -7, MPI_DATATYPE_NULL, in.data, (int)n, MPI_BYTE, root, comm);
    }
    coll_expect("scatter", in.data, n, root, test_rank);
    buffer_free(&in);
}

/* Most blocks of the result are slightly past the data modulo the page size. */
static void allgather(size_t n)
{
    coll_turn++;
    struct buffer out = buffer_shifted(n, shift());
    struct buffer in = buffer_shifted(n * (size_t)test_size, shift() + 1);
    coll_fill(out.data, n, test_rank, 0);
    MPI_Allgather(out.data, (int)n, MPI_BYTE, in.data, (int)n, MPI_BYTE, comm);
    for (int r = 0; r < test_size; r++)
        coll_expect("allgather", in.data + (size_t)r * n, n, r, 0);
    buffer_free(&out);
    buffer_free(&in);
}

static void alltoall(size_t n)
{
    coll_turn++;
    struct buffer out = buffer_shifted(n * (size_t)test_size, shift());
    struct buffer in = buffer_shifted(n * (size_t)test_size, shift());
    for (int r = 0; r < test_size; r++)
        coll_fill(out.data + (size_t)r * n, n, test_rank, r);
    MPI_Alltoall(out.data, (int)n, MPI_BYTE, in.data, (int)n, MPI_BYTE, comm);
    for (int r = 0; r < test_size; r++) {
        coll_expect("alltoall", in.data + (size_t)r * n, n, r, test_rank);
        coll_expect("what was sent", out.data + (size_t)r * n, n, test_rank, r);
    }
    buffer_free(&out);
    buffer_free(&in);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    coll_warm(comm);
    for (int s = 0; s < COLL_SIZES; s++) {
        size_t n = (size_t)coll_sizes[s];
        for (int root = 0; root < test_size; root++) {
            bcast(n, root);
            gather(n, root);
            scatter(n, root);
        }
        allgather(n);
        alltoall(n);
    }
    /* all sizes again, in another order */
    for (int s = 0; s < COLL_SIZES; s++) {
        size_t n = (size_t)coll_sizes[s * 5 % COLL_SIZES];
        bcast(n, s % test_size);
        alltoall(n);
        scatter(n, (s + 1) % test_size);
        allgather(n);
        gather(n, s % test_size);
    }
    return test_end();
}
