#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Install the needs of the build and of the tests: Debian packages, and the two
# stock kernels for the test VMs (unpacked into a cache, never installed:
# installing a kernel image would run its initramfs and boot loader hooks).
#
#   scripts/deps.sh           install missing packages
#   scripts/deps.sh --check   only list missing packages; fails if there are any
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/vm/kernels.sh
. "$here/vm/kernels.sh"

packages=(
	# the module, for both kernels
	build-essential bc bison flex kmod xz-utils zstd sparse
	linux-headers-amd64 linux-headers-6.12-amd64
	shellcheck universal-ctags mypy pyflakes3
	# checkpatch is not in the headers packages
	linux-source-6.12
	# the provider, the tools and the fuzzers
	pkg-config libibverbs-dev librdmacm-dev libnl-3-dev libnl-route-3-dev
	libcurl4-openssl-dev libjson-c-dev libdw-dev libpq-dev librpma-dev
	clang libclang-rt-14-dev
	# elects the writer of a log in a test
	etcd-server
	# the test VM
	qemu-system-x86 busybox-static cpio
	# the programs in it
	rdma-core ibverbs-utils rdmacm-utils ibverbs-providers
	infiniband-diags perftest python3 python3-pyverbs
	iproute2 iputils-ping ethtool util-linux tcpdump tshark nftables strace procps
	ndctl daxctl xfsprogs nvme-cli iperf3
	# containers, their root file systems, files for CI, and counters for Prometheus
	containernetworking-plugins crun jq mmdebstrap python3-prometheus-client python3-yaml
	# commits through a standby of ours
	postgresql-15 postgresql-client-15
	# consumers of verbs: NFS, iSCSI (iSER), UCX, libfabric, MPI
	nfs-kernel-server nfs-common rpcbind open-iscsi ucx-utils libfabric-bin
	openmpi-bin libopenmpi-dev
	# its engine for durable writes: scripts/fio
	fio libaio-dev dpkg-dev
	# its provider "verbs" with durable writes: scripts/libfabric
	autoconf automake libtool
	# documentation and graphs
	gnuplot-nox python3-docutils man-db
)

check_only=0
case "${1:-}" in
--check) check_only=1 ;;
"") ;;
*)
	echo "usage: $0 [--check]" >&2
	exit 2
	;;
esac

say() { echo "deps: $*" >&2; }

missing_packages() {
	local have p

	have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
		sed -n 's/^installed //p') || :
	for p in "${packages[@]}"; do
		grep -qxF -e "$p" <<<"$have" || echo "$p"
	done
}

missing_kernels() {
	local k

	for k in $CAIRN_SERIES; do
		kernel_present "$k" || echo "$k"
	done
}

apt_updated=0
apt_update_once() {
	[ "$apt_updated" = 0 ] || return 0
	say "apt-get update"
	apt-get -qq update
	apt_updated=1
}

apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 \
		install --no-install-recommends "$@" >&2
}

install_packages() {
	say "installing: $*"
	# a machine that was never updated knows no packages at all, one with
	# old lists may name versions that the mirror no longer has
	if ! apt-cache show "$@" >/dev/null 2>&1; then
		apt_update_once
	fi
	apt_install "$@" && return 0
	apt_update_once
	apt_install "$@"
}

# apt-get download drops its privileges to _apt, hence the open directory
download() {
	local dir=$1 what=$2

	(cd "$dir" && apt-get -qq download "$what" >&2)
}

# The 6.12 image compresses its modules; unpacking them here once saves the
# guest from doing it in software emulation at every boot. A function in a
# subshell: its trap cleans up however it ends; set -e does not hold under &&.
unpack_kernel() (
	series=$1
	h=$(kernel_headers "$series") || exit 1
	release=${h% *} version=${h#* }
	dest=$(kernel_dir "$series")
	pkg=linux-image-$release
	deb=$(cairn_cache)/${pkg}_${version}_amd64.deb

	mkdir -p "$(dirname "$dest")" &&
		tmp=$(mktemp -d "$dest.XXXXXX") || exit 1
	trap 'rm -rf "$tmp"' EXIT
	chmod 755 "$tmp"
	if [ ! -e "$deb" ]; then
		say "downloading $pkg $version"
		mkdir "$tmp/deb" && chmod 777 "$tmp/deb" &&
			download "$tmp/deb" "$pkg=$version" || exit 1
		deb=$(echo "$tmp"/deb/*.deb)
	fi
	say "unpacking $pkg into $dest"
	dpkg-deb -x "$deb" "$tmp" || exit 1
	rm -rf "$tmp/deb"
	find "$tmp/lib/modules" -name '*.ko.xz' -print0 |
		xargs -0 -r -n 64 -P "$(nproc)" xz -d &&
		PATH=$PATH:/sbin:/usr/sbin depmod -b "$tmp" "$release" || exit 1
	: >"$tmp/.complete"
	rm -rf "$dest"
	mv -T "$tmp" "$dest" || exit 1
	rm -f "$deb"
)

get_kernel() {
	local series=$1

	unpack_kernel "$series" && return 0
	# the mirror no longer has the image of these headers: go to the newest
	apt_update_once
	unpack_kernel "$series" && return 0
	say "no image matches the installed headers of $series: upgrading the headers"
	apt_install "$(kernel_meta headers "$series")"
	unpack_kernel "$series"
}

mapfile -t pkgs < <(missing_packages)
mapfile -t kernels < <(missing_kernels)
get_sources() {
	"$here/fio" fetch || say "no source of fio: its engine is left out"
	"$here/libfabric" fetch || say "no source of libfabric: its test is left out"
}

if [ ${#pkgs[@]} = 0 ] && [ ${#kernels[@]} = 0 ]; then
	[ $check_only = 1 ] || get_sources
	exit 0
fi

[ ${#pkgs[@]} = 0 ] || say "missing packages: ${pkgs[*]}"
[ ${#kernels[@]} = 0 ] || say "missing kernel images in $(cairn_cache): ${kernels[*]}"
if [ $check_only = 1 ]; then
	say "'make deps' (as root) gets them"
	exit 1
fi
if [ ${#pkgs[@]} != 0 ]; then
	if [ "$(id -u)" != 0 ]; then
		say "run as root:"
		say "  apt-get update && apt-get install --no-install-recommends ${pkgs[*]}"
		exit 1
	fi
	install_packages "${pkgs[@]}"
fi
for k in $CAIRN_SERIES; do
	kernel_present "$k" || get_kernel "$k"
done
get_sources
say "complete"
