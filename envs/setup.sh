#!/usr/bin/env bash
# Makes the virtual environment of the lock file, and says how to get what only the system can give.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=${VENV:-.venv}

# install_or_say PACKAGE: with Debian's package manager where we may, else one line that says what to run.
install_or_say() {
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "error: $1 is missing; run: sudo apt-get install -y $1" >&2
            exit 1
        fi
        as_root=(sudo -n)
    fi
    if ! command -v apt-get >/dev/null; then
        echo "error: $1 is missing; install it with your system's package manager" >&2
        exit 1
    fi
    echo "installing $1"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$1" >/dev/null
}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "error: $python is not Python 3.11 or newer; run: make PYTHON=/path/to/python3.11 ..." >&2
    exit 1
fi
"$python" -c 'import ensurepip, venv' 2>/dev/null || install_or_say python3-venv
command -v bwrap >/dev/null || install_or_say bubblewrap

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
echo "installing the packages of requirements.lock into $venv (some minutes the first time)"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.lock
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --editable .
