# Sourced by the scripts that look at pages and pictures in a browser, after tests/preload/lib.sh. Skips the test
# if there is none.
# shellcheck shell=sh
browser=$(command -v chromium || command -v chromium-browser) || skip "no chromium"
# shellcheck disable=SC2034
dark_scheme=--blink-settings=preferredColorScheme=0

# browse OPTION ... FILE
browse()
{
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr \
        --allow-file-access-from-files --user-data-dir="$TEST_TMP/profile" --timeout=20000 \
        "$@" 2>"$TEST_TMP/log" >"$TEST_TMP/dom" || fail "$browser: $(tail -n 3 "$TEST_TMP/log")"
    ! grep CONSOLE "$TEST_TMP/log" || fail "errors on the page"
}

# brightness FILE OPTION ...: that of the top left pixel, from 0 to 255. A filter of PNG does not change the first pixel.
brightness()
{
    rm -f "$TEST_TMP/shot.png"
    shown=$1
    shift
    browse "$@" --window-size=900,600 --screenshot="$TEST_TMP/shot.png" "$shown"
    python3 - "$TEST_TMP/shot.png" <<'PYTHON'
import struct, sys, zlib
png, at, data = open(sys.argv[1], "rb").read(), 8, b""
while at < len(png):
    length, kind = struct.unpack(">I4s", png[at:at + 8])
    data += png[at + 8:at + 8 + length] if kind == b"IDAT" else b""
    at += 12 + length
print(zlib.decompress(data)[1])
PYTHON
}
