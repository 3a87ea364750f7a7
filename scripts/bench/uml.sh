#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# User-mode Linux of Debian's linux-source-6.12, where kernel code runs at
# native speed: built once (some ten minutes) into the cache outside the clone.
#
#   scripts/bench/uml.sh           build it if it is not there; print its directory
#   scripts/bench/uml.sh module    build cairn.ko for it into build/uml
#   scripts/bench/uml.sh tree OPTION...
#                                  configure a source tree without these options, enough
#                                  to compile modules; print its directory
#   scripts/bench/uml.sh run COMMAND [ARG]...
#                                  boot it on the host's root file system, with
#                                  the topology "pair", and run COMMAND there
#                                  as root; /mnt/out is build/bench/guest
#
# Variables for "run": CAIRN_UML_OUT (another /mnt/out), CAIRN_UML_TOPOLOGY,
# CAIRN_UML_ARGS (parameters of the module), CAIRN_UML_TIMEOUT. The directory has linux (the kernel, an ordinary program), lib/modules and
# build, the tree that modules are built against. CAIRN_UML=debug means another
# kernel, with the checks of uml-debug.config: see scripts/test/umltest. CAIRN_UML=gcov is
# that kernel, with a module that counts the lines that it executes: see
# scripts/test/coverage.
# CAIRN_UML=kcsan and CAIRN_UML=rt are no user-mode Linux, but x86 kernels of the same
# source for QEMU: see scripts/test/kcsan and scripts/test/rt. CAIRN_UML=64k is one for arm64
# with pages of 64 KiB: see scripts/test/64k. CAIRN_UML=seccomp is the
# user-mode Linux of linux-source-7.2, Debian 13's backports. Its processes run under
# seccomp and not under ptrace: a system call costs a tenth. An interrupted build
# continues where it was.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=scripts/vm/kernels.sh
. "$top/scripts/vm/kernels.sh"
PATH=$PATH:/sbin:/usr/sbin

package=linux-source-6.12
flavour=${CAIRN_UML:-}
name=uml${flavour:+-$flavour} arch=um image=linux
kernel=$name
extra=() unpack=unpack recipe=(unpack configure)
if [ "$flavour" = gcov ]; then
	flavour=debug kernel=uml-debug
fi
case $flavour in
debug) unpack=unpack_debug recipe+=(unpack_debug) ;;
kcsan | rt) name=$flavour kernel=$flavour arch=x86_64 image=vmlinux ;;
64k) name=64k kernel=64k arch=arm64 image=Image; export CROSS_COMPILE=aarch64-linux-gnu- ;;
seccomp) package=linux-source-7.2 extra=(seccomp=on) unpack=unpack_newer recipe=(unpack_newer configure) ;;
esac

say() { echo "uml: $*" >&2; }

# the source of another Debian
archive() {
	"$top/scripts/vm/fetch" --source "${package#linux-source-}"
}

