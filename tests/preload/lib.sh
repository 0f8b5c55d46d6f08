# Sourced by the test scripts. tests/run starts them, with the host to use in the environment:
# TEST_ABI, TEST_HOST, TEST_LIB, TEST_MPIRUN, TEST_MPICC, TEST_PROGRAMS, TEST_TMP.
# shellcheck shell=sh
set -u

fail()
{
    echo "$0: $*" >&2
    exit 1
}

skip()
{
    echo "$*"
    exit 77
}

# Prints the total number of ranks of -np N program … [: -np N program …].
ranks_of()
{
    ranks=0
    while [ $# -gt 1 ]; do
        [ "$1" != -np ] || ranks=$((ranks + $2))
        shift
    done
    echo $ranks
}

# Whether the launcher can start several programs as one job: PRRTE 3.0.8, the launcher of Open MPI
# 5.0.7, crashes.
starts_several()
{
    "$TEST_MPIRUN" --oversubscribe -np 1 true : -np 1 true >/dev/null 2>&1
}

# Starts several programs as one job, through a script that selects one by its rank. `::` stands for
# `:`, which the launcher would interpret.
by_rank()
{
    ranks=$(ranks_of "$@") left=$#
    while [ $left -gt 0 ]; do
        [ "$1" != : ] || set -- "$@" ::
        [ "$1" = : ] || set -- "$@" "$1"
        shift
        left=$((left - 1))
    done
    mpirun -np "$ranks" "$(dirname "$0")/../preload/by_rank" "$@"
}

# The launcher, with arguments that both hosts accept: -np N program … [: -np N program …]
mpirun()
{
    case "$TEST_HOST $*" in
    "ompi "*" : "*)
        if ! starts_several; then
            by_rank "$@"
            return
        fi
        ;;
    esac
    case $TEST_HOST in
    ompi) "$TEST_MPIRUN" --oversubscribe --bind-to none "$@" ;;
    *) "$TEST_MPIRUN" "$@" ;;
    esac
}

# $with_library [NAME=VALUE ...] PROGRAM [ARGUMENT ...] runs a program with the library preloaded. Placed
# between the launcher and the program, it does not affect the launcher.
# shellcheck disable=SC2034
with_library="env LD_PRELOAD=$TEST_LIB"

# with_quota MICROSECONDS COMMAND...: runs a command, in which all processes together get so much processor time per
# 100 ms, or skips the test.
with_quota()
{
    group=
    for cgroups in /sys/fs/cgroup /sys/fs/cgroup/cpu; do
        group=$cgroups/mpiaccel-test.$$
        [ -w "$cgroups/cgroup.procs" ] && mkdir "$group" 2>/dev/null || group=
        [ -z "$group" ] || break
    done
    [ -n "$group" ] || skip "no cgroup with a quota can be made here"
    trap 'rmdir "$group"' EXIT
    if [ -e "$group/cpu.max" ]; then
        echo "$1 100000" >"$group/cpu.max"
    else
        echo "$1" >"$group/cpu.cfs_quota_us"
    fi || skip "the cgroup has no quota"
    shift
    # shellcheck disable=SC2016
    (sh -c 'echo $PPID' >"$group/cgroup.procs" && "$@") || exit 1
}

