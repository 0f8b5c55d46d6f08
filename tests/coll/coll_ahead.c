/* Collectives that need not synchronise do not, with small messages: a root runs ahead in Bcast and
 * Scatter, all other ranks in Reduce and Gather. The ranks ahead then send the message for which
 * the ranks behind wait before they take part. Hangs if a rank ahead waits for those behind (H15:
 * collectives that do not synchronise).
 *
 *   coll_ahead [each]   also scatters whose blocks are small, but not their sum
 *   coll_ahead many     as many operations ahead as programs rely on
 *   coll_ahead new      the same, first on a communicator that has not been used before
 *   coll_ahead far      the ranks behind are only late: a rank that is far ahead waits in the end,
 *                       and no data is lost
 *   coll_ahead some     MPI_Scatterv and MPI_Alltoallv of short and long data for one rank; those
 *                       without data are behind
 */
#include "coll.h"

#include <string.h>
#include <unistd.h>

enum { AHEAD = 8, MANY = 1000, FAR = 300, LATE_MS = 10 };
enum { SMALL_IN_ALL = 8000, SMALL_IN_ALL_MANY = 4000 };

static MPI_Comm comm;
static bool far, many;

static int calls_ahead(void)
{
    return far ? FAR : many ? MANY : AHEAD;
}

/* Ranks ahead send after they have returned; ranks behind enter after they have received. */
static void when_ahead_is_through(bool ahead, int root, bool before)
{
    int token = 1;
    if (far) {
        if (!ahead && before)
            usleep(LATE_MS * 1000);
    } else if (ahead && !before) {
        for (int r = 0; r < test_size; r++)
            if ((test_rank == root) != (r == root))
                MPI_Send(&token, 1, MPI_INT, r, 9, MPI_COMM_WORLD);
    } else if (!ahead && before) {
        for (int r = 0; r < test_size; r++)
            if ((test_rank == root) != (r == root))
                MPI_Recv(&token, 1, MPI_INT, r, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void bcast(int n, int root)
{
    char *data = malloc((size_t)n);
    when_ahead_is_through(test_rank == root, root, true);
    for (int i = 0; i < calls_ahead(); i++) {
        coll_turn++;
        if (test_rank == root)
            coll_fill(data, (size_t)n, root, 0);
        MPI_Bcast(data, n, MPI_BYTE, root, comm);
        coll_expect("bcast", data, (size_t)n, root, 0);
    }
    when_ahead_is_through(test_rank == root, root, false);
    free(data);
}

static void scatter(int n, int root)
{
    char *data = malloc((size_t)n), *all = malloc((size_t)(n * test_size));
    when_ahead_is_through(test_rank == root, root, true);
    for (int i = 0; i < calls_ahead(); i++) {
        coll_turn++;
        for (int r = 0; r < test_size; r++)
            coll_fill(all + r * n, (size_t)n, root, r);
        MPI_Scatter(all, n, MPI_BYTE, data, n, MPI_BYTE, root, comm);
        coll_expect("scatter", data, (size_t)n, root, test_rank);
    }
    when_ahead_is_through(test_rank == root, root, false);
    free(data);
    free(all);
}

static void gather(int n, int root)
{
    char *data = malloc((size_t)n), *all = malloc((size_t)(n * test_size));
    when_ahead_is_through(test_rank != root, root, true);
    for (int i = 0; i < calls_ahead(); i++) {
        coll_turn++;
        coll_fill(data, (size_t)n, test_rank, root);
        MPI_Gather(data, n, MPI_BYTE, all, n, MPI_BYTE, root, comm);
        for (int r = 0; r < test_size && test_rank == root; r++)
            coll_expect("gather", all + r * n, (size_t)n, r, root);
    }
    when_ahead_is_through(test_rank != root, root, false);
    free(data);
    free(all);
}

static void reduce(int n, int root)
{
    int elements = n / (int)sizeof(int), *mine = malloc((size_t)n), *sum = malloc((size_t)n);
    when_ahead_is_through(test_rank != root, root, true);
    for (int i = 0; i < calls_ahead(); i++) {
        for (int e = 0; e < elements; e++)
            mine[e] = test_rank * 100 + e + i;
        MPI_Reduce(mine, sum, elements, MPI_INT, MPI_SUM, root, comm);
        int expected = 50 * test_size * (test_size - 1), wrong = 0;
        for (int e = 0; e < elements && test_rank == root; e++)
            wrong += sum[e] != expected + test_size * (e + i);
        CHECK(!wrong, "reduce: %d of %d", wrong, elements);
    }
    when_ahead_is_through(test_rank != root, root, false);
    free(mine);
    free(sum);
}

/* The rank `from` sends data to the next one only. The others make the call after a message that
 * `from` sends when its call has returned. */
static void for_one_rank(int n, int from, bool scatters)
{
    int to = (from + 1) % test_size, counts[16] = {0}, none[16] = {0}, displs[16] = {0}, token = 1;
    bool sends = test_rank == from, receives = test_rank == to;
    struct buffer out = buffer_make((size_t)n), in = buffer_make((size_t)n);
    coll_turn++;
    coll_fill(out.data, (size_t)n, from, to);
    counts[sends ? to : from] = n;
    if (!sends && !receives)
        MPI_Recv(&token, 1, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (scatters)
        MPI_Scatterv(out.data, counts, displs, MPI_BYTE, in.data, receives ? n : 0, MPI_BYTE, from,
                     comm);
    else
        MPI_Alltoallv(out.data, sends ? counts : none, displs, MPI_BYTE, in.data,
                      receives ? counts : none, displs, MPI_BYTE, comm);
    for (int r = 0; r < test_size && sends; r++)
        if (r != from && r != to)
            MPI_Send(&token, 1, MPI_INT, r, 9, MPI_COMM_WORLD);
    if (receives)
        coll_expect(scatters ? "scatterv" : "alltoallv", in.data, (size_t)n, from, to);
    buffer_free(&out);
    buffer_free(&in);
    MPI_Barrier(comm);
}

static void for_some_ranks(void)
{
    static const int sizes[] = {100, 2000, 7000, 20000, 200000, 2000000};
    for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++)
        for (int from = 0; from < test_size; from++)
            for (int how = 0; how < 4; how++) {
                coll_source = how % 2 ? MALLOC : ALLOC_MEM;
                for_one_rank(sizes[s], from, how < 2);
            }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 128, 1024, 2048, 4000};
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    far = argc > 1 && !strcmp(argv[1], "far");
    many = argc > 1 && (!strcmp(argv[1], "many") || !strcmp(argv[1], "new"));
    if (argc > 1 && !strcmp(argv[1], "new"))
        bcast(8, 0);
    coll_warm(comm);
    if (argc > 1 && !strcmp(argv[1], "some")) {
        for_some_ranks();
        return test_end();
    }
    for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++)
        for (int root = 0; root < test_size; root++) {
            bcast(sizes[s], root);
            MPI_Barrier(comm);
            int others = sizes[s] * (test_size - 1);
            if (many ? others <= SMALL_IN_ALL_MANY
                     : sizes[s] * test_size <= SMALL_IN_ALL || argc > 1)
                scatter(sizes[s], root);
            MPI_Barrier(comm);
            gather(sizes[s], root);
            MPI_Barrier(comm);
            reduce(sizes[s], root);
            MPI_Barrier(comm);
        }
    return test_end();
}
