# Sourced by the scripts of this folder, which tests/run starts; it says in the environment which
# host is to be used: TEST_ABI, TEST_LIB, TEST_MPIRUN, TEST_MPICC, TEST_PROGRAMS, TEST_TMP.
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

# All ranks of -np N program … [: -np N program …]
ranks_of()
{
    ranks=0
    while [ $# -gt 1 ]; do
        [ "$1" != -np ] || ranks=$((ranks + $2))
        shift
    done
    echo $ranks
}

# Whether the launcher starts several programs as one job: PRRTE 3.0.8, Open MPI 5.0.7's, ends with a
# fault.
starts_several()
{
    "$TEST_MPIRUN" --oversubscribe -np 1 true : -np 1 true >/dev/null 2>&1
}

# The same, by one program; a lone colon would be the launcher's.
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

# The launcher, with arguments that both know: -np N program … [: -np N program …]
mpirun()
{
    case "$TEST_ABI $*" in
    "ompi "*" : "*)
        if ! starts_several; then
            by_rank "$@"
            return
        fi
        ;;
    esac
    case $TEST_ABI in
    ompi) "$TEST_MPIRUN" --oversubscribe --bind-to none "$@" ;;
    *) "$TEST_MPIRUN" "$@" ;;
    esac
}

# plugin [NAME=VALUE ...] PROGRAM [ARGUMENT ...]: runs it with the plugin. Put between the launcher
# and the program, it leaves the launcher alone.
# shellcheck disable=SC2034
plugin="env LD_PRELOAD=$TEST_LIB"

# statistics FILE EXPRESSION: whether a Python expression is true of the statistics in the file,
# with `stats`, and fast(CALL), deferred(CALL), why(CALL) for its counts and the set of its reasons.
statistics()
{
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

# Every one-sided call of `onesided` was fast, and nothing but first collective calls was deferred.
everything_fast()
{
    statistics "$1" 'all(fast("MPI_" + c) for c in """Alloc_mem Win_fence Win_post Win_start
        Win_complete Win_wait Win_lock Win_unlock Win_lock_all Win_unlock_all Win_flush
        Win_flush_all Win_flush_local Win_sync Put Get Accumulate Get_accumulate Fetch_and_op
        Compare_and_swap Rput Rget Raccumulate Rget_accumulate""".split())
        and not any(set(c["reasons"]) - {"communicator is still being set up"}
                    for c in stats["calls"].values())
        and fast("windows") and not deferred("windows")'
}

# Nothing was fast; all of it was deferred for the reason $2.
everything_deferred()
{
    statistics "$1" "not any(c['fast'] for c in stats['calls'].values()) and not fast('windows')
        and all(why(c) == {'$2'} for c in ('MPI_Alloc_mem', 'MPI_Put', 'MPI_Get', 'MPI_Win_fence',
        'MPI_Win_lock', 'MPI_Fetch_and_op', 'MPI_Rput', 'windows'))"
}
