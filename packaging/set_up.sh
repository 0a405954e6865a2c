#!/bin/sh
# Makes .venv fit to run Matterbox ("run") or to test it too ("test"). Does nothing, quickly, when
# it already is: a stamp in .venv holds the checksum of pyproject.toml and the folder it was made in.
set -eu

goal=${1:-run}
cd "$(dirname "$0")/.."
root=$(pwd)
venv=.venv

case "$goal" in
run) target=. ;;
test) target='.[dev]' ;;
*)
    echo "usage: packaging/set_up.sh [run|test]" >&2
    exit 2
    ;;
esac

# The packages with compiled code that have the fewest wheels decide where Matterbox can run.
case "$(uname -s) $(uname -m)" in
'Linux x86_64' | 'Linux amd64' | 'Darwin arm64') ;;
*)
    echo "Matterbox cannot run on $(uname -s) $(uname -m): Taichi has wheels for Linux on x86-64, macOS on Apple silicon and Windows on x86-64 only." >&2
    exit 1
    ;;
esac

sh packaging/system_packages.sh "$goal"

state="$(cksum <pyproject.toml) $root"
up_to_date() {
    [ -f "$venv/.matterbox-$1" ] && [ "$(cat "$venv/.matterbox-$1")" = "$state" ] &&
        "$venv/bin/python" -c '' 2>/dev/null
}
if up_to_date "$goal"; then
    exit 0
fi

# An environment that was moved, or whose interpreter went away or does not fit, is made anew.
fits='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))'
if [ -e "$venv" ]; then
    made_in=$(sed -n 's/^[0-9]* [0-9]* //p' "$venv"/.matterbox-* 2>/dev/null | head -n 1)
    if ! "$venv/bin/python" -c "$fits" 2>/dev/null || [ "${made_in:-$root}" != "$root" ]; then
        echo "Replacing $venv, which does not fit."
        rm -rf "$venv"
    fi
fi

if [ ! -x "$venv/bin/python" ]; then
    rm -rf "$venv"
    reason=$(mktemp)
    trap 'rm -f "$reason"' EXIT
    status=0
    python=$(sh packaging/find_python.sh 2>"$reason") || status=$?
    if [ "$status" = 3 ] && ! command -v uv >/dev/null 2>&1 &&
        [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        # Here stdout names the Debian package of the missing venv module.
        sh packaging/system_packages.sh "$python"
        status=0
        python=$(sh packaging/find_python.sh 2>"$reason") || status=$?
    fi
    if [ "$status" = 0 ]; then
        echo "Making $venv with $python ($("$python" -c 'import platform; print(platform.python_version())'))"
        "$python" -m venv "$venv"
    elif command -v uv >/dev/null 2>&1 && [ -z "${PYTHON:-}" ]; then
        echo "Making $venv with a Python that uv brings"
        if ! uv venv --quiet --python '>=3.11,<3.14' "$venv"; then
            echo "No Python 3.11, 3.12 or 3.13 was found in PATH, and uv could not bring one for the reason given above." >&2
            exit 1
        fi
    else
        cat "$reason" >&2
        exit 1
    fi
fi

# Quiet in a log; on a terminal the downloads show that something happens.
quiet=--quiet
[ ! -t 1 ] || quiet=''
echo "Installing Matterbox and what it needs into $venv"
install() {
    if "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        # shellcheck disable=SC2086
        "$venv/bin/python" -m pip install $quiet --disable-pip-version-check -e "$target"
    elif command -v uv >/dev/null 2>&1; then
        # shellcheck disable=SC2086
        uv pip install $quiet --python "$venv/bin/python" -e "$target"
    else # an earlier set-up was cut short before pip was there
        "$venv/bin/python" -m ensurepip --upgrade >/dev/null && install
    fi
}
if ! install; then
    echo "Installing failed for the reason given above; running the same command again goes on from here." >&2
    exit 1
fi

printf '%s\n' "$state" >"$venv/.matterbox-$goal"
if [ "$goal" = test ]; then
    printf '%s\n' "$state" >"$venv/.matterbox-run"
fi
