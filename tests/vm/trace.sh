#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# boot: shared
#
# Tracing of a request on its way: the tracepoints, and the parts of its time
# (rdma resource, cairn_top).

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

tracing=/sys/kernel/tracing
[ -e $tracing/events ] || mount -t tracefs tracefs $tracing
[ -e $tracing/events/cairn ] || skip_all "this kernel has no tracing"

# separate buffers: they have no events of other users, and do not disturb those
trace=$tracing/instances/cairn_test
mkdir $trace
# one order for all CPUs
echo mono >$trace/trace_clock
echo 16384 >$trace/buffer_size_kb

# record EVENT...: record only these from now on
record() {
	local event

	echo 0 >$trace/events/enable
	: >$trace/trace
	for event; do
		echo 1 >"$trace/events/cairn/cairn_$event/enable"
	done
}

# write the recorded events into $lib_tmp/trace; none may be lost
read_trace() {
	echo 0 >$trace/events/enable
	cat $trace/trace >"$lib_tmp/trace"
	expect "$1: no event is lost" \
		"$(cat $trace/per_cpu/cpu*/stats | awk '/overrun/ { n += $NF } END { print n }')" 0
}

# Each request is taken, sent, received by the other end, acknowledged and completed.
# Prints how many did all of this in order, and how many began.
ways() {
	awk '
	function word(name,	text) {
		if (!match($0, " " name "=[^ ]*"))
			return ""
		text = substr($0, RSTART + 1, RLENGTH - 1)
		return substr(text, length(name) + 2)
	}
	{ qpn = word("qpn"); psn = word("psn") }
	/ cairn_request: / {
		begun++
		at = qpn " " psn
		wr[at] = word("wr_id")
		way[at] = 1
		place[psn] = place[psn] " " qpn
	}
	/ cairn_send: .* requests / {
		for (k = 0; k < word("packets"); k++) {
			at = qpn " " (psn + k) % 16777216
			if (way[at] == 1)
				way[at] = 2
		}
	}
	# the event of the other end has the number of that end
	/ cairn_received: .* requests / {
		n = split(place[psn], from, " ")
		for (k = 1; k <= n; k++)
			if (from[k] != qpn && way[from[k] " " psn] == 2)
				way[from[k] " " psn] = 3
	}
	/ cairn_received: .* responses ACK / {
		for (at in way) {
			split(at, part, " ")
			if (part[1] == qpn && way[at] == 3 &&
			    (psn - part[2] + 16777216) % 16777216 < 8388608)
				way[at] = 4
		}
	}
	/ cairn_completed: .* send .* status=0 / {
		for (at in way) {
			split(at, part, " ")
			if (part[1] == qpn && way[at] == 4 && wr[at] == word("wr_id")) {
				way[at] = 5
				whole++
				break
			}
		}
	}
	END { print whole + 0, begun + 0 }' "$lib_tmp/trace"
}

record doorbell posted request send received completed
find_gids
pingpong rc 4 -n 20 -s 1000
read_trace "ping-pong"
read -r whole begun < <(ways)
expect "each of 40 messages is traced" "$begun" 40
expect "each is seen taken, sent, received, acknowledged and completed, in this order" "$whole" 40
expect_that "write pointers are seen" "$(grep -c ' cairn_posted: ' "$lib_tmp/trace") > 0"
expect_that "a doorbell rings, for the first message at least" \
	"$(grep -c ' cairn_doorbell: .* send ' "$lib_tmp/trace") > 0"

# The same for a device to itself, where packets are handed over.
record request received completed
run_ok "messages of a device to itself" env CAIRN_A="$DEV_A" CAIRN_B="$DEV_A" \
	nsenter --net=/run/netns/a verbs_verify -n 20
read_trace "a device to itself"
expect_that "requests that are handed over are seen" \
	"$(grep -c ' cairn_received: .* requests .* handed' "$lib_tmp/trace") >= 20"
expect_that "and their answers" \
	"$(grep -c ' cairn_received: .* responses .* handed' "$lib_tmp/trace") > 0"

# sum NAME: the sum of a counter's increments in the events
sum() { awk -v name="$1" '/ cairn_counted: / && $(NF - 1) == name { n += substr($NF, 4) } END { print n + 0 }' "$lib_tmp/trace"; }

if modprobe sch_netem; then
	in_a tc qdisc add dev "$IF_A" root netem loss 5%
	in_b tc qdisc add dev "$IF_B" root netem loss 5%
	again=$(counter_of_both retransmits) acks=$(counter_of_both acks_received)
	record counted send
	run_ok "traffic with loss" in_a verbs_verify -T 2 -t 14 -w 60 -m 4096
	read_trace "loss"
	expect_that "retransmits are traced" "$(grep -c ' cairn_send: .* again$' "$lib_tmp/trace") > 0"
	expect "as many retransmits are traced as counted" "$(sum retransmits)" \
		$(($(counter_of_both retransmits) - again))
	expect "and so are acknowledgements" "$(sum acks_received)" $(($(counter_of_both acks_received) - acks))

	# the answer takes twice that time; sending does not
	in_a tc qdisc replace dev "$IF_A" root netem delay 30ms
	in_b tc qdisc replace dev "$IF_B" root netem delay 30ms
	# latency NAME: the longest time of any queue pair, in ms
	latency() {
		rdma resource show qp link "$DEV_A" -dd | grep -o "drv_$1-ns [0-9]*" |
			awk '{ if ($2 > n) n = $2 } END { print int(n / 1000000) }'
	}
	delayed() { [ "$(latency answer)" -ge 60 ]; }
	start a "$lib_tmp/verify" "exec verbs_verify -T 100000 -t 18 -w 120 -o write"
	traffic=$started
	if wait_for 60 delayed; then
		ok "rdma resource tells how long an answer takes: $(latency answer) ms of 60"
	else
		not_ok "rdma resource tells how long an answer takes"
		rdma resource show qp link "$DEV_A" -dd | sed 's/^/# /'
	fi
	run_ok "cairn_top runs" cairn_top -n 1 -c 1 "$DEV_A"
	expect_that "and shows it" \
		"$(output | awk '$3 == "RC" && $14 >= 60000 { n++ } END { print n + 0 }') > 0"
	stop "$traffic"
	in_a tc qdisc del dev "$IF_A" root
	in_b tc qdisc del dev "$IF_B" root
