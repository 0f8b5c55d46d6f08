# Sourced by the scripts of this folder after preload/lib.sh and docs/lib.sh.
# shellcheck shell=sh

# quietly COMMAND ...: prints the output only if it fails.
quietly()
{
    alone "$@" >"$TEST_TMP/log" 2>&1 || fail "$*: status $?: $(tail -n 30 "$TEST_TMP/log")"
}

# A folder for PATH with this machine's programs, but none of the named
path_without()
{
    mkdir -p "$TEST_TMP/path"
    # The first program of a name in PATH counts.
    for folder in $(echo "$PATH" | tr ':' ' '); do
        ln -s "$folder"/* "$TEST_TMP/path" 2>/dev/null
    done
    for program; do
        rm -f "$TEST_TMP/path/$program"
    done
    echo "$TEST_TMP/path"
}
