# shellcheck shell=bash
# Sourced by the scripts that need a .venv: finds a Python and makes it. They run at the root of the checkout.
. scripts/apt.sh

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

die() {
    printf '%s\n' "$@" >&2
    exit 3
}

# Prints the first Python that is 3.11 or newer; fails where there is none.
find_python() {
    local name
    for name in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$name"
            return
        fi
    done
    return 1
}

has_venv() { [ -n "$1" ] && "$1" -c 'import ensurepip, venv' 2>/dev/null; }

# Makes .venv unless a working one is there. With BARE_MACHINE=yes, root installs a missing Python or venv module with apt.
make_venv() {
    if [ -x .venv/bin/python ] && .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        return
    fi
    local python
    python=$(find_python) || true
    if ! has_venv "$python" && [ "${BARE_MACHINE:-no}" = yes ] && can_apt; then
        say "installing python3 and python3-venv (apt)"
        apt_install python3 python3-venv || exit 3
        python=$(find_python) || true
    fi
    if [ -z "$python" ]; then
        die "Python 3.11 or newer is needed; found: $(python3 --version 2>&1 || echo none)." \
            "Install one (Debian 12 or Ubuntu 24.04: apt install python3 python3-venv), or name it: PYTHON=/path/to/python $0"
    fi
    if ! has_venv "$python"; then
        die "$("$python" --version) has no venv module. Install it: apt install python3-venv, then run $0 again."
    fi
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
}

# install EXTRAS: pip install, unless the same was installed from the same setup.cfg and pyproject.toml at the same place.
# What pip says is shown, on stderr: it may take minutes.
install() {
    local stamp=".venv/installed$1" wanted
    wanted="$PWD $(cat setup.cfg pyproject.toml | cksum)"
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    say "installing openmle_env$1 into .venv (pip; a minute the first time)"
    .venv/bin/python -m pip install --disable-pip-version-check --no-input -e ".$1" >&2 ||
        die "pip could not install openmle_env$1; its message is above." "Check the network and the free disk space, then run $0 again."
    printf '%s\n' "$wanted" > "$stamp"
}
