#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# once: 6.1
# boot: own
# icount: yes
#
# Congestion control behind a queue that marks: tbf with red on the sender's
# netdev. Other packets bypass red, which would drop packets that it cannot mark.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

modprobe -a sch_prio cls_u32 sch_tbf sch_red || skip_all "no sch_prio, cls_u32, sch_tbf or sch_red"

points dcqcn check

bottleneck() {
	in_a tc qdisc replace dev "$IF_A" root handle 1: prio bands 2 \
		priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 &&
		in_a tc filter add dev "$IF_A" parent 1: protocol ip u32 \
			match ip protocol 17 0xff match ip dport 4791 0xffff flowid 1:2 &&
		in_a tc qdisc replace dev "$IF_A" parent 1:2 handle 2: tbf rate 4mbit \
			burst 10kb limit 1mb &&
		in_a tc qdisc replace dev "$IF_A" parent 2:1 handle 10: red limit 400000 \
			min 6000 max 30000 avpkt 1000 burst 8 bandwidth 4mbit \
			probability 0.2 ecn
}

# packets that red and tbf refused, of the whole tree
refused() { in_a tc -s qdisc show dev "$IF_A" | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | sort -n | tail -n 1; }
value() { output | sed -n "s/^# $1 //p"; }

# the sampled backlogs of tbf (with all below it), in bytes
in_bytes() {
	awk '/^qdisc/ { tbf = $2 == "tbf" }
		tbf && / backlog / {
			b = $2; n = b + 0
			if (b ~ /Kb$/) n *= 1024
			if (b ~ /Mb$/) n *= 1048576
			print n
		}'
}

# flows NAME [OPTION]...: through a new bottleneck; leaves $lost
# and the median of the queue, $backlog
flows() {
	local name=$1

	shift
	if ! bottleneck; then
		not_ok "$name: no bottleneck"
		return
	fi
	start a "$lib_tmp/watch" "while tc -s qdisc show dev $IF_A; do sleep 0.1; done"
	watch=$started
	run_ok "$name" in_a dcqcn "$@"
	stop "$watch"
	in_bytes <"$lib_tmp/watch" >"$lib_tmp/backlog"
	lost=$(refused)
	diag "$(output | grep -E '^# (messages|jain|alone)' | tr -d '#' | tr '\n' ',') lost $lost"
	backlog=$(sort -n "$lib_tmp/backlog" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
	diag "median backlog of $(wc -l <"$lib_tmp/backlog") looks: $backlog bytes"
	in_a tc qdisc del dev "$IF_A" root
}

flows "uncontrolled" -n 4 -T 1
expect_that "the queue overflows" "${lost:-0} > 0"

before=$(counter "$DEV_B" ce_received)
cnps=$(counter "$DEV_A" cnps_received)
flows "controlled" -c -n 4 -T 2
expect "nothing is lost" "$lost" 0
expect_that "packets were marked" "$(counter "$DEV_B" ce_received) > $before"
expect_that "notifications arrived" "$(counter "$DEV_A" cnps_received) > $cnps"

flows "two flows, one ends" -c -e -n 2 -T 4
expect "nothing is lost either" "$lost" 0
expect_that "the queue is short" "${backlog:-0} < 60000"
expect_that "they share" "$(value jain) > 90"
# half of the rate would be its old share
expect_that "the other gets the rest" "$(value alone) * 10 > $(value messages) * 6"

flows "sixteen flows" -c -n 16 -T "$([ -n "${CAIRN_SOAK:-}" ] && echo 60 || echo 8)"
expect "nothing of sixteen is lost" "$lost" 0
expect_that "sixteen share" "$(value jain) > 90"

# the form of a CNP, as another implementation reads it
start b "$lib_tmp/cnp" "exec timeout 60 tcpdump -i $IF_B -w $lib_tmp/cnp.pcap --immediate-mode -U udp port 4791"
dump=$started
wait_for 20 grep -q "listening on" "$lib_tmp/cnp" || not_ok "tcpdump does not listen"
# the tap of a veth sees trains, of which a CNP may be the first packet
for i in "a:$IF_A" "b:$IF_B"; do
	lib_in "${i%:*}" ethtool -K "${i#*:}" tx-udp-segmentation off
done
flows "for a capture" -c -n 2 -T 1
stop "$dump"
for i in "a:$IF_A" "b:$IF_B"; do
	lib_in "${i%:*}" ethtool -K "${i#*:}" tx-udp-segmentation on
done
# one run: the program takes long to start
tshark -r "$lib_tmp/cnp.pcap" -Y 'infiniband.bth.opcode == 0x81 || ip.dsfield.ecn == 3' \
	-T fields -E separator=' ' -e infiniband.bth.opcode -e infiniband.bth.psn \
	-e infiniband.bth.m -e udp.length -e ip.dsfield.ecn -e udp.payload \
	2>/dev/null >"$lib_tmp/fields"
grep '^129 ' "$lib_tmp/fields" >"$lib_tmp/cnps"
expect "CNPs: opcode, PSN, MigReq, length, not ECN-capable" \
	"$(cut -d' ' -f1-5 "$lib_tmp/cnps" | sort -u)" "129 0 0 40 0"
# BECN is the second bit of the byte before the QP number; 16 bytes of zeros
odd=$(cut -d' ' -f6 "$lib_tmp/cnps" | grep -Evc '^8100ffff40[0-9a-f]{6}0{8}0{32}[0-9a-f]{8}$')
expect "CNPs: BECN and reserved bytes" "$odd" 0
marked=$(awk '$1 != 129 && $5 == 3' "$lib_tmp/fields" | wc -l)
expect_that "marks are on data packets" "$marked > 0"
