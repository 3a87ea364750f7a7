# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Root file systems of other Debian releases, made by mmdebstrap into the cache.
# Sourced by scripts that run as root in a mount namespace of their own, after
# kernels.sh. The host's packages, sources and devices are not touched.
#
# CAIRN_MIRROR names the mirror, CAIRN_APT_OPTION one option for apt there, as
# 'Acquire::Check-Valid-Until "false"' for a mirror whose lists have expired.

mirror=${CAIRN_MIRROR:-http://deb.debian.org/debian}

# packages of a small Debian machine, and of an image for containers that use RDMA
rootfs_packages=systemd-sysv,udev,dbus,kmod,iproute2,iputils-ping,procps,linux-image-amd64
rootfs_image_packages=ibverbs-utils,rdmacm-utils

# a private mount namespace, in which the script starts again: rootfs_unshare "$@"
rootfs_unshare() {
	[ "$(id -u)" = 0 ] || {
		echo "$0: root file systems are made as root" >&2
		exit 1
	}
	[ -n "${CAIRN_UNSHARED:-}" ] || CAIRN_UNSHARED=1 exec unshare -m --propagation private "$0" "$@"
}

# the directories of release $1, made if they are not there: of a machine, of an image
rootfs_base() { rootfs_make "$1" "$1" "$rootfs_packages"; }
rootfs_image() { rootfs_make "image-$1" "$1" "$rootfs_image_packages"; }

# rootfs_make NAME RELEASE PACKAGES
rootfs_make() {
	local dir tmp

	dir=$(cairn_cache)/root/$1-$(md5sum <<<"$3" | cut -c1-8)
	if [ ! -d "$dir" ]; then
		command -v mmdebstrap >/dev/null || {
			echo "mmdebstrap is missing: apt-get install mmdebstrap" >&2
			return 1
		}
		mkdir -p "${dir%/*}"
		tmp=$(mktemp -d "$dir.XXXXXX")
		echo "making a root file system of Debian $2 in $dir" >&2
		# no initramfs: a VM boots with one of ours
		INITRD=No mmdebstrap --quiet --variant=minbase --format=directory --include="$3" \
			--skip=cleanup/apt/lists --aptopt='APT::Install-Recommends "false"' \
			${CAIRN_APT_OPTION:+--aptopt="$CAIRN_APT_OPTION"} \
			"$2" "$tmp" "$mirror" >&2 || {
			rm -rf "$tmp"
			return 1
		}
		# that was for making it: later installations get what apt recommends
		rm -f "$tmp/etc/apt/apt.conf.d/99mmdebstrap"
		[ -z "${CAIRN_APT_OPTION:-}" ] || echo "$CAIRN_APT_OPTION;" >"$tmp/etc/apt/apt.conf.d/99cairn"
		chmod 755 "$tmp"
		mv -T "$tmp" "$dir"
	fi
	echo "$dir"
}

# rootfs_mount DIR UPPER LOWER... BASE: at DIR, the layers of which UPPER gets the changes
rootfs_mount() {
	local dir=$1 upper=$2 lower archives

	shift 2
	lower=$(IFS=:; echo "$*")
	# apt locks it: one for each release
	archives=$(cairn_cache)/root/archives-$(basename "${!#}")
	mkdir -p "$dir" "$upper" "$upper.work" "$archives/partial"
	mount -t overlay overlay -o "lowerdir=$lower,upperdir=$upper,workdir=$upper.work" "$dir"
	mount -t proc proc "$dir/proc"
	# programs there must neither see the host's module nor change its devices
	mount -t tmpfs tmpfs "$dir/sys"
	mount -t tmpfs tmpfs "$dir/run"
	mount -t tmpfs -o mode=755 tmpfs "$dir/dev"
	mknod -m 666 "$dir/dev/null" c 1 3
	mknod -m 666 "$dir/dev/zero" c 1 5
	mknod -m 666 "$dir/dev/random" c 1 8
	mknod -m 666 "$dir/dev/urandom" c 1 9
	ln -s /proc/self/fd "$dir/dev/fd"
	# keep downloaded packages for the next time
	mount --bind "$archives" "$dir/var/cache/apt/archives"
	cp -L /etc/resolv.conf "$dir/etc/resolv.conf"
	printf '#!/bin/sh\nexit 101\n' >"$dir/usr/sbin/policy-rc.d"
	chmod 755 "$dir/usr/sbin/policy-rc.d"
}

# leave only the layers, which a machine that boots from it sees
rootfs_unmount_inner() {
	umount "$1/var/cache/apt/archives" "$1/dev" "$1/run" "$1/sys" "$1/proc"
	rm -f "$1/usr/sbin/policy-rc.d" "$1/etc/resolv.conf"
}

# rootfs_run DIR COMMAND: a shell command as root in there
rootfs_run() {
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 INITRD=No \
		DEBIAN_FRONTEND=noninteractive chroot "$1" /bin/bash -c "$2"
}

# the directory of a layer above release $1 with packages installed: $2 name, $3 ... packages
rootfs_layer() {
	local base dir work name=$1-$2

	base=$(rootfs_base "$1") || return 1
	shift 2
	dir=$(cairn_cache)/root/$name-$(md5sum <<<"$base $*" | cut -c1-8)
	if [ ! -d "$dir" ]; then
		work=$(mktemp -d "$dir.XXXXXX")
		echo "installing into it: $*" >&2
		{
			rootfs_mount "$work/root" "$work/upper" "$base" &&
				rootfs_run "$work/root" "apt-get -qq update &&
					apt-get -qq -y --no-install-recommends install $*"
		} >&2 || {
			umount -R "$work/root"
			rm -rf "$work"
			return 1
		}
		rootfs_unmount_inner "$work/root"
		umount "$work/root"
		mv -T "$work/upper" "$dir"
		rm -rf "$work"
	fi
	echo "$dir"
}
