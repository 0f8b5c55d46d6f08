# Sourced by the scripts of this folder after preload/lib.sh.
# shellcheck shell=sh
root=$(cd "$(dirname "$0")/../.." && pwd)

# make, not as a part of the one that may have started the tests.
remake()
{
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES make -C "$root" -s "$@" \
        >"$TEST_TMP/make" 2>&1 || fail "make $*: $(cat "$TEST_TMP/make")"
}

# settings, calls, reasons: the names in the lists that the library is made of.
settings()
{
    sed -n 's/^SETTING([a-z_]*, "\([A-Z_]*\)".*/\1/p' "$root/core/settings.def"
}

calls()
{
    sed -n 's/^CALL4\{0,1\}1\{0,1\}(\([A-Za-z_]*\),.*/MPI_\1/p' "$root/pmpi_wrap/calls.def"
}

reasons()
{
    sed -n 's/^REASON([A-Z_]*, "\([^"]*\)".*/\1/p' "$root/core/reasons.def"
}

# holds FILE LIST: each line of the output of LIST stands in the file.
holds()
{
    "$2" >"$TEST_TMP/list"
    [ "$(wc -l <"$TEST_TMP/list")" -ge 9 ] || fail "$2 were not understood"
    while read -r line; do
        grep -qF -e "$line" "$1" || fail "$(basename "$1") does not say: $line"
    done <"$TEST_TMP/list"
}
