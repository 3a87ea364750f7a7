#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# cpus: 2
# timeout: 300
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Connections over a path that loses nothing, on a machine whose CPUs are busy with other
# programs. Packets and answers are late then, and none is sent again.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

AGAIN="retransmits tail_probes ack_timeouts persist_probes duplicate_request out_of_sequence tx_dropped rx_overflow"
hogs=()

# again: what has been sent again so far, as words NAME=NUMBER, without those that are 0
again() {
	local name count

	for name in $AGAIN; do
		count=$(counter_of_both "$name")
		[ "$count" = 0 ] || echo -n "$name=$count "
	done
}

# hogs_start COUNT [WORD]...: programs that never sleep
hogs_start() {
	local i

	for ((i = 0; i < $1; i++)); do
		start a "$lib_tmp/hog$i" "${*:2} perl -e 1while+1"
		hogs+=("$started")
	done
}

# ticks PID: CPU time that it has used
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null || echo 0; }

hogs_stop() {
	local pid idle=0

	for pid in "${hogs[@]}"; do
		[ "$(ticks "$pid")" -gt 0 ] || idle=$((idle + 1))
		stop "$pid"
	done
	hogs=()
	expect "... all programs took CPU time" "$idle" 0
}

# messages NAME OPERATIONS MAX_BYTES NUMBER
messages() {
	local before

	before=$(again)
	run_ok "$1: $2, up to $3 bytes" \
		in_a verbs_verify -o "$2" -s "$3" -d 4 -n "$4" -t 18 -w 60 -e &&
		diag "$(output | tail -n 1)"
	expect "... and nothing is sent again" "$(again)" "$before"
}

# load NAME TIMES
load() {
	messages "$1" write,read,send 64 $((20 * $2))
	messages "$1" write,read,send 65536 $((10 * $2))
	messages "$1" write,send 1000000 $((2 * $2))
}

load "quiet" 10
hogs_start $((4 * $(nproc)))
load "four programs for each CPU" 3
hogs_stop
hogs_start 1 chrt -f 10
load "a program of realtime priority" 3
hogs_stop
