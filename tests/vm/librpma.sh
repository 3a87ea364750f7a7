#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.1 6.12
# nvdimm: 256M
#
# Programs of librpma, which know nothing of cairn: with persistent=auto at the target what they
# have flushed is durable, and without it is not. tests/vm/kmod/cairn_shadow.c judges.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
log=$lib_tmp/target
count=${CAIRN_SOAK:+3000} count=${count:-60}

# write_to PATH COUNT [IMAGE]: a target in namespace b, and a writer in a, whose output is shown
write_to() {
	start b "$log" "rpma target 10.77.0.2 7204 $1 $((2 << 20))"
	wait_for 60 grep -q listens "$log" || { lib_show "$log"; return 1; }
	if ! in_a rpma write 10.77.0.2 7204 "$2" 7 ${3:+"$3"}; then
		stop "$started" || :
		return 1
	fi
	wait "$started" || { lib_show "$log"; return 1; }
}

base=$(cat /sys/bus/dax/devices/dax0.0/resource) || bail "the devdax has no address"
insmod "$(kmod cairn_shadow)" base="$base" size=$((2 << 20)) || bail "no shadow"
# the next test in this boot needs the devdax
files=$lib_tmp/files
restore() {
	local rc=$?

	[ "$BASHPID" = $$ ] || return $rc
	rmmod cairn_shadow 2>/dev/null
	umount "$files" 2>/dev/null
	[ -c /dev/dax0.0 ] || ndctl create-namespace -f -e namespace0.0 -m devdax >/dev/null
	return $rc
}
trap 'restore; lib_exit' EXIT

run_fail "what librpma has flushed is not durable by itself" \
	write_to /dev/dax0.0 "$count" /dev/cairn_shadow
output | grep -q ' not durable' || not_ok "... as the image says"
run_ok "the target gets persistent=auto" in_b cairn_set "$DEV_B" persistent=auto
run_ok "what librpma has flushed is durable" write_to /dev/dax0.0 "$count" /dev/cairn_shadow
diag "$(output | tail -n 1)"
rmmod cairn_shadow

ndctl create-namespace -f -e namespace0.0 -m fsdax >/dev/null || bail "no fsdax namespace"
wait_for 60 test -b /dev/pmem0 || bail "no /dev/pmem0"
mkdir "$files"
modprobe ext4 2>/dev/null
mkfs.ext4 -q -F -b 4096 /dev/pmem0 && mount -o dax /dev/pmem0 "$files" || bail "no ext4 with DAX"
: >"$files/region"
fences=$(counter "$DEV_B" persist_fences)
run_ok "librpma writes into a file" write_to "$files/region" 60
expect_that "... with a fence for each message" "$(counter "$DEV_B" persist_fences) >= $fences + 60"
expect_that "... which has blocks" "$(stat -c %b "$files/region") > 0"
run_ok "the file system can be unmounted" umount "$files"
run_ok "the device gets its setting back" in_b cairn_set "$DEV_B" persistent=declared