# interruptible COMMAND... &: a command in the background that ends at signals, although shells let it
# ignore SIGINT, and nohup SIGHUP
interruptible()
{
    exec python3 -c 'import os, signal, sys
for number in signal.SIGINT, signal.SIGHUP:
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# in_ascii COMMAND...: runs a command of Python in a locale that encodes only ASCII.
in_ascii()
{
    env LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0 "$@"
}

# statistics FILE EXPRESSION: fails unless a Python expression is true for the statistics in the file.
# It may use `stats`, and fast(CALL), deferred(CALL) and why(CALL): a call's counts and its set of
# reasons. Fails too if the file does not agree with the schema.
statistics()
{
    "$(dirname "$0")/../report/schema.py" "$1" || fail "statistics"
    python3 - "$1" "$2" <<'PYTHON' || fail "statistics"
import json, sys
stats = json.load(open(sys.argv[1]))
def of(call):
    return stats["windows"] if call == "windows" else stats["calls"].get(
        call, {"fast": 0, "deferred": 0, "reasons": {}})
def fast(call): return of(call)["fast"]
def deferred(call): return of(call)["deferred"]
def why(call): return set(of(call)["reasons"])
if not eval(f"({sys.argv[2]})"):
    sys.exit(f"not so: {sys.argv[2]}\n{json.dumps(stats, indent=1)}")
PYTHON
}

# Every one-sided call of `onesided` was accelerated, and only first collective calls were deferred.
everything_fast()
{
    statistics "$1" 'all(fast("MPI_" + c) for c in """Alloc_mem Win_fence Win_post Win_start
        Win_complete Win_wait Win_lock Win_unlock Win_lock_all Win_unlock_all Win_flush
        Win_flush_all Win_flush_local Win_sync Put Get Accumulate Get_accumulate Fetch_and_op
        Compare_and_swap Rput Rget Raccumulate Rget_accumulate""".split())
        and not any(set(c["reasons"]) - {"communicator is still being set up", "send, receive, wait or test", "file access"}
                    for c in stats["calls"].values())
        and fast("windows") and not deferred("windows")'
}

# No call was accelerated; all were deferred for the reason $2.
everything_deferred()
{
    statistics "$1" "not any(c['fast'] for c in stats['calls'].values()) and not fast('windows')
        and all(why(c) == {'$2'} for c in ('MPI_Alloc_mem', 'MPI_Put', 'MPI_Get', 'MPI_Win_fence',
        'MPI_Win_lock', 'MPI_Fetch_and_op', 'MPI_Rput', 'windows'))"
}

# Sets `python` to a Python interpreter whose mpi4py uses this host, or skips the test. It fails if an
# installed mpi4py cannot be imported.
find_mpi4py()
{
    for python in python3 /usr/bin/python3; do
        for module in numpy mpi4py; do
            "$python" -c "import importlib.util as u; exit(not u.find_spec('$module'))" 2>/dev/null || continue 2
        done
        version=$("$python" -c 'import numpy, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version())' 2>&1) || fail "$python cannot import mpi4py: $version"
        case $TEST_ABI-$version in
        ompi-*Open\ MPI* | mpich-*MPICH*) return ;;
        esac
    done
    skip "no mpi4py of this MPI"
}

# spawn_family PROGRAM PARENTS-LIBRARY CHILDREN-LIBRARY: two parents that spawn two children, each with
# this library preloaded, or none. Sets `parents` and `children` to the files with their statistics.
spawn_family()
{
    parents=$TEST_TMP/parents children=$TEST_TMP/children
    rm -f "$parents" "$children"
    mpirun -np 2 env "LD_PRELOAD=$2" "MPIACCEL_STATS=$parents" "$1" \
        env "LD_PRELOAD=$3" "MPIACCEL_STATS=$children" "$1" >"$TEST_TMP/out" 2>&1 || {
        cat "$TEST_TMP/out"
        return 1
    }
}

# check_families PROGRAM CHECK: every combination of parents and children with and without the library;
# runs `CHECK FILE` on the statistics of each job that has it.
check_families()
{
    spawn_family "$1" "" "" || skip "this host cannot do it alone"
    [ ! -e "$parents" ] || fail "statistics without the library"
    spawn_family "$1" "$TEST_LIB" "" || fail "status $?"
    "$2" "$parents"
    spawn_family "$1" "" "$TEST_LIB" || fail "status $?"
    "$2" "$children"
    spawn_family "$1" "$TEST_LIB" "$TEST_LIB" || fail "status $?"
    "$2" "$parents"
    "$2" "$children"
}
