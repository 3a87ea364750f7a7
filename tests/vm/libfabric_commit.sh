#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 450
# kernels: 6.1 6.12
# once: 6.12
# nvdimm: 256M
#
# libfabric with userspace/patches/libfabric: what a program of it has committed is durable.
# tests/vm/kmod/cairn_shadow.c judges.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

built=$PROGS/../libfabric
[ -x "$built/commit" ] || skip_all "libfabric is not built: scripts/libfabric fetch"
need_devdax
export LD_LIBRARY_PATH=$built/installed/lib
commit=$built/commit
log=$lib_tmp/target
count=${CAIRN_SOAK:+3000} count=${count:-40}
base=$(cat /sys/bus/dax/devices/dax0.0/resource) || bail "the devdax has no address"

# write_to PATH KIND WAY [IMAGE]: a target in namespace b, and a writer in a, whose output is shown
write_to() {
	start b "$log" "$commit target $IP_B 7205 $1 $((2 << 20)) $2"
	wait_for 60 grep -q listens "$log" || { lib_show "$log"; return 1; }
	if ! in_a "$commit" write $IP_B 7205 "$count" 7 "$3" ${4:+"$4"}; then
		stop "$started" || :
		return 1
	fi
	wait "$started" || { lib_show "$log"; return 1; }
}

run_ok "cairn offers FI_RMA_PMEM" in_a "$commit" offered
expect "... as a device of its own name" "$(output | grep -cx "$DEV_A")" "$(output | wc -l)"

insmod "$(kmod cairn_shadow)" base="$base" size=$((2 << 20)) || bail "no shadow"
unload() {
	local rc=$?

	[ "$BASHPID" != $$ ] || rmmod cairn_shadow 2>/dev/null
	return $rc
}
trap 'unload; lib_exit' EXIT
for way in message told endpoint inject; do
	acks=$(counter "$DEV_B" persist_acks_sent)
	run_ok "$way: what has completed is durable" write_to /dev/dax0.0 pmem $way /dev/cairn_shadow
	expect_that "... by a durable write each" "$(counter "$DEV_B" persist_acks_sent) >= $acks + $count"
	[ $way != told ] || expect "... of which the target is told" "$(tail -n 1 "$log")" \
		"told of $count messages"
done
# WRITEs into persistent memory are durable without being asked: persistence.rst, 6a
run_ok "overridden: the flags of the message count" write_to /dev/dax0.0 pmem overridden /dev/cairn_shadow
# without a write-back the judge must say so
echo 1 >/sys/module/cairn_shadow/parameters/defect
run_fail "the judge sees a defect" write_to /dev/dax0.0 pmem message /dev/cairn_shadow
output | grep -q ' not there' || not_ok "... as the image says"
rmmod cairn_shadow

acks=$(counter "$DEV_B" persist_acks_sent)
run_ok "delivery: what has completed is in memory" write_to /dev/dax0.0 plain delivery /dev/dax0.0
expect "... and no durable write" "$(($(counter "$DEV_B" persist_acks_sent) - acks))" 0
run_fail "no commit into memory without FI_RMA_PMEM" write_to /dev/dax0.0 plain message
expect_that "... but an error" "$(output | grep -c 'remote access error') >= 1"
run_fail "no FI_RMA_PMEM for ordinary memory" in_b "$commit" target $IP_B 7205 anonymous $((2 << 20)) pmem
expect_that "... but an error" "$(output | grep -c 'fi_mr_reg.*Invalid argument') >= 1"
