"""Collectives in Python: mpi4py on numpy arrays, and on pickled objects, whose lengths differ between
ranks."""
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size


def check(got, expected, what):
    assert np.array_equal(got, expected), f"rank {rank}: {what}: {got}, expected {expected}"


def values(n, rank, dtype="d"):
    return (np.arange(n) % 1000 + 100 * rank).astype(dtype)


def arrays(comm, n):
    whole = np.concatenate([values(n, r) for r in range(size)])
    total = sum(values(n, r) for r in range(size))
    data = values(n, 1) if rank == size - 1 else np.zeros(n)
    comm.Bcast(data, root=size - 1)
    check(data, values(n, 1), "Bcast")
    got = np.zeros(n * size)
    comm.Allgather(values(n, rank), got)
    check(got, whole, "Allgather")
    got = np.zeros(n * size) if rank == 0 else None
    comm.Gather(values(n, rank), got, root=0)
    if rank == 0:
        check(got, whole, "Gather")
    got = np.zeros(n)
    comm.Scatter(whole if rank == 0 else None, got, root=0)
    check(got, values(n, rank), "Scatter")
    got = np.zeros(n * size)
    comm.Alltoall(np.concatenate([values(n, rank + r) for r in range(size)]), got)
    check(got, np.concatenate([values(n, r + rank) for r in range(size)]), "Alltoall")
    got = np.zeros(n)
    comm.Allreduce(values(n, rank), got)
    check(got, total, "Allreduce")
    got = values(n, rank)
    comm.Allreduce(MPI.IN_PLACE, got)
    check(got, total, "Allreduce in place")
    got = np.zeros(n)
    comm.Reduce(values(n, rank), got, root=0)
    if rank == 0:
        check(got, total, "Reduce")
    comm.Scan(values(n, rank), got)
    check(got, sum(values(n, r) for r in range(rank + 1)), "Scan")
    got = np.zeros(n, "i")
    comm.Allreduce(values(n, rank, "i"), got, op=MPI.MAX)
    check(got, values(n, size - 1, "i"), "Allreduce of int32, max")


def varying(comm):
    counts = [3 * r + 1 for r in range(size)]
    displs = [sum(counts[:r]) for r in range(size)]
    got = np.zeros(sum(counts))
    comm.Allgatherv(values(counts[rank], rank), [got, counts, displs, MPI.DOUBLE])
    check(got, np.concatenate([values(counts[r], r) for r in range(size)]), "Allgatherv")
    matrix = np.full((8, 8), float(rank))
    column = MPI.DOUBLE.Create_vector(8, 1, 8).Commit()
    comm.Bcast([matrix, 1, column], root=0)
    check(matrix[:, 0], np.zeros(8), "Bcast of a column")
    check(matrix[:, 1:], np.full((8, 7), float(rank)), "Bcast of a column, beside it")
    column.Free()


def objects(comm):
    mine = {"rank": rank, "text": "x" * (1 + 1000 * rank)}
    received = comm.allgather(mine)
    assert [len(o["text"]) for o in received] == [1 + 1000 * r for r in range(size)]
    assert comm.bcast(mine if rank == 0 else None)["rank"] == 0
    assert comm.alltoall([(rank, r) for r in range(size)]) == [(r, rank) for r in range(size)]
    assert comm.allreduce([rank]) == list(range(size))  # concatenation is not commutative
    assert comm.scan(str(rank)) == "".join(map(str, range(rank + 1)))
    gathered = comm.gather(rank, root=size - 1)
    assert rank != size - 1 or gathered == list(range(size))


for _ in range(8):
    world.Barrier()
for n in (0, 1, 10, 500, 1100, 40000):
    arrays(world, n)
varying(world)
objects(world)
half = world.Split(0, -rank)
assert half.allreduce(half.rank) == size * (size - 1) // 2
half.Free()
