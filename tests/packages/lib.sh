# Sourced by the scripts of this folder after preload/lib.sh and docs/lib.sh.
# shellcheck shell=sh disable=SC2154

# needs PROGRAM ...: skips the test if one is not installed.
needs()
{
    for program; do
        command -v "$program" >/dev/null || skip "$program is not installed"
    done
}

# Sets `debs` to the folder with Debian's packages of this version, built if necessary.
build_debs()
{
    needs git dpkg-buildpackage dh
    [ -e "$root/.git" ] || skip "make deb needs a checkout"
    version=$("$root/tools/version")
    debs=$root/$build/deb
    [ -f "$debs/mpiaccel_$(echo "$version" | sed 's/-dev/~dev/')-0upstream1_$(dpkg --print-architecture).deb" ] ||
        DEB_BUILD_OPTIONS=nocheck remake deb SETUP=no
}
