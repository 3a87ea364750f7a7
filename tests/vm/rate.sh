#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Rate limits of queue pairs, as the application and the receiver see them.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

CAPTURE=${BASH_SOURCE[0]%/*}/capture.py
PACKET=1040	# path MTU 1024, BTH and ICRC

points rate

# --- measured at the receiver -------------------------------------------------

# A time stamp may be late, the first one too: a busy host stops the guest.
STAMP_MS=50

value() { sed -n "s/.*$1=\([0-9]*\).*/\1/p" "$lib_tmp/capture"; }

# watched a|b INTERFACE SOURCE KBPS BURST 'OPTIONS OF rate': its points begin with $name
watched() {
	start "$1" "$lib_tmp/capture" "exec $CAPTURE rate $2 $3 $4"
	watcher=$started
	wait_for 20 grep -q ready "$lib_tmp/capture"
	# shellcheck disable=SC2086
	run_ok "$name: contents" in_a rate -r "$4" -b "$5" $6
	kill -TERM -- "-$watcher"
	wait_for 20 grep -q packets= "$lib_tmp/capture"
	stop "$watcher"
	diag "$(output | grep '^# messages' | tr -d '#');" "$(tail -n 1 "$lib_tmp/capture")"
	expect "$name: all was seen" "$(value missed)" 0
}

# Over any time, from the first packet on and over all of it. The limit
# promises at most a burst and a half above the rate. A turn that stalls after it has
# looked at the clock sends late, the next one does not: that is one more.
# $2 kbit/s, $3 burst, $4 packets at least
never_above() {
	local free=$((5 * $3 / 2)) bytes ms

	bytes=$(value bytes) ms=$(value ms)
	expect_that "$1: $(value packets) packets" "$(value packets) >= $4"
	expect_that "$1: no window of time holds too much" \
		"$(value excess) <= free + STAMP_MS * $2 / 8"
	expect_that "$1: nor does the time from the first packet" \
		"$(value surplus) <= free + STAMP_MS * $2 / 8"
	expect_that "$1: the mean is the limit at most" \
		"(bytes - free) * 8 * 100 <= (ms + STAMP_MS) * $2 * 101"
}

uninterrupted() {
	expect "$1: opcodes and PSNs as if uninterrupted" "$(value disorder)" 0
}

# limited NAME KBPS BURST 'OPTIONS' PACKETS
limited() {
	local name=$1

	watched b "$IF_B" $IP_A "$2" "$3" "$4"
	never_above "$name" "$2" "$3" "$5"
	uninterrupted "$name"
}

# packet by packet
in_a ethtool -K "$IF_A" tx-udp-segmentation off
in_b ethtool -K "$IF_B" tx-udp-segmentation off

# 10240 packets a second, 1024 bursts of ten
limited "10240 packets/s" 85197 $((10 * PACKET)) "-s 524288 -n 10" 5120
expect "no packet was sent twice" "$(value repeats)" 0
limited "1 Mbit/s" 1000 $((2 * PACKET)) "-s 250000" 245
limited "16 Mbit/s" 16000 $((4 * PACKET)) "-s 400000 -n 4 -o send" 1564

name="READ responses"
watched a "$IF_A" $IP_B 16000 $((4 * PACKET)) "-s 400000 -n 2 -o read"
never_above "$name" 16000 $((4 * PACKET)) 782
uninterrupted "$name"

# A packet is lost after it has been captured, so all sent packets count.
# lossy NAME ONE-IN KBPS BURST 'OPTIONS' PACKETS
lossy() {
	if ! in_b tc qdisc add dev "$IF_B" clsact ||
		! in_b tc filter add dev "$IF_B" ingress matchall \
			action ok random netrand drop "$2"; then
		in_b tc qdisc del dev "$IF_B" clsact
		case ${KVER:-} in
		rt | uml) skip "$1" "this kernel loses no packets at random" ;;
		*) not_ok "$1: no loss" ;;
		esac
		return
	fi
	limited "$1" "$3" "$4" "$5" "$6"
	expect_that "$1: $(value repeats) packets were sent again" "$(value repeats) > 0"
	in_b tc qdisc del dev "$IF_B" clsact
}

if modprobe -a act_gact cls_matchall sch_ingress; then
	lossy "1 % loss" 100 85197 $((10 * PACKET)) "-s 524288 -n 4" 2060
	# so much loss that the rate shows whether retransmitted packets are counted
	lossy "5 % loss" 20 2000 $((4 * PACKET)) "-s 400000" 400
else
	skip "loss" "no act_gact"
fi

in_a ethtool -K "$IF_A" tx-udp-segmentation on
in_b ethtool -K "$IF_B" tx-udp-segmentation on

# a train is a part of a burst
name="trains"
watched b "$IF_B" $IP_A 85197 $((10 * PACKET)) "-s 524288"
expect_that "$name: not longer than a burst" "$(value longest) <= 10 * PACKET"
expect_that "... yet there are some" "$(value longest) > 2 * PACKET"

# --- the tracepoint -------------------------------------------------------------

TRACING=/sys/kernel/tracing
EVENT=$TRACING/events/cairn/cairn_rate_turn/enable
if [ -e "$EVENT" ]; then
	echo >"$TRACING/trace"
	echo 1 >"$EVENT"
	run_ok "traced" in_a rate -r 5000 -b $((4 * PACKET)) -s 100000
	echo 0 >"$EVENT"
	qpn=$(output | sed -n 's/^# limited QP //p')
	grep "cairn_rate_turn: .* qpn=$qpn requests kbps=5000 " "$TRACING/trace" >"$lib_tmp/turns"
	echo >"$TRACING/trace"
	turns=$(wc -l <"$lib_tmp/turns")
	# 98 packets, four for a turn
	expect_that "turns of QP $qpn: $turns" "turns >= 98 / 4"
	expect "... of a burst at most" "$(grep -vc ' packets=[0-4] ' "$lib_tmp/turns")" 0
	expect_that "... which wait for the next" \
		"$(grep -vc ' wait=0$' "$lib_tmp/turns") >= 98 / 4"
else
	not_ok "no tracepoint"
fi
