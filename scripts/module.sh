#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Build cairn.ko for one kernel: scripts/module.sh build|sparse KERNEL, or objects KERNEL
# [FILE.o]: compiled and not linked, for a tree in which no kernel was built.
#
# KERNEL is one of these:
#
#   6.1, 6.12                 a series, with the installed Debian headers
#   trixie, backports, 7.2    a kernel that scripts/vm/fetch has fetched
#   RELEASE                   any /lib/modules/RELEASE/build
#   any name                  with KDIR=DIRECTORY of the kernel's build
#
# kbuild writes beside the sources, so each kernel has its own tree of symbolic links,
# build/KERNEL. Warnings are errors.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/.." && pwd)
# shellcheck source=scripts/vm/kernels.sh
. "$here/vm/kernels.sh"
PATH=$PATH:/sbin:/usr/sbin

usage() {
	echo "usage: $0 build|sparse KERNEL | objects KERNEL [FILE.o]" >&2
	exit 2
}
[ $# -ge 2 ] || usage
action=$1 kernel=$2
if [[ " $CAIRN_SERIES " == *" $kernel "* ]]; then
	series=1
	release=$(kernel_release "$kernel") || {
		echo "no headers for $kernel: run 'make deps'" >&2
		exit 1
	}
	kdir=$(kernel_headers_dir "$kernel")
elif kernel_fetched "$kernel"; then
	series=1
	release=$(kernel_release "$kernel") || {
		echo "no kernel $kernel: run 'scripts/vm/fetch $kernel'" >&2
		exit 1
	}
	kdir=$(kernel_headers_dir "$kernel")
elif kernel_built "$kernel"; then
	series=1
	release=$(kernel_release "$kernel")
	kdir=$(kernel_headers_dir "$kernel")
else
	series=0
	release=$kernel
	kdir=${KDIR:-/lib/modules/$release/build}
fi
[ -e "$kdir/Makefile" ] || {
	echo "no headers for $release: $kdir is missing" >&2
	exit 1
}

sources=drivers/infiniband/sw/cairn
dir=$top/build/$kernel
stamp=$dir/.built
cd "$top"
mkdir -p "$dir/drivers"
exec 9>"$dir/.lock"
flock 9

# directories count: they change when a file comes or goes
outdated() {
	[ -e "$stamp" ] && [ -e "$dir/cairn.ko" ] &&
		[ "$(cat "$stamp")" = "$release" ] || return 0
	[ -n "$(find Kbuild include "$sources" scripts/module.sh \
		-path "$sources/tests" -prune -o \
		\( -type d -o -name '*.[ch]' -o -name probe.sh -o -name 'K*' -o -name Makefile -o -name module.sh \) \
		-newer "$stamp" -print -quit)" ]
}

mirror() {
	local f

	if [ -e "$stamp" ] && [ "$(cat "$stamp")" != "$release" ]; then
		find "$dir" -mindepth 1 -maxdepth 1 ! -name .lock -exec rm -rf {} +
		mkdir "$dir/drivers"
	fi
	ln -sfn ../../Kbuild "$dir/Kbuild"
	ln -sfn ../../include "$dir/include"
	# removed sources, and their objects
	find "$dir/drivers" -xtype l -delete
	find "$dir/drivers" -name '*.o' | while read -r f; do
		[ -e "${f%.o}.c" ] || rm -f "$f"
	done
	find "$sources" -path "$sources/tests" -prune -o \
		\( -name '*.[chS]' -o -name probe.sh -o -name Kbuild -o -name Makefile \) -type f -print |
		while read -r f; do
			[ -L "$dir/$f" ] || {
				mkdir -p "$dir/$(dirname "$f")"
				ln -snr "$f" "$dir/$f"
			}
		done
}

# For traces of injected faults (tests/vm/alloc_sites.py), and for KASAN: after a module is
# unloaded the kernel keeps the shadow of its variables, and reports the next owner of that
# memory.
debug='' instrument=()
case $kernel in
uml-debug | uml-gcov) debug=" -g -include $here/bench/uml-debug.h" ;;
esac
case $kernel in
uml-debug)
	# shellcheck disable=SC2016
	instrument=('CFLAGS_KASAN=-fsanitize=kernel-address -fasan-shadow-offset=$(CONFIG_KASAN_SHADOW_OFFSET) --param asan-instrumentation-with-call-threshold=0 --param asan-stack=1 --param asan-globals=0')
	;;
uml-gcov) instrument=(KASAN_SANITIZE=n GCOV_PROFILE=y) ;;
esac

mapfile -t make_args < <(kernel_make_args "$kernel")

# scripts/check/kernel-doc.sh does what checkdoc does
kbuild() {
	# the job server of an outer make is not for kbuild
	MAKEFLAGS='' make --no-print-directory -C "$kdir" M="$dir" W=1 cmd_checkdoc= KCFLAGS="-Werror$debug" \
		-j"$(nproc)" "${make_args[@]}" "${instrument[@]}" "$@"
}

# finds warnings of modpost, which -Werror does not reach; messages about another
# compiler or pahole than the kernel's, or about make's jobs, are none
warnings() {
	grep -iE '(^|[^a-z-])warning:' "$1" | grep -vE '(compiler|pahole version) differs|jobserver'
}

# A module tree for the VM: the stock modules and ours, with depmod's tables,
# so that modprobe and the link type's alias work there as they would after
# "make install".
modroot() {
	local root=$dir/modroot/lib/modules/$release stock

	kernel_present "$kernel" || return 0
	stock=$(kernel_dir "$kernel")/lib/modules/$release
	[ "$root/updates/cairn.ko" -nt "$dir/cairn.ko" ] && return 0
	mkdir -p "$root/updates"
	ln -sfn "$stock/kernel" "$root/kernel"
	cp "$stock"/modules.{order,builtin,builtin.modinfo} "$root/"
	cp "$dir/cairn.ko" "$root/updates/.cairn.ko"
	mv "$root/updates/.cairn.ko" "$root/updates/cairn.ko"
	depmod -b "$dir/modroot" "$release"
}

case $action in
build)
	if outdated; then
		# a stamp from before the build: files that change meanwhile are newer
		echo "$release" >"$dir/.new"
		mirror
		rm -f "$stamp"
		echo "  MODULE  $kernel ($release)"
		rc=0
		kbuild modules >"$dir/log" 2>&1 || rc=$?
		grep -vE '^  (CC|LD|AR|MODPOST|BTF|PROBE) |^make\[|Skipping BTF|compiler differs|^  (The kernel was|You are using)' \
			"$dir/log" || :
		[ $rc = 0 ] || exit 1
		# the place where other scripts look for it
		ln -sfn "$sources/cairn.ko" "$dir/cairn.ko"
		if warnings "$dir/log" >/dev/null; then
			echo "warnings are errors" >&2
			rm -f "$dir/cairn.ko" "$dir/$sources/cairn.ko"
			exit 1
		fi
		mv "$dir/.new" "$stamp"
	fi
	[ $series = 0 ] || modroot
	;;
sparse)
	mirror
	# the kernel's own headers are not ours to mend
	kbuild C=2 CF="-D__CHECK_ENDIAN__ -Wsparse-error=0" modules >"$dir/sparse" 2>&1 || {
		cat "$dir/sparse"
		exit 1
	}
	! grep -E "^($dir|$top)/.*(warning|error):" "$dir/sparse"
	;;
objects)
	mirror
	kbuild "$sources/${3:-}" >"$dir/log" 2>&1 || {
		grep -E 'error' "$dir/log" >&2
		exit 1
	}
	;;
*) usage ;;
esac
