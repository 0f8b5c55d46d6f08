"""Collectives in Python: mpi4py, numpy arrays of many types and lengths, in place and not, pickled
objects, subsets of the world. Every rank computes the expected results."""
import sys
import traceback

import numpy as np
from mpi4py import MPI

LENGTHS = 1, 7, 100, 5000, 60000
TYPES = "i1", "i4", "f8", "c16"
IN_PLACE = MPI.IN_PLACE


def check(got, expected, what):
    assert np.array_equal(got, expected), f"{what}: {got}, expected {expected}"


def part(rank, n, kind, to=0):
    """Data of a rank, or from one rank to another: small integers, so that sums are exact."""
    return ((np.arange(n) * 3 + rank * 5 + to * 7) % 11).astype(kind)


def joined(parts):
    return np.concatenate(list(parts))


class Tests:
    def __init__(self, comm, n, kind):
        self.comm, self.n, self.kind = comm, n, kind
        self.rank, self.size = comm.rank, comm.size
        self.ranks = range(comm.size)
        self.root = n % comm.size

    def part(self, rank, to=0):
        return part(rank, self.n, self.kind, to)

    def room(self, blocks=1):
        return np.full(self.n * blocks, 99, self.kind)

    def moved(self):
        comm, mine, root = self.comm, self.part(self.rank), self.root
        everything = joined(self.part(r) for r in self.ranks)

        got = mine.copy()
        comm.Bcast(got, root)
        check(got, self.part(root), "Bcast")
        got = self.room(self.size) if self.rank == root else None
        comm.Gather(mine, got, root)
        if self.rank == root:
            check(got, everything, "Gather")
        got = self.room()
        comm.Scatter(everything if self.rank == root else None, got, root)
        check(got, mine, "Scatter")
        got = self.room(self.size)
        comm.Allgather(mine, got)
        check(got, everything, "Allgather")
        got = self.room(self.size)
        got[self.rank * self.n:(self.rank + 1) * self.n] = mine
        comm.Allgather(IN_PLACE, got)
        check(got, everything, "Allgather in place")

        sent = joined(self.part(self.rank, to) for to in self.ranks)
        expected = joined(self.part(r, self.rank) for r in self.ranks)
        got = self.room(self.size)
        comm.Alltoall(sent, got)
        check(got, expected, "Alltoall")
        got = sent.copy()
        comm.Alltoall(IN_PLACE, got)
        check(got, expected, "Alltoall in place")

    def unequal(self):
        """Rank r has r/size of n elements; rank 0 has none."""
        comm, root = self.comm, self.root
        counts = [self.n * r // self.size for r in self.ranks]
        parts = [part(r, counts[r], self.kind) for r in self.ranks]
        mine, everything = parts[self.rank], joined(parts)

        got = np.full(sum(counts), 99, self.kind)
        comm.Gatherv(mine, (got, counts), root)
        if self.rank == root:
            check(got, everything, "Gatherv")
        got = np.full_like(mine, 99)
        comm.Scatterv((everything, counts), got, root)
        check(got, mine, "Scatterv")
        got = np.full(sum(counts), 99, self.kind)
        comm.Allgatherv(mine, (got, counts))
        check(got, everything, "Allgatherv")
        sent = joined(part(self.rank, counts[to], self.kind, to) for to in self.ranks)
        expected = joined(part(r, counts[self.rank], self.kind, self.rank) for r in self.ranks)
        got = np.full_like(expected, 99)
        comm.Alltoallv((sent, counts), (got, [counts[self.rank]] * self.size))
        check(got, expected, "Alltoallv")

    def reduced(self):
        comm, mine, root = self.comm, self.part(self.rank), self.root
        so_far = [self.part(0)]
        for r in self.ranks[1:]:
            so_far.append(so_far[-1] + self.part(r))
        total = so_far[-1]

        got = self.room()
        comm.Reduce(mine, got, MPI.SUM, root)
        if self.rank == root:
            check(got, total, "Reduce")
        got = mine.copy()
        comm.Reduce(IN_PLACE if self.rank == root else got, got if self.rank == root else None,
                    MPI.SUM, root)
        if self.rank == root:
            check(got, total, "Reduce in place")
        got = self.room()
        comm.Allreduce(mine, got)
        check(got, total, "Allreduce")
        got = mine.copy()
        comm.Allreduce(IN_PLACE, got)
        check(got, total, "Allreduce in place")
        got = self.room()
        comm.Scan(mine, got)
        check(got, so_far[self.rank], "Scan")
        got = self.room()
        comm.Exscan(mine, got)
        if self.rank:
            check(got, so_far[self.rank - 1], "Exscan")
        if self.kind != "c16":
            comm.Allreduce(mine, got, MPI.MAX)
            check(got, np.max([self.part(r) for r in self.ranks], axis=0), "Allreduce, MAX")

        sent = joined(self.part(self.rank, to) for to in self.ranks)
        expected = sum(self.part(r, self.rank) for r in self.ranks[1:]) + self.part(0, self.rank)
        got = self.room()
        comm.Reduce_scatter_block(sent, got)
        check(got, expected, "Reduce_scatter_block")
        got = self.room()
        comm.Reduce_scatter(sent, got, [self.n] * self.size)
        check(got, expected, "Reduce_scatter")


def columns(comm):
    """A column of a matrix is a strided type."""
    matrix = np.arange(600, dtype="f8").reshape(20, 30) * (comm.rank + 1)
    column = MPI.DOUBLE.Create_vector(20, 1, 30).Commit()
    got = np.zeros((comm.size, 20))
    comm.Allgather([matrix, 1, column], [got, 20, MPI.DOUBLE])
    check(got, [np.arange(20) * 30.0 * (r + 1) for r in range(comm.size)], "Allgather of columns")
    comm.Bcast([matrix, 1, column], comm.size - 1)
    check(matrix[:, 0], np.arange(20) * 30.0 * comm.size, "Bcast of a column")
    check(matrix[:, 1], (np.arange(20) * 30.0 + 1) * (comm.rank + 1), "beside the column")
    column.Free()


def objects(comm):
    ranks = range(comm.size)
    assert comm.bcast({"from": comm.rank}, 0) == {"from": 0}
    assert comm.allgather("x" * comm.rank) == ["x" * r for r in ranks]
    assert comm.alltoall([(comm.rank, to) for to in ranks]) == [(r, comm.rank) for r in ranks]
    assert comm.scatter([[r] * 1000 for r in ranks] if comm.rank == 0 else None) == [comm.rank] * 1000
    assert comm.allreduce([comm.rank]) == list(ranks)  # concatenation is not commutative


def own_operation(comm):
    """The right operand unless it is zero: not commutative."""
    def last(a, b, _):
        a, b = np.frombuffer(a, "i8"), np.frombuffer(b, "i8")
        b[b == 0] = a[b == 0]
    op = MPI.Op.Create(last, commute=False)
    mine = np.where(np.arange(100) % (comm.rank + 2) == 0, comm.rank + 1, 0)
    expected = np.zeros(100, "i8")
    for r in range(comm.size):
        expected[np.arange(100) % (r + 2) == 0] = r + 1
    got = np.zeros(100, "i8")
    for _ in range(10):
        comm.Allreduce(mine, got, op)
        check(got, expected, "Allreduce with a user-defined operation")
    op.Free()


def main():
    world = MPI.COMM_WORLD
    mirror = world.Split(0, -world.rank)  # the same ranks in reverse order
    half = world.Split(world.rank % 2)
    for comm in world, mirror, half, MPI.COMM_SELF:
        for n in LENGTHS:
            for kind in TYPES:
                tests = Tests(comm, n, kind)
                tests.moved()
                tests.unequal()
                tests.reduced()
        columns(comm)
        objects(comm)
        own_operation(comm)
        comm.Barrier()
    mirror.Free()
    half.Free()
    right = world.gather(True)
    if world.rank == 0:
        assert right == [True] * world.size
        print("collectives right on all ranks")


try:
    main()
except Exception:  # otherwise the other ranks would hang
    traceback.print_exc()
    sys.stderr.flush()
    MPI.COMM_WORLD.Abort(1)
