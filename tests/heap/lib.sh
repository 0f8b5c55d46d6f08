# Sourced by the scripts of this folder.
# shellcheck shell=sh
. "$(dirname "$0")/../preload/lib.sh"

heap=$(dirname "$TEST_LIB")/libmpiaccel_heap.so
with_heap="env LD_PRELOAD=$heap:$TEST_LIB"

# where "SETTINGS" "SHELL-COMMANDS" BYTES: prints where blocks of malloc from before and after MPI_Init are;
# each rank executes the commands, which run the program as "$@".
where()
{
    # shellcheck disable=SC2086
    mpirun -np 2 env $1 sh -c "$2" sh $with_heap "$TEST_PROGRAMS/malloc_where" "$3" 2>"$TEST_TMP/said" ||
        fail "$1 $2: status $?: $(cat "$TEST_TMP/said")"
}

# are WHAT "SETTINGS" "SHELL-COMMANDS" [BYTES]: fails unless these blocks are where WHAT says.
are()
{
    found=$(where "$2" "$3" "${4:-1000000}")
    [ "$found" = "$1" ] || fail "$2, $3: blocks are $found, not $1"
}
