#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 240
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Trains of many queue pairs: a consumer in the kernel posts from its completion
# handlers. Its packets leave together, are right after the stack has cut the trains,
# and survive loss.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

WIRE=${BASH_SOURCE[0]%/*}/wire.py
PAIRS=64

# consumer OP BYTES MSECS [PARAMETER]: sets posted, failures
consumer() {
	local line

	insmod "$(kmod cairn_bench)" a="$DEV_A" b="$DEV_B" op="$1" bytes="$2" pairs=$PAIRS \
		msecs="$3" ${4:+"$4"} && rmmod cairn_bench
	line=$(dmesg | sed -n 's/.*cairn_bench: //p' | tail -n 1)
	diag "$line"
	failures=${line##*failures=}
	posted=${line##*posted=}
	posted=${posted%% *}
}

# together OP BYTES
together() {
	local trains turns reads

	trains=$(counter_of_both tx_trains) turns=$(counter_of_both timer_turns)
	reads=$(counter_of_both qinfo_misses)
	consumer "$1" "$2" 300
	trains=$(($(counter_of_both tx_trains) - trains)) turns=$(($(counter_of_both timer_turns) - turns))
	reads=$(($(counter_of_both qinfo_misses) - reads))
	expect "$1 of $2 bytes, $PAIRS connections" "$failures" 0
	expect_that "... $trains trains for $posted messages and their answers" \
		"posted > $PAIRS && 2 * trains < posted"
	expect "... no reads of queue info, which kernel queues do not have" "$reads" 0
	diag "$turns timer turns"
}

together write 64
together send 64
together read 64
together write 1024
together write 4096

# connections end in the middle of a train; the others go on
lost=$(counter_of_both rx_no_qp)
consumer write 64 200 victims=$((PAIRS / 2))
expect "half of the connections end meanwhile" "$failures" 0
expect_that "... the others go on" "posted > $PAIRS"
diag "$(($(counter_of_both rx_no_qp) - lost)) packets found no queue pair"

# the stack cuts the trains, and the checker sees every packet
ethtools() {
	in_a ethtool -K "$IF_A" tx-udp-segmentation "$1" >/dev/null &&
		in_b ethtool -K "$IF_B" tx-udp-segmentation "$1" >/dev/null
}

value() { sed -n "s/.*$1=\([0-9]*\).*/\1/p" "$lib_tmp/watch"; }

ethtools off || bail "no ethtool"
start b "$lib_tmp/watch" "exec $WIRE watch $IF_B 4096"
watcher=$started
wait_for 20 grep -q ready "$lib_tmp/watch"
consumer write 64 100
expect "trains that are cut" "$failures" 0
kill -TERM -- "-$watcher"
wait_for 20 grep -q packets= "$lib_tmp/watch"
stop "$watcher"
expect_that "... into $(value packets) packets" "$(value packets) > $PAIRS"
expect "... all of them right" "$(value bad)" 0
[ "$(value bad)" = 0 ] || lib_show "$lib_tmp/watch"

# netem loses, duplicates or delays single packets
if modprobe sch_netem; then
	in_a tc qdisc replace dev "$IF_A" root netem loss 1% duplicate 1%
	in_b tc qdisc replace dev "$IF_B" root netem loss 1% delay 1ms reorder 99%
	before=$(counter_of_both retransmits)
	consumer send 64 500
	expect "loss, duplication, reordering" "$failures" 0
	expect_that "... $(($(counter_of_both retransmits) - before)) packets were sent again" \
		"$(counter_of_both retransmits) > before"
	in_a tc qdisc del dev "$IF_A" root
	in_b tc qdisc del dev "$IF_B" root
else
	skip "loss, duplication, reordering" "no sch_netem"
fi
ethtools on
