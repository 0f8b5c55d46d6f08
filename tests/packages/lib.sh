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

# Sets `bare` to a new root of this release of Debian with few packages.
make_bare_root()
{
    [ "$(id -u)" = 0 ] || skip "needs root"
    needs debootstrap unshare
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    bare=$TEST_TMP/bare
    debootstrap --variant=minbase "$release" "$bare" http://deb.debian.org/debian >"$TEST_TMP/log" 2>&1 ||
        skip "debootstrap: $(tail -n 1 "$TEST_TMP/log")"
    cp /etc/resolv.conf /etc/hosts "$bare/etc"
}

# inside COMMANDS: runs them in the bare root, as root; their output is in $TEST_TMP/log. The mounts and processes of
# these commands end with them.
# shellcheck disable=SC2016
inside()
{
    unshare --mount --pid --fork --kill-child sh -ec 'mount --rbind /dev "$1/dev"; mount -t tmpfs tmpfs "$1/dev/shm"
        mount -t proc proc "$1/proc"
        chroot "$1" env PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -ec "cd; $2"' \
        sh "$bare" "$1" >"$TEST_TMP/log" 2>&1 </dev/null
}
