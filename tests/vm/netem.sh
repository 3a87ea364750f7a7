#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 720
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# Reliable connections over a bad network, in both directions: every byte arrives
# once, and no queue pair fails.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

modprobe -a sch_netem sch_tbf || skip_all "no sch_netem"

impair() {
	in_a tc qdisc replace dev "$IF_A" root "$@" &&
		in_b tc qdisc replace dev "$IF_B" root "$@"
}

repair() {
	in_a tc qdisc del dev "$IF_A" root
	in_b tc qdisc del dev "$IF_B" root
}

# over NAME SECONDS 'QDISC...' [OPTION]...
over() {
	local name=$1 secs=$2 qdisc=$3

	shift 3
	# shellcheck disable=SC2086
	if ! impair $qdisc; then
		not_ok "$name: tc $qdisc"
		return
	fi
	run_ok "$name" in_a verbs_verify -T "$secs" -t 14 -w 60 "$@" && diag "$(output | tail -n 1)"
	repair
}

before=$(counter_of_both retransmits)
over "1 % loss" 5 "netem loss 1%"
over "5 % loss" 3 "netem loss 5%" -s 8000
over "5 % loss, path MTU 4096, events" 3 "netem loss 5%" -m 4096 -e
expect_that "lost packets were sent again" "$(counter_of_both retransmits) > $before"

# packets behind a gap are kept, so few packets are sent again
before=$(counter_of_both retransmits) sent=$(counter_of_both tx_packets) held=$(counter_of_both rx_held)
over "1 % loss, WRITEs" 5 "netem loss 1%" -o write -d 16
expect_that "packets behind a gap were kept" "$(counter_of_both rx_held) > $held"
expect_that "less than a tenth was sent again" \
	"($(counter_of_both retransmits) - $before) * 10 < $(counter_of_both tx_packets) - $sent"
diag "$(($(counter_of_both retransmits) - before)) of $(($(counter_of_both tx_packets) - sent)) packets," \
	"$(counter_of_both ack_timeouts) ACK timeouts and $(counter_of_both tail_probes) probes so far"

before=$(counter_of_both duplicate_request)
over "5 % duplicates" 3 "netem duplicate 5%"
expect_that "duplicates were seen" "$(counter_of_both duplicate_request) > $before"

before=$(counter_of_both out_of_sequence)
over "packets overtake each other" 3 "netem delay 2ms 1ms reorder 75% 50%"
over "long and jittery" 3 "netem delay 10ms 8ms" -d 16
expect_that "packets out of sequence were seen" "$(counter_of_both out_of_sequence) > $before"

before=$(($(counter_of_both rx_icrc_errors) + $(counter_of_both rx_malformed)))
over "3 % corrupted" 3 "netem corrupt 3%"
expect_that "wrong packets were counted" \
	"$(counter_of_both rx_icrc_errors) + $(counter_of_both rx_malformed) > $before"

over "all of it" 3 "netem delay 1ms 1ms loss 1% duplicate 2% corrupt 1% reorder 50%" -q 2 -s 6000

# a queue that refuses packets causes loss, not an error of the QP
before=$(counter_of_both tx_dropped)
over "a queue of four packets" 3 "netem delay 3ms limit 4" -d 32
expect_that "refused packets were counted" "$(counter_of_both tx_dropped) > $before"
over "a narrow, short queue" 3 "tbf rate 50mbit burst 10kb limit 20kb" -d 16 -s 10000

run_ok "all is well afterwards" in_a verbs_verify -n 100
