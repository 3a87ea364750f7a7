#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# nvdimm: 256M
#
# WRITE_PERSIST: registration on persistent, ordinary and emulated memory, NIC
# flush and host flush, both completion modes, tokens, the death of a target; then
# the same over bad networks, and the device's counters.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

need_devdax
export CAIRN_DAX=/dev/dax0.0
RUN_TIMEOUT=$((200 * ${CAIRN_TIMEOUT_SCALE:-1}))

# a bad block in the last unit of the devdax, which no other test uses
sys=/sys/bus/dax/devices/dax0.0
export CAIRN_BAD=$(($(cat $sys/size) - (2 << 20)))
insmod "$(kmod cairn_media_test)" dax=$CAIRN_DAX start="$(cat $sys/resource)" \
	bad=$((CAIRN_BAD + 5000)) && rmmod cairn_media_test

points flush
b() { counter "$DEV_B" "$1"; }

# a program that does not know cairn: one WRITE, one WRITE_PERSIST
fences=$(b persist_fences)
run_ok "memory is persistent without being asked for" in_a persist automatic_write
expect_that "... and each message has its fence" "$(b persist_fences) >= $fences + 2"

forged=$(b persist_bad_tokens) flushes=$(b persist_host_flushes) fences=$(b persist_fences)
full=$(b persist_full) late=$(b persist_late)
points in_a persist
expect_that "refused tokens are counted" "$(b persist_bad_tokens) > $forged + 60"
expect_that "host flushes are counted" "$(b persist_host_flushes) > $flushes + 60"
expect_that "fences are counted" "$(b persist_fences) > $fences + 60"
expect_that "flushes put off are counted" "$(b persist_full) > $full"
expect "flushes that took too long are counted" $(($(b persist_late) - late)) 2

# forged, of another context, process or device, used twice: each is counted, once,
# where it was tried
wrong=$(b persist_bad_tokens) elsewhere=$(counter "$DEV_A" persist_bad_tokens)
run_ok "wrong tokens are refused" in_a persist tokens_refused
expect "... and counted" $(($(b persist_bad_tokens) - wrong)) 70
expect "... by the device that was asked" \
	$(($(counter "$DEV_A" persist_bad_tokens) - elsewhere)) 1
wrong=$(b persist_bad_tokens)
run_ok "late tokens are refused" in_a persist late_after
expect "... and counted, after the end of queue pair, connection and region" \
	$(($(b persist_bad_tokens) - wrong)) 3

# as after daxctl reconfigure-device -m system-ram
insmod "$(kmod cairn_media_test)" ram=1 || bail "cairn_media_test"
run_ok "System RAM on persistent memory is refused" in_a persist registration
rmmod cairn_media_test

traffic() {
	local name=$1

	shift
	run_ok "$name" in_a persist_traffic "$@" && diag "$(output | tail -n 1)"
}

# regions of other platforms
for kind in async:is_nvdimm_sync eadr:nvdimm_has_cache; do
	insmod "$(kmod cairn_media_test)" zero="${kind#*:}" || bail "cairn_media_test"
	run_ok "what libnvdimm says of a region counts: ${kind%:*}" \
		in_a env CAIRN_REGION="${kind%:*}" persist region_kind
	rmmod cairn_media_test
done

# memory with an error that no access has met yet
if grep -qw copy_mc_to_kernel /proc/kallsyms; then
	insmod "$(kmod cairn_media_test)" poison=1 || bail "cairn_media_test"
	points nsenter --net=/run/netns/a poison
	rmmod cairn_media_test
else
	skip "memory errors" "this kernel does not recover from them"
fi

# what the other end can do, before anything is written; no host has the last address
in_a ip neigh replace 10.77.0.99 dev "$IF_A" nud permanent \
	lladdr "$(in_b cat "/sys/class/net/$IF_B/address")"
chmod 666 /dev/infiniband/uverbs*	# also for another user
points nsenter --net=/run/netns/a peer

# why a registration was refused
if echo 'module cairn +p' >/proc/dynamic_debug/control 2>/dev/null; then
	in_a persist registration >/dev/null
	echo 'module cairn -p' >/proc/dynamic_debug/control
	expect_that "refusals are explained to who asks" \
		"$(dmesg | grep -c 'reg_mr: .* not persistent memory') > 0"
else
	skip "refusals are explained to who asks" "no dynamic debug"
fi

secs=${CAIRN_SOAK:+60}
traffic "random messages" -T "${secs:-3}"
CAIRN_DAX='' traffic "emulated" -T "${secs:-2}" -m 4096 -s 60000

# packets that do not leave the device
b_handed=$(b loopback_packets)
run_ok "both ends on one device" in_b env CAIRN_A="$DEV_B" persist_traffic -T "${secs:-2}" -m 4096
expect_that "... which hands them over" "$(b loopback_packets) > $b_handed + 100"

if modprobe sch_netem; then
	acks=$(counter "$DEV_A" persist_acks_received)
	for qdisc in "loss 1%" "loss 5%" "duplicate 5%" "delay 2ms 1ms reorder 75% 50%"; do
		for end in a b; do
			[ $end = a ] && dev=$IF_A || dev=$IF_B
			# shellcheck disable=SC2086
			"in_$end" tc qdisc replace dev "$dev" root netem $qdisc
		done
		traffic "random messages, $qdisc" -T "${secs:-3}" -s 8000
	done
	in_a tc qdisc del dev "$IF_A" root
	in_b tc qdisc del dev "$IF_B" root
	expect_that "persistence acknowledgements came" \
		"$(counter "$DEV_A" persist_acks_received) > $acks"
	expect_that "durability was asked for again" "$(counter "$DEV_A" persist_probes) > 0"
else
	skip "bad networks" "no sch_netem"
fi
