"""PETSc's star forest over one-sided windows: a broadcast and a reduction along a graph in which the
leaves of a rank belong to roots of its neighbours."""
import sys

import petsc4py

petsc4py.init(sys.argv)
import numpy
from mpi4py import MPI
from petsc4py import PETSc

LEAVES, ROUNDS = 4096, 150
comm = PETSc.COMM_WORLD
leaf = numpy.arange(LEAVES)
owner, root = (comm.rank + leaf) % comm.size, (leaf + comm.rank) % LEAVES

forest = PETSc.SF().create(comm)
forest.setFromOptions()
forest.setGraph(LEAVES, None, numpy.stack([owner, root], 1).astype(PETSc.IntType).ravel())
forest.setUp()

good = True
for step in range(ROUNDS):
    roots = (leaf + 1e6 * comm.rank + step).astype(PETSc.ScalarType)
    leaves = numpy.zeros(LEAVES, PETSc.ScalarType)
    forest.bcastBegin(MPI.DOUBLE, roots, leaves, MPI.REPLACE)
    forest.bcastEnd(MPI.DOUBLE, roots, leaves, MPI.REPLACE)
    good = good and numpy.array_equal(leaves, root + 1e6 * owner + step)
    before = comm.tompi4py().allreduce(roots.sum())
    added = comm.tompi4py().allreduce(leaves.sum())
    forest.reduceBegin(MPI.DOUBLE, leaves, roots, MPI.SUM)
    forest.reduceEnd(MPI.DOUBLE, leaves, roots, MPI.SUM)
    good = good and comm.tompi4py().allreduce(roots.sum()) == before + added
if comm.tompi4py().allreduce(good, MPI.LAND) and comm.rank == 0:
    print("star forest", forest.getType(), "right", flush=True)