uml_dir() {
	local version hash

	if [ "$flavour" = seccomp ]; then
		version=$(basename "$(archive)" .tar.xz) || exit 1
		version=${version##*_}
	else
		version=$(dpkg-query -W -f '${Version}' $package) || exit 1
	fi
	hash=$({
		options
		declare -f "${recipe[@]}"
	} | sha256sum)
	echo "$(cairn_cache)/$kernel-$version-${hash:0:8}"
}

# a line of uml-debug.config replaces one of uml.config
options() {
	local files=("$here/uml.config")

	[ -z "$flavour" ] || files=("$here/uml-$flavour.config" "${files[@]}")
	awk -F= '/^CONFIG/ && !seen[$1]++ && $2 != "n"' "${files[@]}"
}

# directories that no configuration here compiles
unpack() {
	tar -C "$1" -xf /usr/src/$package.tar.xz --strip-components=1 \
		--exclude='*.rst' --exclude='*/tools/testing/*' --exclude='*/tools/perf/*' \
		--exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/media/*.[ch]' \
		--exclude='*/drivers/net/ethernet/*.[ch]' --exclude='*/drivers/net/wireless/*.[ch]' \
		--exclude='*/drivers/staging/*.[ch]' --exclude='*/drivers/scsi/*.[ch]' \
		--exclude='*/sound/*.[ch]'
	# Processors with AMX have 11 KiB of extended state, and the host's kernel
	# refuses to restore less than all of it. (It lies in the stack's pages.)
	sed -i 's/DEFINE_LONGS(HOST_FP_SIZE, 2696)/DEFINE_LONGS(HOST_FP_SIZE, 12288)/' \
		"$1/arch/x86/um/user-offsets.c"
	grep -q 12288 "$1/arch/x86/um/user-offsets.c"
	# A fork that fails in the middle, as when a signal kills its process, leaves a mark
	# in the tree of areas. User-mode Linux takes it for an area.
	sed -i 's/^\tfor_each_vma(vmi, vma)$/&\n\t\tif (xa_is_zero(vma))\n\t\t\tbreak;\n\t\telse/' \
		"$1/arch/um/kernel/tlb.c"
	grep -q xa_is_zero "$1/arch/um/kernel/tlb.c"
}

# KASAN, kmemleak and the checks of objects save the stack's trace at each allocation.
# For that this kernel looks at each word of the stack, which takes three quarters of
# the time. It keeps only what frame pointers lead to, so these are followed instead.
unpack_debug() {
	local file=$1/arch/um/kernel/stacktrace.c

	unpack "$1"
	sed -i -e '/^static const struct stacktrace_ops dump_ops/,/^};/d' \
		-e 's/^\tdump_trace(tsk, &dump_ops, trace);/\tsave_frames(tsk, trace);/' \
		-e '/^static void save_addr/,/^}/{/^}/r /dev/stdin' -e '}' "$file" <<-'END'

		/* Follow the frame pointers, as far as they lead up in the same stack. */
		static void save_frames(struct task_struct *task, struct stack_trace *trace)
		{
			struct pt_regs *regs = task->thread.segv_regs;
			unsigned long from = (unsigned long)get_stack_pointer(task, regs);
			unsigned long at = get_frame_pointer(task, regs);

			while (at >= from && at % sizeof(at) == 0 &&
			       ((at + sizeof(at)) ^ from) < THREAD_SIZE) {
				struct stack_frame *frame = (struct stack_frame *)at;
				unsigned long address = READ_ONCE_NOCHECK(frame->return_address);

				if (!__kernel_text_address(address))
					break;
				save_addr(trace, address, 1);
				from = at + 1;
				at = READ_ONCE_NOCHECK(frame->next_frame);
			}
		}
	END
	grep -q 'save_frames(tsk, trace)' "$file" && grep -q '^static void save_frames' "$file"
	# The memory of a module that was unloaded keeps the red zones of its variables, and
	# serves vmalloc() next: there is no KASAN_VMALLOC for user-mode Linux.
	file=$1/mm/execmem.c
	sed -i -e 's/^#include <linux\/mm.h>/&\n#include <linux\/kasan.h>/' \
		-e '/^void execmem_free/,/^}/s/^\tvfree(ptr);/\tif (find_vm_area(ptr))\n\t\tkasan_unpoison_range(ptr, get_vm_area_size(find_vm_area(ptr)));\n&/' \
		"$file"
	grep -q kasan_unpoison_range "$file"
}

# one of 7.2. Modules cannot see which soft interrupts are pending there, as they can
# elsewhere.
unpack_newer() {
	tar -C "$1" -xf "$(archive)" --strip-components=1
	sed -i 's/^DEFINE_PER_CPU.*(irq_cpustat_t, irq_stat);/&\nEXPORT_PER_CPU_SYMBOL(irq_stat);/' \
		"$1/arch/um/kernel/irq.c"
	grep -q 'EXPORT_PER_CPU_SYMBOL(irq_stat)' "$1/arch/um/kernel/irq.c"
}

# every option of the files here must be set as it is
configure() {
	local line missing=0

	options >"$1/../options"
	make -s -C "$1" ARCH=$arch KCONFIG_ALLCONFIG="$1/../options" allnoconfig >"$1/../config.log" 2>&1
	while read -r line; do
		grep -qxF -e "$line" "$1/.config" || {
			say "not configured: $line"
			missing=1
		}
	done <"$1/../options"
	return $missing
}

build() (
	dest=$1 tmp=$1.part
	if [ ! -e "$tmp/.configured" ]; then
		rm -rf "$tmp"
		mkdir -p "$tmp/build"
		say "unpacking $package"
		"$unpack" "$tmp/build" || exit 1
		configure "$tmp/build" || exit 1
		: >"$tmp/.configured"
	fi
	say "building; log: $tmp/log"
	make -C "$tmp/build" ARCH=$arch -j"$(nproc)" $image modules >"$tmp/log" 2>&1 || {
		tail -n 30 "$tmp/log" >&2
		exit 1
	}
	make -s -C "$tmp/build" ARCH=$arch INSTALL_MOD_PATH="$tmp" modules_install >>"$tmp/log" 2>&1 || exit 1
	# arm64's lies deeper
	cp "$tmp"/build/{,arch/$arch/boot/}"$image" "$tmp/" 2>/dev/null || [ -e "$tmp/$image" ] || exit 1
	[ $arch = um ] || for_qemu "$tmp" || exit 1
	: >"$tmp/.complete"
	mv -T "$tmp" "$dest"
)

# where scripts/vm/run looks for it
for_qemu() {
	make -s -C "$1/build" ARCH=$arch kernelrelease >"$1/release" || return
	mkdir -p "$1/boot"
	mv "$1/$image" "$1/boot/vmlinux-$(cat "$1/release")"
}

# One tree serves all configurations, one after the other.
tree() {
	local dir option without=''

	dir=$(cairn_cache)/uml-tree-$(dpkg-query -W -f '${Version}' $package)
	mkdir -p "$dir/build"
	if [ ! -e "$dir/.unpacked" ]; then
		"$unpack" "$dir/build" && : >"$dir/.unpacked" || exit 1
	fi
	for option; do
		without+="|CONFIG_$option(_[A-Z0-9_]*)?="
	done
	options | grep -vE "^(${without#|})" >"$dir/options"
	make -s -C "$dir/build" ARCH=$arch KCONFIG_ALLCONFIG="$dir/options" \
		allnoconfig >"$dir/log" 2>&1 || exit 1
	for option; do
		! grep -q "^CONFIG_$option=" "$dir/build/.config" || {
			say "still configured: $option"
			exit 1
		}
	done
	make -s -C "$dir/build" ARCH=$arch modules_prepare >>"$dir/log" 2>&1 || exit 1
	echo "$dir/build"
}

get() {
	local dest

	dest=$(uml_dir)
	mkdir -p "$(dirname "$dest")"
	exec 8>"$dest.lock"
	flock 8
	[ -e "$dest/.complete" ] || build "$dest" || exit 1
	exec 8>&-
	echo "$dest"
}

module() {
	KDIR=$1/build ARCH=um "$top/scripts/module.sh" build "$name" || return
	"$top/tests/vm/kmod/build" "$top/build/vmtests/kmod" --for "$1/build" \
		"$top/build/$name/Module.symvers" cairn_bench cairn_kapi_test cairn_taken \
		cairn_ulp_test -- ARCH=um
}

run() {
	local var dir=$1 out=${CAIRN_UML_OUT:-$top/build/bench/guest} status

	shift
	mkdir -p "$out"
	rm -f "$out/status"
	{
		declare -p top out dir name
		echo "cwd=${PWD@Q}"
		echo "command=(${*@Q})"
		echo "topology=${CAIRN_UML_TOPOLOGY:-pair} module_args='${CAIRN_UML_ARGS:-}'"
		for var in $(compgen -e CAIRN_); do
			echo "export $var=${!var@Q}"
		done
	} >"$out/job"
	# Its processes give back all memory that they were made with. The C library has
	# let the host's kernel write there when it takes the CPU away from them, and
	# then they would end by SIGSEGV.
	export GLIBC_TUNABLES=glibc.pthread.rseq=0
	# No UML may outlive us; its console is our output. It and the processes in
	# it hand over to each other: on one CPU that costs no interrupt. Its memory is a
	# file: large pages, of which a kernel's own map of its memory consists, if there are any.
	# shellcheck disable=SC2016
	setpriv --pdeathsig TERM timeout -s KILL "${CAIRN_UML_TIMEOUT:-1800}" \
		unshare -m sh -c 'mount -t tmpfs -o huge=always tmpfs /dev/shm; exec "$@"' - \
		setpriv --pdeathsig KILL taskset -c "$(($(nproc --all) - 1))" "$dir/linux" mem=2G root=/dev/root rootfstype=hostfs \
		rootflags=/ ro quiet loglevel=4 ${flavour:+log_buf_len=16M kasan_multi_shot} init="$here/uml-init" "cairn_job=$out/job" \
		con=null con0=null,fd:1 ssl=null "${extra[@]}" </dev/null 2>&1 | sed -u 's/\r$//'
	status=$(cat "$out/status" 2>/dev/null) || {
		say "it ended by itself"
		return 98
	}
	return "$status"
}

action=${1:-}
[ $# = 0 ] || shift
case $action in
"") get ;;
tree) tree "$@" ;;
module)
	dir=$(get)
	module "$dir"
	;;
run)
	dir=$(get)
	module "$dir"
	run "$dir" "$@"
	;;
*)
	echo "usage: $0 [module | tree OPTION... | run COMMAND [ARG]...]" >&2
	exit 2
	;;
esac
