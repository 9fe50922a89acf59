#!/usr/bin/env bash
# tools/setup.sh GROUP...: make sure the Debian packages of these groups are installed.
#
# Asks dpkg what is missing and installs only that, as root or through sudo. Silent when nothing is missing.
# Nothing already on the machine is ever removed or replaced, and no service that a package brings along is started, now or
# when the machine starts.
set -euo pipefail

declare -A packages=(
    [build]="g++ cmake ninja-build ccache pkg-config libboost1.81-dev libboost-json1.81-dev libssl-dev libsqlite3-dev
             libre2-dev libpcre2-dev libidn2-dev libunistring-dev libfmt-dev libcli11-dev libexpected-dev
             libhowardhinnant-date-dev tzdata"
    [test]="libgtest-dev libgmock-dev librapidcheck-dev python3 json-schema-test-suite"
    [bench]="libbenchmark-dev nlohmann-json3-dev python3"
    [load]="wrk nginx-light"
    [clang]="clang-19 libclang-rt-19-dev"
    [tidy]="clang-tidy-19"
    [format]="clang-format-19"
    [coverage]="gcovr"
    [docs]="doxygen"
    [shells]="zsh fish groff-base mandoc"
    [node]="nodejs npm"
)

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

wanted=()
for group in "$@"; do
    [[ -v packages[$group] ]] || fail "there is no package group '$group'; known: ${!packages[*]}"
    # Any npm will do (it only fetches the pinned Node), so one from elsewhere is left alone.
    [[ $group == node ]] && command -v npm >/dev/null && continue
    read -r -d '' -a names <<<"${packages[$group]}" || true
    wanted+=("${names[@]}")
done
((${#wanted[@]})) || exit 0

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    fail "this is not a Debian system (no dpkg-query or apt-get), so packages cannot be installed here." \
        "Callgate is built on Debian 12; on other systems install the equivalents of: ${wanted[*]}"

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for name in "${wanted[@]}"; do
    [[ $'\n'$installed$'\n' == *$'\n'"installed $name"$'\n'* ]] || missing+=("$name")
done
((${#missing[@]})) || exit 0

as_root=()
if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null ||
        fail "${#missing[@]} packages are missing and neither root nor sudo is here to install them." \
            "As root, run: apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
fi

if [[ " ${missing[*]} " == *" libboost1.81-dev "* ]] &&
    dpkg-query -W -f '${db:Status-Status}\n' libboost1.74-dev 2>/dev/null | grep -qx installed; then
    fail "libboost1.81-dev is needed, and Debian does not allow it beside libboost1.74-dev, which is installed." \
        "If nothing else needs Boost 1.74, run: apt-get remove libboost1.74-dev    and try again"
fi

log=$(mktemp)
# What packages start and enable their services with; found before the system's own, it does nothing.
no_services=$(mktemp -d)
trap 'rm -rf "$log" "$no_services"' EXIT
for name in invoke-rc.d update-rc.d deb-systemd-invoke deb-systemd-helper; do
    ln -s /bin/true "$no_services/$name"
done

apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
        -o "DPkg::Path=$no_services:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "$@" \
        >"$log" 2>&1 </dev/null
}
install() { apt install --no-install-recommends --no-remove "${missing[@]}"; }

echo "setup: installing ${#missing[@]} Debian packages: ${missing[*]}"
# The package lists are fetched only when the ones at hand do not do: absent on a fresh machine, or stale.
if ! install; then
    echo "setup: fetching the package lists (apt-get update)"
    apt update || { cat "$log" >&2; fail "apt-get update failed; its output is above."; }
    install || { cat "$log" >&2; fail "apt-get could not install ${missing[*]}; its output is above."; }
fi
