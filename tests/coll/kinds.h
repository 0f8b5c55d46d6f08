/* All kinds of blocking collectives on a communicator, with small data, checked. */
#ifndef KINDS_H
#define KINDS_H

#include "coll.h"

static inline void kinds_expect(int got, int expected, const char *what, const char *where)
{
    CHECK(got == expected, "%s on %s: %d, expected %d", what, where, got, expected);
}

/* Ranks and size are those of the communicator; `mark` distinguishes calls. */
static inline void kinds_move(MPI_Comm comm, int mark, const char *where)
{
    int me, size, root, value, all[64], back[64], counts[64], displs[64];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    root = (mark < 0 ? -mark : mark) % size;
    value = me == root ? mark : -1;
    MPI_Bcast(&value, 1, MPI_INT, root, comm);
    kinds_expect(value, mark, "bcast", where);
    value = mark + me;
    memset(all, 0, sizeof all);
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        kinds_expect(all[r], mark + r, "allgather", where);
    memset(all, 0, sizeof all);
    MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, comm);
    for (int r = 0; r < size && me == root; r++)
        kinds_expect(all[r], mark + r, "gather", where);
    for (int r = 0; r < size; r++)
        all[r] = mark + 10 * me + r, counts[r] = 1, displs[r] = size - 1 - r;
    MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, root, comm);
    kinds_expect(value, mark + 10 * root + me, "scatter", where);
    MPI_Alltoall(all, 1, MPI_INT, back, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        kinds_expect(back[r], mark + 10 * r + me, "alltoall", where);
    memset(back, 0, sizeof back);
    MPI_Allgatherv(&me, 1, MPI_INT, back, counts, displs, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        kinds_expect(back[size - 1 - r], r, "allgatherv", where);
}

static inline void kinds_combine(MPI_Comm comm, int mark, const char *where)
{
    int me, size, root, value, got = -1, all[64];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    root = (mark < 0 ? -mark : mark) % size;
    value = mark + me;
    int whole = size * mark + size * (size - 1) / 2, before = me * mark + me * (me - 1) / 2;
    MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, comm);
    kinds_expect(got, whole, "allreduce", where);
    got = -1;
    MPI_Reduce(&value, &got, 1, MPI_INT, MPI_SUM, root, comm);
    kinds_expect(got, me == root ? whole : -1, "reduce", where);
    MPI_Scan(&value, &got, 1, MPI_INT, MPI_SUM, comm);
    kinds_expect(got, before + value, "scan", where);
    MPI_Exscan(&value, &got, 1, MPI_INT, MPI_SUM, comm);
    if (me)
        kinds_expect(got, before, "exscan", where);
    for (int r = 0; r < size; r++)
        all[r] = value + r;
    MPI_Reduce_scatter_block(all, &got, 1, MPI_INT, MPI_SUM, comm);
    kinds_expect(got, whole + size * me, "reduce_scatter_block", where);
}

static inline void kinds_all(MPI_Comm comm, int mark, const char *where)
{
    kinds_move(comm, mark, where);
    kinds_combine(comm, mark, where);
    MPI_Barrier(comm);
}

#endif
