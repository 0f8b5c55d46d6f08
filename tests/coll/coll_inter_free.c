/* Intercommunicators are created and freed after any number of calls, so at any stage of their
 * set-up: by the root right after a Bcast, ahead of the other ranks. Messages and nonblocking
 * collectives of the program are in progress on them meanwhile, and must not match anything of the
 * set-up. */
#include "inter.h"

enum { CALLS = 44, N = 30 };

static void token(bool send, int to)
{
    int one = 1;
    if (send)
        MPI_Send(&one, 1, MPI_INT, to, 4, MPI_COMM_WORLD);
    else
        MPI_Recv(&one, 1, MPI_INT, to, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bcast(const struct inter *x, int side, int mark)
{
    int data[N], root = inter_root(x, side, 0);
    for (int i = 0; i < N; i++)
        data[i] = root == MPI_ROOT ? mark + i : -1;
    MPI_Bcast(data, N, MPI_INT, root, x->comm);
    for (int i = 0; i < N && root != MPI_PROC_NULL; i++)
        CHECK(data[i] == mark + i, "bcast %d: %d", mark, data[i]);
}

/* The program's own communication in progress. */
struct beside {
    int sent[2], got[64], message;
    MPI_Request requests[3];
};

static void begin_beside(struct beside *b, const struct inter *x, int mark)
{
    int peer = x->me % x->others, none = x->me >= x->others;
    b->sent[0] = inter_mine(x) + mark;
    b->sent[1] = mark;
    MPI_Iallgather(&b->sent[0], 1, MPI_INT, b->got, 1, MPI_INT, x->comm, &b->requests[0]);
    MPI_Irecv(&b->message, 1, MPI_INT, none ? MPI_PROC_NULL : peer, 0, x->comm, &b->requests[1]);
    MPI_Isend(&b->sent[1], 1, MPI_INT, none ? MPI_PROC_NULL : peer, 0, x->comm, &b->requests[2]);
}

static void end_beside(struct beside *b, const struct inter *x, int mark)
{
    MPI_Waitall(3, b->requests, MPI_STATUSES_IGNORE);
    for (int r = 0; r < x->others; r++)
        CHECK(b->got[r] == inter_other(x, r) + mark, "allgather beside: %d", b->got[r]);
    CHECK(x->me >= x->others || b->message == mark, "message beside: %d", b->message);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    for (int calls = 0; calls < CALLS; calls++) {
        int many = 1 + calls % (test_size - 1), side = calls % 2, sum = 0;
        struct inter x = inter_make(0, many);
        int root = side ? many : 0; /* in the world */
        struct beside b;
        if (calls % 3 == 0)
            begin_beside(&b, &x, calls);
        for (int i = 0; i < calls; i++)
            bcast(&x, i % 2, 100 * calls + i);
        if (calls % 5 == 0)
            MPI_Allreduce(&x.me, &sum, 1, MPI_INT, MPI_SUM, x.comm);
        CHECK(calls % 5 || sum == x.others * (x.others - 1) / 2, "allreduce: %d", sum);
        if (calls % 3 == 0)
            end_beside(&b, &x, calls);
        bool waits = calls % 4 == 0; /* MPI_Comm_disconnect may wait */
        if (test_rank != root && x.side != side && !waits)
            token(false, root);
        bcast(&x, side, calls);
        if (waits)
            MPI_Comm_disconnect(&x.comm);
        else
            MPI_Comm_free(&x.comm);
        for (int r = 0; r < x.others && test_rank == root && !waits; r++)
            token(true, x.world[r]);
        MPI_Comm_free(&x.local);
    }
    return test_end();
}
