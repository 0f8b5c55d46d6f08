"""One-sided communication in Python: mpi4py and numpy, every kind of epoch and operation, from each
rank to the next one. With an argument, the program loads that library itself."""
import ctypes
import sys

if len(sys.argv) > 1:
    ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
after, before = (rank + 1) % size, (rank - 1) % size
N = 1000
TAIL = N * 8  # offset of a counter after the array


def value(rank):
    return np.arange(N, dtype="d") + 1000.0 * rank


def check(got, expected, what):
    assert np.array_equal(got, expected), f"rank {rank}: {what}: {got}, expected {expected}"


def fences(win, mine):
    win.Fence(MPI.MODE_NOPRECEDE)
    win.Put(value(rank), after)
    win.Fence()
    check(mine, value(before), "put")
    back = np.zeros(N)
    win.Get(back, after)
    win.Fence()
    check(back, value(rank), "get")
    win.Accumulate(np.full(N, 0.5), after, op=MPI.SUM)
    win.Fence(MPI.MODE_NOSUCCEED)
    check(mine, value(before) + 0.5, "accumulate")


def post_and_start(win, mine):
    group = win.Get_group()
    win.Post(group.Incl([before]))
    win.Start(group.Incl([after]))
    every_other = MPI.DOUBLE.Create_vector(N // 2, 1, 2).Commit()
    ones = np.ones(N)
    win.Put([ones, 1, every_other], after, target=[0, 1, every_other])
    win.Complete()
    win.Wait()
    every_other.Free()
    check(mine[::2], np.ones(N // 2), "strided put")
    check(mine[1::2], (value(before) + 0.5)[1::2], "strided put, between")
    group.Free()


def locks(win, counter):
    one, old = np.ones(1, "l"), np.zeros(1, "l")
    world.Barrier()
    for target in range(size):
        win.Lock(target, MPI.LOCK_SHARED)
        win.Fetch_and_op(one, old, target, TAIL, MPI.SUM)
        win.Flush(target)
        assert 0 <= old[0] < size, old
        win.Unlock(target)
    world.Barrier()
    win.Lock(after)
    win.Compare_and_swap(np.array([77], "l"), np.array([size], "l"), old, after, TAIL)
    win.Unlock(after)
    assert old[0] == size, old
    world.Barrier()
    win.Lock(rank)
    win.Sync()
    assert counter[0] == 77, counter
    win.Unlock(rank)


def requests(win, mine):
    back = np.zeros(N)
    world.Barrier()
    win.Lock_all()
    win.Rput(value(rank + 5), after).Wait()
    win.Flush_all()
    MPI.Request.Waitall([win.Rget(back, after)])
    check(back, value(rank + 5), "rput, rget")
    win.Raccumulate(np.ones(N), after, op=MPI.SUM).Wait()
    win.Flush(after)
    win.Rget_accumulate(np.ones(N), back, after, op=MPI.SUM).Wait()
    win.Unlock_all()
    check(back, value(rank + 5) + 1, "rget_accumulate")
    world.Barrier()
    check(mine, value(before + 5) + 2, "all requests")


def window(win, memory):
    mine = np.frombuffer(memory, "d", N)
    counter = np.frombuffer(memory, "l", 1, TAIL)
    mine[:] = 0
    counter[:] = 0
    world.Barrier()
    fences(win, mine)
    post_and_start(win, mine)
    locks(win, counter)
    requests(win, mine)
    assert win.Get_attr(MPI.WIN_SIZE) == TAIL + 8
    win.Free()


memory = MPI.Alloc_mem(TAIL + 8)
window(MPI.Win.Create(memory, 1, comm=world), memory)
MPI.Free_mem(memory)

win = MPI.Win.Allocate(TAIL + 8, 1, comm=world)
assert win.flavor == MPI.WIN_FLAVOR_ALLOCATE, win.flavor
window(win, win.tomemory())