else
	skip "loss and delay" "no sch_netem"
fi
echo 0 >$trace/events/enable
rmdir $trace

# cairn_explain records for itself
explained() { grep -cE -- "$1" "$lib_tmp/explained"; }
if [ -e /usr/bin/python3 ]; then
	# "ip netns exec" mounts another /sys
	run_ok "a program is explained" in_a sh -c "mount -t tracefs tracefs $tracing &&
		cairn_explain --svg $lib_tmp/svg --save $lib_tmp/saved \
		$DEV_A -- verbs_verify -q 1 -n 20 -o write -s 5000 >$lib_tmp/explained"
	expect_that "requests, packets both ways and completions are in the table" \
		"$(explained ' WRITE 0x') >= 20 && $(explained ' -->') > 0 && $(explained '<-- ') > 0 && \
		$(explained 'send completion') > 0"
	expect "nothing is lost" "$(explained 'lost')" 0
	expect "the drawing is XML with as many arrows" \
		"$(python3 -c 'import sys, xml.etree.ElementTree as tree
print(sum("marker-end" in x.attrib for x in tree.parse(sys.argv[1]).iter()))' "$lib_tmp/svg")" \
		"$(($(explained ' -->') + $(explained '<-- ')))"
	run_ok "a saved trace is explained" \
		sh -c "cairn_explain --read $lib_tmp/saved $(awk 'NR == 1 { print $3 }' "$lib_tmp/explained")"
	expect "in the same way" "$(output)" "$(cat "$lib_tmp/explained")"
	run_fail "without tracing" in_a cairn_explain -s 0.1 "$DEV_A"
	expect_that "the message has the command" "$(output | grep -c 'mount -t tracefs tracefs')"
	run_fail "a queue pair without packets" in_a sh -c "mount -t tracefs tracefs $tracing &&
		cairn_explain -s 0.1 $DEV_A 12345"
	run_fail "no such device" in_a cairn_explain -s 0.1 none0
	# the first packet of a message is lost
	run_ok "a program is captured" in_a sh -c "mount -t tracefs tracefs $tracing &&
		cairn_fault $DEV_A add sent:opcode=WRITE_FIRST,nth=1 &&
		cairn_capture -w $lib_tmp/pcapng $DEV_A -- verbs_verify -q 1 -n 20 -o write -s 5000
		cairn_fault $DEV_A clear"
	captured() { grep -aoE -- "$1" "$lib_tmp/pcapng" | wc -l; }
	expect_that "packets name their work requests, the process and the answers" \
		"$(captured 'work request 0x[0-9a-f]+: WRITE, [0-9]+ bytes') >= 20 && \
		$(captured 'sent by QP [0-9]+ of process [0-9]+ .verbs_verify.') >= 20 && \
		$(captured 'completed after [0-9.]+ [mu]*s: success') >= 20 && $(captured 'for QP [0-9]+') > 0"
	expect_that "retransmissions say so" "$(captured 'sent by QP [^,]*, again') > 0"
	cairn_explain --read "$lib_tmp/pcapng" >"$lib_tmp/explained"
	expect_that "cairn_explain reads them" \
		"$(explained ' WRITE 0x') >= 20 && $(explained 'send completion 0x.* after') > 0 && \
		$(explained 'WRITE .*again.* -->') > 0 && $(explained '<-- ') > 0 && \
		$(explained "QP [0-9]+ .$IF_A., process [0-9]+ .verbs_verify.") == 1"
	# as Wireshark starts and ends it
	mkfifo "$lib_tmp/fifo"
	# its first bytes say that the capture has begun
	rm "$lib_tmp/pcapng"
	start a "$lib_tmp/extcap" "mount -t tracefs tracefs $tracing &&
		exec cairn_capture --extcap-interface $DEV_A --capture --fifo $lib_tmp/fifo"
	extcap=$started
	cat "$lib_tmp/fifo" >"$lib_tmp/pcapng" &
	reader=$!
	wait_for 60 test -s "$lib_tmp/pcapng"
	run_ok "traffic" verbs_verify -q 1 -n 20 -o write -s 5000
	live() { [ "$(captured 'completed after [0-9.]+ [mu]*s: success')" -ge 20 ]; }
	if wait_for 60 live; then ok "Wireshark sees it live"; else not_ok "Wireshark sees it live"; fi
	kill -TERM -- "-$extcap"
	wait_for 60 lib_gone "$extcap"
	wait "$reader" "$extcap"
	expect "no trace instance is left" "$(find $tracing/instances -mindepth 1 -maxdepth 1 | wc -l)" 0
else
	skip "cairn_explain" "no python3"
fi
