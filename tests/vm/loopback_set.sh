#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# cpus: 2
# timeout: 900
# kernels: 6.1 6.12
# once: 6.12
# full: 6.12 (6.1: verbs, released memory, durability)
# nvdimm: 256M
#
# The points of other tests hold where both ends are on one device and no packet leaves
# it: verbs, resizes, release of memory, processes that write nonsense into their rings,
# durability, and the copy of written-back memory. Then sixteen processes run at once.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((200 * ${CAIRN_TIMEOUT_SCALE:-1}))
need_devdax
export CAIRN_DAX=/dev/dax0.0

has() { counter "$DEV_A" "$1"; }
one() { nsenter --net=/run/netns/a env CAIRN_A="$DEV_A" CAIRN_B="$DEV_A" "$@"; }
sent=$(has tx_packets) handed=$(has loopback_packets)
stayed() {
	expect "... none of it in the IP stack" $(($(has tx_packets) - sent)) 0
	expect_that "... but handed over" "$(has loopback_packets) > $handed"
	sent=$(has tx_packets) handed=$(has loopback_packets)
}

insmod "$(kmod cairn_delay)" || bail "no probe"
# Replays and forged packets need a wire; these programs do not:
programs=(verbs_basic "release released" "release stuck" flush persist)
! full || programs+=(mw "resize 8" "release flip"
	"security map" "security store" "security keep_mapping" "security doorbell"
	"security scribble" "security every_byte" "security wqe" "security unread"
	"security cq_pointers")
for program in "${programs[@]}"; do
	# shellcheck disable=SC2086
	points one $program
	diag "$program"
done
stayed
rmmod cairn_delay

sixteen() {
	local pids=() pid rc=0

	for _ in {1..16}; do
		one verbs_verify -n 40 -s 20000 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || rc=$?
	done
	return $rc
}
run_ok "sixteen processes compare their data" sixteen
stayed

base=$(cat /sys/bus/dax/devices/dax0.0/resource) || bail "the devdax has no address"
insmod "$(kmod cairn_shadow)" base="$base" size=$((2 << 20)) || bail "no shadow"
run_ok "what was acknowledged survives" one persist_shadow -n 10 -s 1
run_ok "what a FLUSH was answered for survives" one persist_shadow -n 6 -f -s 6
echo 1 >/sys/module/cairn_shadow/parameters/defect
run_fail "... and without write-back that is noticed" one persist_shadow -n 10 -s 1
echo 0 >/sys/module/cairn_shadow/parameters/defect
rmmod cairn_shadow
stayed
