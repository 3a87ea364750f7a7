#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 600
# kernels: 6.1 6.12
# nvdimm: 512M
#
# WRITE_PERSIST into files of ext4 and xfs on persistent memory, mapped with MAP_SYNC, and the
# end of the file system under them.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
RUN_TIMEOUT=$((200 * ${CAIRN_TIMEOUT_SCALE:-1}))

ndctl create-namespace -f -e namespace0.0 -m fsdax >/dev/null || bail "no fsdax namespace"
pmem=/dev/pmem0
wait_for 60 test -b $pmem || bail "no $pmem"

CAIRN_FILES=$lib_tmp/files CAIRN_ACKED=$lib_tmp/acked
export CAIRN_FILES CAIRN_ACKED
mkdir "$CAIRN_FILES"

# on_files NAME MAKE...: all points in a file system that MAKE makes
on_files() {
	local name=$1

	shift
	modprobe "$name" 2>/dev/null || { skip "$name" "this kernel has none"; return; }
	"$@" $pmem >/dev/null 2>&1 || bail "$* $pmem"
	mount -t "$name" -o dax $pmem "$CAIRN_FILES" || bail "$name without DAX"
	diag "$name"
	fences=$(counter "$DEV_B" persist_fences)
	run_ok "$name: what is acknowledged is in the file" in_a persist_files writing
	# five WRITE_PERSISTs and one WRITE, one after the other
	expect_that "... after a fence for each message" \
		"$(counter "$DEV_B" persist_fences) >= $fences + 6"
	rm -f "$CAIRN_ACKED"
	points in_a persist_files
	run_ok "... and $name can be unmounted" umount "$CAIRN_FILES"
	[ -e "$CAIRN_ACKED" ] || return
	mount -t "$name" -o dax $pmem "$CAIRN_FILES" || bail "$name after a shutdown"
	run_ok "... what was acknowledged is there after a shutdown" in_a persist_files remounted
	umount "$CAIRN_FILES"
}

on_files ext4 mkfs.ext4 -q -F -b 4096
# 6.1 warns when a page of a clone is written, whatever writes it (dax_insert_entry())
clones=()
[ "$(printf '%s\n' 6.2 "$(uname -r)" | sort -V | head -n 1)" = 6.2 ] || clones=(-m reflink=0)
on_files xfs mkfs.xfs -q -f -b size=4096 "${clones[@]}"

expect "no region is left" "$(rdma resource show mr | grep -c 'comm persist_files')" 0
