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
