#!/bin/sh
# Brings the shared libraries that the Python packages load but do not contain.
#
#   system_packages.sh run     what the sandbox needs (assets/system_libraries.txt)
#   system_packages.sh test    that, and what the tests use: a virtual screen, a driver of mouse and
#                              keys, Mesa's software OpenGL and Vulkan
#   system_packages.sh PACKAGE...   just these
#
# On Debian and Ubuntu as root they are installed; elsewhere one sentence names what is missing.
# Never fails: with a library missing most of Matterbox still works, and `matterbox doctor` says what
# does not. Nothing is assumed: each library is looked up, which takes a fraction of a second.
set -eu

[ "$(uname -s)" = Linux ] || exit 0
here=$(cd "$(dirname "$0")" && pwd)
table=$here/../assets/system_libraries.txt

missing='' packages=''

need() { # need <what is missing> <package that brings it>
    missing="$missing${missing:+, }$1"
    case " $packages " in
    *" $2 "*) ;;
    *) packages="$packages${packages:+ }$2" ;;
    esac
}

# ldconfig lies outside an ordinary user's PATH on Debian.
libraries=''
for ldconfig in ldconfig /sbin/ldconfig /usr/sbin/ldconfig; do
    if command -v "$ldconfig" >/dev/null 2>&1; then
        libraries=$("$ldconfig" -p 2>/dev/null) && break
    fi
done

has_library() { # has_library <soname>[|<soname>]
    old_ifs=$IFS
    IFS='|'
    for soname in $1; do
        case "$libraries" in
        *"	$soname (libc6,x86-64"*) IFS=$old_ifs && return 0 ;;
        esac
    done
    IFS=$old_ifs
    return 1
}

need_library() {
    # A system without ldconfig's cache (NixOS, musl) cannot be asked; then nothing is claimed.
    if [ -n "$libraries" ] && ! has_library "$1"; then
        need "${1%%|*}" "$2"
    fi
}

need_command() {
    command -v "$1" >/dev/null 2>&1 || need "$1" "$2"
}

goal=${1:-run}
case "$goal" in
run | test)
    while read -r soname package _; do
        case "$soname" in
        '' | '#'*) ;;
        *) need_library "$soname" "$package" ;;
        esac
    done <"$table"
    if [ "$goal" = test ]; then
        # The virtual screen draws with Mesa, whatever driver the real one has.
        need_library libGLX_mesa.so.0 libglx-mesa0
        need_library libEGL_mesa.so.0 libegl-mesa0
        need_library libvulkan_lvp.so mesa-vulkan-drivers
        need_command Xvfb xvfb
        need_command xdotool xdotool
    fi
    ;;
*)
    for package in "$@"; do
        need "$package" "$package"
    done
    ;;
esac

[ -n "$packages" ] || exit 0

by_hand="install the packages that bring them"
if command -v apt-get >/dev/null 2>&1; then
    by_hand="sudo apt-get install $packages"
    if [ "$(id -u)" = 0 ]; then
        echo "Installing system packages: $packages"
        log=$(mktemp)
        export DEBIAN_FRONTEND=noninteractive
        install() {
            # Unquoted on purpose: the names are words.
            # shellcheck disable=SC2086
            apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 \
                $packages </dev/null >>"$log" 2>&1
        }
        update() {
            apt-get update -qq </dev/null >>"$log" 2>&1
        }
        # A fresh container has no package lists; an old machine has lists of files long gone.
        # shellcheck disable=SC2086
        if apt-cache show $packages >/dev/null 2>&1 && install || { update && install; }; then
            rm -f "$log"
            exit 0
        fi
        tail -n 5 "$log" >&2
        rm -f "$log"
    fi
fi
echo "Missing on this system, and needed for all of Matterbox to work: $missing ($by_hand)." >&2
exit 0
