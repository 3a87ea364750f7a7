#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 240
# kernels: 6.1 6.12
# once: 6.12
# icount: yes
#
# What a message and a connection take when there are many: by the driver's counters,
# and by the number of instructions, which is the time here.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

FEW=16 MANY=1024

# both NAME: the counter's sum over the two devices
both() { echo $(($(counter "$DEV_A" "$1") + $(counter "$DEV_B" "$1"))); }

# word NAME: of the consumer's line
word() {
	local rest=${line##*"$1"=}

	echo "${rest%% *}"
}

# consumer PAIRS MSECS: WRITEs of 64 bytes
consumer() {
	counted=()
	for name in tx_trains timer_turns lane_turns acks_sent; do
		counted+=("$(both $name)")
	done
	insmod "$(kmod cairn_bench)" a="$DEV_A" b="$DEV_B" pairs="$1" msecs="$2" &&
		rmmod cairn_bench
	line=$(dmesg | sed -n 's/.*cairn_bench: //p' | tail -n 1)
	diag "$1 connections: $line"
	posted=$(word posted)
	trains=$(($(both tx_trains) - counted[0]))
	timers=$(($(both timer_turns) - counted[1]))
	diag "for $posted messages: $trains trains, $timers timer turns," \
		"$(($(both lane_turns) - counted[2])) lane turns," \
		"$(($(both acks_sent) - counted[3])) ACKs"
	expect "$1 connections" "$(word failures)" 0
}

consumer $FEW 50
few=$(word msgs_s)
consumer $MANY 100
expect_that "each of them sends" "posted > MANY"
expect_that "trains: one for ten messages at most" "10 * trains < posted"
expect_that "timers run the engine for one message in a hundred at most" "100 * timers <= posted"
expect_that "with $MANY connections a message takes at most twice as much as with $FEW" \
	"2 * $(word msgs_s) > $few"
expect_that "the last connections are made as fast as the first" \
	"2 * $(word setup_last) < 3 * $(word setup_first)"
bytes=$(($(word qp_bytes) - 4096))
diag "a queue pair takes $bytes bytes beyond the page of its ring"
expect_that "a queue pair that is idle takes 4 KiB at most" "bytes <= 4096"
