/* Intercommunicators between two groups of the world. */
#ifndef INTER_H
#define INTER_H

#include "coll.h"

struct inter {
    MPI_Comm comm, local;
    int side, me, size, others; /* our group, rank in it, its size; the size of the remote group */
    int world[64];              /* world ranks of the remote group */
};

/* Group 0 has `many` ranks starting at `first`, modulo the size of the world. */
static inline struct inter inter_make(int first, int many)
{
    struct inter x;
    int position = (test_rank + test_size - first) % test_size;
    x.side = position >= many;
    MPI_Comm_split(MPI_COMM_WORLD, x.side, position, &x.local);
    MPI_Intercomm_create(x.local, 0, MPI_COMM_WORLD, (first + (x.side ? 0 : many)) % test_size, 3,
                         &x.comm);
    MPI_Comm_rank(x.local, &x.me);
    MPI_Comm_size(x.local, &x.size);
    MPI_Comm_remote_size(x.comm, &x.others);
    for (int r = 0; r < x.others; r++)
        x.world[r] = (first + (x.side ? 0 : many) + r) % test_size;
    return x;
}

static inline void inter_free(struct inter *x)
{
    MPI_Comm_free(&x->comm);
    MPI_Comm_free(&x->local);
}

/* A unique number for every rank of both groups. */
static inline int inter_id(int side, int rank)
{
    return 100 * side + rank;
}

static inline int inter_mine(const struct inter *x)
{
    return inter_id(x->side, x->me);
}

static inline int inter_other(const struct inter *x, int rank)
{
    return inter_id(!x->side, rank);
}

/* The root argument of this rank if the root is rank `root` of group `side`. */
static inline int inter_root(const struct inter *x, int side, int root)
{
    if (x->side != side)
        return root;
    return x->me == root ? MPI_ROOT : MPI_PROC_NULL;
}

#endif
