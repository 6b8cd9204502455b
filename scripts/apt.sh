# shellcheck shell=bash
# Sourced by the other scripts: installing with apt, as root, without questions.

# Whether this user may install with apt here.
can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# apt_install PACKAGE...: a source that cannot be reached does not end it, as long as the packages can be had.
apt_install() {
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq)
    "${apt[@]}" update < /dev/null >&2 || echo "apt-get update failed, at least in part; installing $* all the same." >&2
    if ! "${apt[@]}" install -y --no-install-recommends "$@" < /dev/null >&2; then
        echo "apt-get could not install $*; its message is above." >&2
        return 3
    fi
}
