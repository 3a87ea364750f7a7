#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
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
		start a "$lib_tmp/hog" "${*:2} perl -e 1while1"
		hogs+=("$started")
	done
}

hogs_stop() {
	local pid

	for pid in "${hogs[@]}"; do
		stop "$pid"
	done
	hogs=()
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

# load NAME
load() {
	messages "$1" write,read,send 64 300
	messages "$1" write,read,send 65536 100
	messages "$1" write,send 1000000 20
}

load "quiet"
hogs_start $((4 * $(nproc)))
load "four programs for each CPU"
hogs_stop
hogs_start 1 chrt -f 10
load "a program of realtime priority"
hogs_stop
hogs_start $(($(nproc))) nice -n -20
load "programs of high priority"
hogs_stop
