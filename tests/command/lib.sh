# Sourced by the scripts of this folder after preload/lib.sh.
# shellcheck shell=sh
root=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:-build} in
/*) command=$BUILD/bin/mpiaccel ;;
*) command=$root/${BUILD:-build}/bin/mpiaccel ;;
esac
# shellcheck disable=SC2034
library=$("$command" lib) || fail "mpiaccel lib"
