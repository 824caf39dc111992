#!/usr/bin/env bash
# Set up everything the scripts need: a virtual environment with the locked packages and this project.
#
#   jobs/setup.sh          makes or mends .venv (or $LONGHARNESS_VENV); does nothing where it is up to date
#   PYTHON=python3.12 …    chooses the interpreter (3.11 or later; by default the one that the lock was made for)
#
# Works from any folder, and without a network once it has been through. An install that was cut short is
# noticed by its marker and made anew.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${LONGHARNESS_VENV:-$root/.venv}
lock=$root/jobs/requirements.lock

say() { printf '%s\n' "$*" >&2; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    say "setup: no Python 3.11 or later was found (looked for: ${PYTHON:-python3.11 python3.12 python3.13 python3})."
    say "       Install one, or name it: PYTHON=/path/to/python $0"
    exit 2
}

# What the environment depends on: a change of any makes it be installed again.
wanted() {
    { cat "$lock" "$root/pyproject.toml"; printf '%s\n' "$root"; } | sha256sum | cut -d' ' -f1
}

current() {
    [[ ! -e $venv/.installing && -f $venv/.installed && $(<"$venv/.installed") == "$(wanted)" ]] &&
        "$venv/bin/longharness" --version >/dev/null 2>&1
}

install() {
    local python
    python=$(find_python)
    if [[ -e $venv/.installing ]]; then
        say "setup: an earlier install was cut short; making $venv anew"
        "$python" -m venv --clear "$venv"
    elif [[ ! -x $venv/bin/python ]]; then
        say "setup: making $venv with $python"
        "$python" -m venv "$venv" || {
            say "setup: the venv module is missing or broken (on Debian: apt install python3-venv)"
            exit 2
        }
    fi
    touch "$venv/.installing"
    say "setup: installing the locked packages (once; a few minutes on a slow connection)"
    local pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input install -qq --no-deps)
    "${pip[@]}" -r "$lock"
    "${pip[@]}" --no-build-isolation -e "$root"
    wanted >"$venv/.installed"
    rm "$venv/.installing"
}

# One at a time: two scripts that start together share one install.
exec 9<"$lock"
if command -v flock >/dev/null; then flock 9; fi
current || install
exec 9<&-
