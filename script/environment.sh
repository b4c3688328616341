# What the scripts share: finding a Python and keeping the environment in $venv up to date.
# Sourced with the working directory at the root of the checkout.
# shellcheck shell=bash

venv=.venv
venv_python=$venv/bin/python

fail() {
    printf '%s: %s\n' "script/$(basename "$0")" "$*" >&2
    exit 1
}

say() {
    printf '==> %s\n' "$*"
}

# Is $1 a Python that runs and is new enough? (A name on PATH need not be: version managers put up names that only
# print an error.)
is_recent_python() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Print a Python >= 3.11: $PYTHON if given, else the first of the usual names that will do.
find_python() {
    local name
    if [ -n "${PYTHON:-}" ]; then
        is_recent_python "$PYTHON" || fail "PYTHON=$PYTHON is not a working Python 3.11 or newer."
        printf '%s\n' "$PYTHON"
        return
    fi
    for name in python3.13 python3.12 python3.11 python3 python; do
        if is_recent_python "$name"; then
            command -v "$name"
            return
        fi
    done
    fail "no Python 3.11 or newer was found; install one, or name it: PYTHON=/path/to/python3 $0"
}

# Make the environment, or make it anew where it is broken or of another Python than it was built with.
make_venv() {
    local python
    if is_recent_python "$venv_python" && "$venv_python" -m pip --version >/dev/null 2>&1; then
        return
    fi
    python=$(find_python) || exit 1
    say "making $venv with $("$python" --version) ($python)"
    if "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        "$python" -m venv --clear "$venv" || fail "$python could not make an environment in $PWD/$venv (see above)."
    elif "$python" -c 'import pip, venv' >/dev/null 2>&1; then
        # Debian ships pip and venv without ensurepip: the outer pip puts one inside.
        { "$python" -m venv --clear --without-pip "$venv" &&
            "$python" -m pip --python "$venv_python" install --quiet --disable-pip-version-check pip; } ||
            fail "$python could not make an environment in $PWD/$venv (see above)."
    else
        fail "$python comes without the venv module; install it (on Debian and Ubuntu: apt install python3-venv)."
    fi
}

# Install a list of requirements unless what is installed came from the same text.
# $1: the list; further arguments: the lists it reads, which are then installed as well. $pip_options: more for pip.
install_requirements() {
    local list=$1 stamp name
    stamp=$venv/installed-$(basename "$list")
    if [ -x "$venv_python" ] && "$venv_python" -c '' 2>/dev/null && cat "$@" | cmp -s - "$stamp"; then
        return
    fi
    make_venv || exit 1
    say "installing $list (a minute or two the first time)"
    "$venv_python" -m pip install --quiet --disable-pip-version-check --no-input ${pip_options:-} -r "$list" </dev/null ||
        fail "pip could not install $list (its own message is above); mend that and run this again."
    cat "$@" >"$stamp"
    shift
    for name in "$@"; do
        cat "$name" >"$venv/installed-$(basename "$name")"
    done
}
