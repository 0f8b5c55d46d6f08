# Sourced by the tests of the command, after tests/preload/lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034
here=$(cd "$(dirname "$0")" && pwd)
command=$(dirname "$TEST_LIB")/../bin/mpiaccel

report()
{
    "$command" report "$@"
}

# has FILE LINE ...: lines of the file, with every run of spaces reduced to one
has()
{
    file=$1
    shift
    for line; do
        sed 's/  */ /g; s/^ //; s/ $//' "$file" | grep -qxF -e "$line" || fail "no line: $line; but: $(cat "$file")"
    done
}

# Sets `locked` to a folder in which nobody may write, and `locked_error` to the error. For root, whom permissions do not
# stop, it is a file system that can only be read, and the script starts anew with mounts of its own. Empty: neither.
# shellcheck disable=SC2034
lock_folder()
{
    locked=$TEST_TMP/locked locked_error="Permission denied"
    if [ "$(id -u)" != 0 ]; then
        mkdir -m 500 "$locked"
    elif [ -n "${OWN_MOUNTS-}" ]; then
        mkdir "$locked"
        mount -t tmpfs -o ro tmpfs "$locked" || fail "mount"
        locked_error="Read-only file system"
    elif unshare -m true 2>/dev/null; then
        OWN_MOUNTS=1 exec unshare -m "$0"
    else
        locked=''
    fi
}
