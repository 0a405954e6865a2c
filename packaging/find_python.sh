#!/bin/sh
# Prints the newest Python in PATH that can run Matterbox, or one sentence on stderr and status 1.
#
# Every candidate is run, because a name in PATH proves nothing: a pyenv shim of a version that is
# not active fails, Debian's python3 comes without ensurepip, a free-threaded or 32-bit build finds
# no Taichi wheel. PYTHON=... in the environment narrows the search to that one interpreter.
#
# Status 3: a fitting version exists but cannot make virtual environments; stdout names its package.
set -eu

oldest=11
newest=13

# Prints "<verdict> <minor version> <path of the interpreter>"; the path is that of the base
# interpreter, so that an environment which is about to be replaced is never built from itself.
probe='
import sys
verdict, version = "fits", sys.version_info
if version[0] != 3 or not '$oldest' <= version[1] <= '$newest':
    verdict = "version"
elif sys.implementation.name != "cpython":
    verdict = "implementation"
elif sys.maxsize < 2**32:
    verdict = "32-bit"
else:
    import sysconfig
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        verdict = "free-threaded"
    else:
        try:
            import ensurepip, ssl, venv
        except ImportError:
            verdict = "no-venv"
print(verdict, version[1], getattr(sys, "_base_executable", None) or sys.executable, sep=" ")
'

best='' best_minor=0
bare='' bare_minor=0
rejected=''

reject() {
    case "$rejected" in
    *"($1)"*) ;; # said already, through another name
    *) rejected="$rejected${rejected:+, }$2 ($1)" ;;
    esac
}

try() {
    # macOS ships a python3 that opens an installer dialog when run without the developer tools.
    if [ "$1" = /usr/bin/python3 ] && [ "$(uname -s)" = Darwin ] &&
        ! xcode-select -p >/dev/null 2>&1; then
        return 0
    fi
    answer=$("$1" -c "$probe" </dev/null 2>/dev/null) || return 0
    verdict=${answer%% *}
    rest=${answer#* }
    minor=${rest%% *}
    path=${rest#* }
    case "$verdict" in
    fits)
        if [ "$minor" -gt "$best_minor" ]; then
            best=$path best_minor=$minor
        fi
        ;;
    no-venv)
        if [ "$minor" -gt "$bare_minor" ]; then
            bare=$path bare_minor=$minor
        fi
        ;;
    version) reject "$path" "3.$minor" ;;
    *) reject "$path" "a $verdict 3.$minor" ;;
    esac
    return 0
}

if [ -n "${PYTHON:-}" ]; then
    try "$PYTHON"
    where="PYTHON=$PYTHON is not one of them"
else
    where=''
    old_ifs=$IFS
    for name in python3.13 python3.12 python3.11 python3 python; do
        IFS=:
        set -f
        for folder in $PATH; do
            IFS=$old_ifs
            set +f
            if [ -x "$folder/$name" ] && [ ! -d "$folder/$name" ]; then
                try "$folder/$name"
            fi
        done
        IFS=$old_ifs
        set +f
        [ "$best_minor" -lt "$newest" ] || break
    done
fi

if [ -n "$best" ]; then
    printf '%s\n' "$best"
    exit 0
fi

wants="Matterbox needs Python 3.11, 3.12 or 3.13 (3.14 has no Taichi wheel, 3.10 no current imgui-bundle)"
if [ -n "$bare" ]; then
    printf 'python3.%s-venv\n' "$bare_minor"
    printf '%s\n' "$wants, and $bare is a 3.$bare_minor that cannot make virtual environments: install its venv module (Debian and Ubuntu: sudo apt-get install python3.$bare_minor-venv) and run this again." >&2
    exit 3
fi
found=${where:-"none was found in PATH"}
if [ -n "$rejected" ]; then
    found="${where:+$where: }found only $rejected"
fi
printf '%s\n' "$wants; $found: install one of them, or install uv (https://docs.astral.sh/uv/), which brings one, and run this again." >&2
exit 1
