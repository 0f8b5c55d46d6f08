/* Collectives that need not synchronise do not, on intercommunicators: a root runs ahead of the
 * remote group in Bcast and Scatter, the leaves run ahead of the root in Gather and Reduce. Ranks
 * that pass MPI_PROC_NULL have nothing to do: they run any distance ahead, and no rank waits when
 * they are late (H15: collectives that do not synchronise). */
#include "inter.h"

enum { AHEAD = 8, FAR = 100, MOST = 4000 };

static struct inter x;
enum part { ROOT, LEAF, NONE };

static enum part part_of(int world, int first, int many, int side, int rank)
{
    int position = (world + test_size - first) % test_size, its_side = position >= many;
    if (its_side != side)
        return LEAF;
    return position - (its_side ? many : 0) == rank ? ROOT : NONE;
}

/* Ranks of the part `ahead` send a token after they have returned; the other ranks enter after they
 * have received it. */
static void token(bool send, enum part ahead, const enum part *parts)
{
    int one = 1;
    for (int r = 0; r < test_size; r++) {
        if (send && parts[test_rank] == ahead && parts[r] != ahead)
            MPI_Send(&one, 1, MPI_INT, r, 9, MPI_COMM_WORLD);
        if (!send && parts[test_rank] != ahead && parts[r] == ahead)
            MPI_Recv(&one, 1, MPI_INT, r, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static char mine[MOST], all[64 * MOST];

static void call(int kind, int bytes, int side, int rank)
{
    int root = inter_root(&x, side, rank);
    coll_turn++;
    for (int r = 0; r < x.others; r++)
        coll_fill(all + r * bytes, (size_t)bytes, inter_mine(&x), inter_other(&x, r));
    coll_fill(mine, (size_t)bytes, inter_mine(&x), 0);
    if (kind == 0) {
        MPI_Bcast(mine, bytes, MPI_BYTE, root, x.comm);
        if (root >= 0)
            coll_expect("bcast", mine, (size_t)bytes, inter_id(side, rank), 0);
    } else if (kind == 1) {
        MPI_Scatter(all, bytes, MPI_BYTE, mine, bytes, MPI_BYTE, root, x.comm);
        if (root >= 0)
            coll_expect("scatter", mine, (size_t)bytes, inter_id(side, rank), inter_mine(&x));
    } else if (kind == 2) {
        MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, x.comm);
        for (int r = 0; r < x.others && root == MPI_ROOT; r++)
            coll_expect("gather", all + r * bytes, (size_t)bytes, inter_other(&x, r), 0);
    } else {
        static int sums[MOST / 4], ints[MOST / 4];
        int n = bytes / 4;
        for (int i = 0; i < n; i++)
            ints[i] = x.me + i;
        MPI_Reduce(ints, sums, n, MPI_INT, MPI_SUM, root, x.comm);
        for (int i = 0; i < n && root == MPI_ROOT; i++)
            CHECK(sums[i] == x.others * i + x.others * (x.others - 1) / 2, "reduce: %d", sums[i]);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 128, 1000, MOST};
    coll_begin(&argc, &argv);
    for (int many = 1; many < test_size; many++) {
        x = inter_make(0, many);
        coll_warm(x.comm);
        for (int side = 0; side < 2; side++)
            for (int kind = 0; kind < 4; kind++)
                for (int s = 0; s < 4; s++) {
                    enum part parts[64], ahead = kind < 2 ? ROOT : LEAF;
                    int rank = (s + kind) % (side == x.side ? x.size : x.others);
                    for (int r = 0; r < test_size; r++)
                        parts[r] = part_of(r, 0, many, side, rank);
                    /* The ranks with nothing to do come last, then first. */
                    if (parts[test_rank] != NONE) {
                        if (parts[test_rank] != ahead)
                            token(false, ahead, parts);
                        for (int i = 0; i < AHEAD; i++)
                            call(kind, sizes[s], side, rank);
                        token(true, ahead, parts);
                    } else {
                        token(false, ahead, parts);
                        for (int i = 0; i < AHEAD; i++)
                            call(kind, sizes[s], side, rank);
                    }
                    MPI_Barrier(MPI_COMM_WORLD);
                    token(false, NONE, parts);
                    for (int i = 0; i < FAR; i++)
                        call(kind, sizes[s], side, rank);
                    token(true, NONE, parts);
                    MPI_Barrier(MPI_COMM_WORLD);
                }
        inter_free(&x);
    }
    return test_end();
}
