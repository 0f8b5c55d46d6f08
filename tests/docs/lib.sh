# Sourced by the scripts of this folder after preload/lib.sh.
# shellcheck shell=sh
root=$(cd "$(dirname "$0")/../.." && pwd)

build=${BUILD:-build}

# alone COMMAND ...: without the options of a make that started the tests
alone()
{
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES "$@"
}

# make in the folder of this build, one at a time, because tests run in parallel
remake()
{
    (cd "$root" && alone flock "$build/conf/lock" make -s BUILD="$build" "$@") >"$TEST_TMP/make" 2>&1 ||
        fail "make $*: $(cat "$TEST_TMP/make")"
}

# settings, calls, reasons: the names in the lists of the sources
settings()
{
    sed -n 's/^SETTING([a-z_]*, "\([A-Z_]*\)".*/\1/p' "$root/core/settings.def"
}

calls()
{
    sed -n 's/^\(CALL4\{0,1\}1\{0,1\}\|ACCESS4\{0,1\}\|START\|FREES\)(\([A-Za-z_]*\),.*/MPI_\2/p' "$root/pmpi_wrap/calls.def"
}

reasons()
{
    sed -n 's/^REASON([A-Z_]*, "\([^"]*\)".*/\1/p' "$root/core/reasons.def"
}

# holds FILE LIST: the file contains each line that LIST prints.
holds()
{
    "$2" >"$TEST_TMP/list"
    [ "$(wc -l <"$TEST_TMP/list")" -ge 9 ] || fail "$2: too few were found in the sources"
    while read -r line; do
        grep -qF -e "$line" "$1" || fail "$(basename "$1") does not contain: $line"
    done <"$TEST_TMP/list"
}
