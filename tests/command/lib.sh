# Sourced by the scripts of this folder after preload/lib.sh.
# shellcheck shell=sh
root=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:-build} in
/*) command=$BUILD/bin/mpiaccel ;;
*) command=$root/${BUILD:-build}/bin/mpiaccel ;;
esac

# older_python: from here on, Python lacks functions newer than 3.6 that are easy to use by mistake.
older_python()
{
    mkdir "$TEST_TMP/older"
    cat >"$TEST_TMP/older/sitecustomize.py" <<'PYTHON'
import math, shlex, statistics, subprocess
for module, name in (math, "dist"), (math, "prod"), (shlex, "join"), (statistics, "fmean"):
    if hasattr(module, name):
        delattr(module, name)
newer = subprocess.Popen.__init__
def older(self, *words, **options):
    if "text" in options:
        raise TypeError("'text' came with Python 3.7")
    newer(self, *words, **options)
subprocess.Popen.__init__ = older
PYTHON
    export PYTHONPATH="$TEST_TMP/older"
}

# shellcheck disable=SC2034
library=$("$command" lib) || fail "mpiaccel lib"
