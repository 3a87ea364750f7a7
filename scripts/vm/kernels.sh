# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Which kernels there are, and where their files lie. Sourced, not run.
#
# A kernel is named by its series (6.1, 6.12). Its release and package version
# are those of the installed headers, so that the module and the kernel that
# boots always match.
#
# Other kernels come from Debian 13's mirror, headers and all, into the cache
# (scripts/vm/fetch): "trixie" is the kernel of Debian 13, "backports" the newest
# one there, 6.18 the newest of that series. "arm64" is Debian 12's 6.12 for arm64, with
# a root file system for the programs. "6.1-rt" and "6.12-rt" are Debian 12's kernels with
# PREEMPT_RT. "ubuntu-6.8" is Ubuntu's newest of that series, "azure-6.8" and "aws-6.8" are
# those for the clouds: of Ubuntu 22.04 (5.15) or 24.04.

# every series that is built for and tested on
# shellcheck disable=SC2034
CAIRN_SERIES="6.1 6.12"
# the kernels of "make matrix"
# shellcheck disable=SC2034
CAIRN_MATRIX="$CAIRN_SERIES 6.1-rt 6.12-rt trixie 6.18 7.2 backports arm64
	ubuntu-5.15 ubuntu-6.8 ubuntu-6.11 ubuntu-6.14 ubuntu-6.17 ubuntu-7.0 azure-6.17"

# the unpacked kernel images live outside the clone: they outlast it
cairn_cache() {
	if [ -n "${CAIRN_CACHE:-}" ]; then
		echo "$CAIRN_CACHE"
	elif [ -w /var/cache/cairn ] || { [ ! -e /var/cache/cairn ] && [ -w /var/cache ]; }; then
		echo /var/cache/cairn
	else
		echo "${HOME:?}/.cache/cairn"
	fi
}

# Debian's meta package of a series; $1 is "image" or "headers"
kernel_meta() {
	case "$2" in
	6.1) echo "linux-$1-amd64" ;;
	6.12) echo "linux-$1-6.12-amd64" ;;
	*)
		echo "unknown kernel series '$2' (known: $CAIRN_SERIES)" >&2
		return 1
		;;
	esac
}

# "RELEASE VERSION" of the installed headers; fails when there are none
kernel_headers() {
	local meta dep release

	meta=$(kernel_meta headers "$1") || return 1
	dep=$(dpkg-query -W -f '${db:Status-Status} ${Version} ${Depends}' "$meta" 2>/dev/null) || return 1
	[[ $dep == installed\ * ]] || return 1
	[[ $dep =~ linux-headers-([^ ,]+)\ \(=\ ([^\)]+)\) ]] || return 1
	release=${BASH_REMATCH[1]}
	[ -d "/usr/src/linux-headers-$release" ] || return 1
	echo "$release ${BASH_REMATCH[2]}"
}

# one that we have built ourselves, in the directory $CAIRN_KCSAN, $CAIRN_RT or $CAIRN_64K
# (scripts/test/kcsan, scripts/test/rt, scripts/test/64k)
kernel_built() {
	[ -n "$(kernel_built_dir "$1")" ]
}

kernel_built_dir() {
	case $1 in
	kcsan) echo "${CAIRN_KCSAN:-}" ;;
	rt) echo "${CAIRN_RT:-}" ;;
	64k) echo "${CAIRN_64K:-}" ;;
	esac
}

# one from the mirror; $1 is a name and nothing else
kernel_fetched() {
	[[ $1 =~ ^(trixie|backports|arm64|[0-9]+\.[0-9]+(-rt)?|(ubuntu|azure|aws)-[0-9]+\.[0-9]+)$ ]] && [[ " $CAIRN_SERIES " != *" $1 "* ]]
}

# other files of fetched kernels lie there, too
kernel_fetched_top() {
	case $1 in
	arm64) echo "$(cairn_cache)/arm64" ;;
	*-5.15) echo "$(cairn_cache)/ubuntu22.04" ;;
	ubuntu-* | azure-* | aws-*) echo "$(cairn_cache)/ubuntu24.04" ;;
	*-rt) echo "$(cairn_cache)/debian12" ;;
	*) echo "$(cairn_cache)/debian13" ;;
	esac
}

# where scripts/vm/fetch has put it: a link to a directory RELEASE_VERSION
kernel_fetched_dir() {
	readlink -e "$(kernel_fetched_top "$1")/$1"
}

kernel_release() {
	local h

	if kernel_fetched "$1"; then
		h=$(kernel_fetched_dir "$1") || return 1
		h=${h##*/}
		echo "${h%_*}"
		return
	fi

	if kernel_built "$1"; then
		cat "$(kernel_built_dir "$1")/release"
		return
	fi
	h=$(kernel_headers "$1") || return 1
	echo "${h% *}"
}

# the directory with the unpacked image: boot/ and lib/modules/RELEASE
kernel_dir() {
	local h

	if kernel_built "$1"; then
		kernel_built_dir "$1"
		return
	fi
	if kernel_fetched "$1"; then
		kernel_fetched_dir "$1"
		return
	fi
	h=$(kernel_headers "$1") || return 1
	echo "$(cairn_cache)/kernel/${h% *}_${h#* }"
}

# complete only once the stamp is there: an interrupted unpacking has none
kernel_present() {
	local d

	d=$(kernel_dir "$1") && [ -e "$d/.complete" ]
}

# the directory that modules are built against
kernel_headers_dir() {
	local release dir

	if kernel_built "$1"; then
		echo "$(kernel_built_dir "$1")/build"
		return
	fi
	release=$(kernel_release "$1") || return 1
	if kernel_fetched "$1"; then
		dir=$(kernel_dir "$1") || return 1
		echo "$dir/usr/src/linux-headers-$release"
	else
		echo "/usr/src/linux-headers-$release"
	fi
}

# the root file system that a VM boots with a kernel of another architecture
kernel_root() {
	[[ $1 != @(arm64|64k) ]] || readlink -e "$(kernel_fetched_top arm64)/root"
}

# further arguments of make, a word a line: that release's compiler and pahole
kernel_make_args() {
	local dir ccache=''

	[[ $1 != @(arm64|64k) ]] || echo CC=aarch64-linux-gnu-gcc-12
	[ "$1" != 64k ] || printf '%s\n' ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
	kernel_fetched "$1" && dir=$(kernel_dir "$1") && [ -e "$dir/.tools" ] || return 0
	dir=$(cat "$dir/.tools")
	# as it is for everybody else, if it is
	[[ $(command -v gcc) != */ccache/* ]] || ccache='ccache '
	echo "CC=$ccache$(echo "$dir"/usr/bin/x86_64-linux-gnu-gcc-[0-9][0-9])"
	[ ! -e "$dir/usr/bin/pahole" ] || echo "PAHOLE=$dir/usr/bin/pahole"
}
