#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 270
# kernels: 6.1 6.12
# boot: shared
#
# The output of the administrator's tools for a device in use.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# shows NAME REGEX CMD...: its output has a matching line
shows() {
	local name=$1 regex=$2 out

	shift 2
	out=$("$@" 2>&1)
	if grep -qE -e "$regex" <<<"$out"; then
		ok "$name"
	else
		not_ok "$name"
		diag "$*: $(head -n 20 <<<"$out")"
	fi
}

shows "rdma dev" "$DEV_A: node_type ca .*node_guid" rdma dev show "$DEV_A"
shows "rdma link" "link $DEV_A/1 state ACTIVE physical_state LINK_UP netdev $IF_A" \
	in_a rdma link show "$DEV_A/1"
expect "the netdev, in the form of rdma_rxe" "$(cat "/sys/class/infiniband/$DEV_A/parent")" $IF_A
shows "ibv_devices" "${DEV_A}[[:space:]]+[0-9a-f]{16}" ibv_devices
shows "ibv_devinfo" "active_mtu:[[:space:]]+4096" ibv_devinfo -v -d "$DEV_A"
shows "ibv_devinfo shows GIDs" "GID.*::ffff:$IP_A, RoCE v2" ibv_devinfo -v -d "$DEV_A"

# shellcheck disable=SC2154
log=$lib_tmp/traffic
start a "$log" "verbs_verify -T 100000 -q 2 -d 4 -p 5"
traffic=$started
wait_for 30 grep -q running "$log" || bail "no traffic"
pid=$(pgrep -n verbs_verify)
shows "rdma resource" "$DEV_A: pd [1-9].* cq [1-9].* qp [1-9].* mr [1-9]" rdma resource show "$DEV_A"
shows "rdma resource show qp" "link $DEV_A/1 lqpn [0-9]+ rqpn [0-9]+ type RC state RTS .*pid $pid comm verbs_verify" \
	rdma resource show qp link "$DEV_A/1" type RC
shows "the GSI QP" "lqpn 1 type GSI state RTS.*comm (\[ib_core\]|ib_core)" \
	rdma resource show qp link "$DEV_A/1" lqpn 1
lqpn=$(rdma resource show qp link "$DEV_A/1" type RC | sed -n '1s/.* lqpn \([0-9]*\) .*/\1/p')
run_ok "a counter of one queue pair" rdma statistic qp bind link "$DEV_A/1" lqpn "$lqpn"
qp_counts() {
	rdma statistic qp show link "$DEV_A/1" | tr '\n' ' ' |
		grep -qiE "cntn 1 .*acks_received [1-9].*lqpn.*\<$lqpn\>"
}
run_ok "it counts" wait_for 20 qp_counts
run_ok "it is released" rdma statistic qp unbind link "$DEV_A/1" cntn 1 lqpn "$lqpn"
expect "no counter is left" "$(rdma statistic qp show link "$DEV_A/1")" ""
run_ok "a counter for each process" rdma statistic qp set link "$DEV_A/1" auto pid on
log2=$lib_tmp/traffic2
start a "$log2" "verbs_verify -T 100000 -p 5"
traffic2=$started
process_counts() {
	rdma statistic qp show link "$DEV_A/1" | tr '\n' ' ' |
		grep -qE "comm verbs_verify .*acks_received [1-9]"
}
run_ok "it counts what a program does" wait_for 30 process_counts
stop "$traffic2"
run_ok "... and no more" rdma statistic qp set link "$DEV_A/1" auto off
shows "rdma resource show cq" "dev $DEV_A .*cqe [0-9]+ .*pid $pid" rdma resource show cq dev "$DEV_A"
shows "rdma resource show mr" "dev $DEV_A .*mrlen [0-9]+ .*pid $pid" rdma resource show mr dev "$DEV_A"
shows "rdma resource show pd" "dev $DEV_A .*pid $pid" rdma resource show pd dev "$DEV_A"
shows "rdma resource show ctx" "dev $DEV_A .*pid $pid" rdma resource show ctx dev "$DEV_A"
for what in qp cq mr; do
	dev=(dev "$DEV_A")
	[ $what != qp ] || dev=(link "$DEV_A/1" type RC)
	shows "driver's details of a $what" "(drv_|[a-z_]+ )" \
		rdma resource show $what "${dev[@]}" -dd
	diag "$(rdma resource show $what "${dev[@]}" -dd | head -n 3)"
done
before=$(counter "$DEV_A" tx_packets)
rises() { [ "$(counter "$DEV_A" tx_packets)" -gt "$before" ]; }
if wait_for 10 rises; then
	ok "the counters move"
else
	not_ok "the counters move"
fi
statistic() {
	shows "rdma statistic" "link $DEV_A/1 .*tx_packets [1-9][0-9]*.* rx_packets [1-9]" \
		rdma statistic show link "$DEV_A/1"
	diag "$(rdma statistic show link "$DEV_A/1")"
	expect_that "rdma statistic as JSON" \
		"$(rdma -j statistic show link "$DEV_A/1" | /usr/bin/python3 -c '
import json, sys
print(json.load(sys.stdin)[0]["tx_packets"])') > 0"
}
# ib_core has one page for its answer; see scripts/check/counters.sh
if [ "${KVER:-}" = uml ]; then
	skip "rdma statistic" "64-bit values are padded here, and the message is too long"
else
	statistic
fi
stop "$traffic"
# Netlink may find objects that are being destroyed. So readers run beside queue pairs,
# CQs, regions and, with a counter for each process, counters that come and go.
read_all() {
	while :; do
		rdma resource show qp -dd
		rdma resource show cq -dd
		rdma resource show mr -dd
		rdma statistic qp show link "$DEV_A/1"
	done
}
come_and_go() {
	local reader rc=0

	rdma statistic qp set link "$DEV_A/1" auto pid on || return
	set -m
	read_all >/dev/null 2>&1 &
	reader=$!
	set +m
	for _ in {1..6}; do
		in_a verbs_verify -n 3 -q 8 || rc=1
	done
	kill -TERM -- -$reader
	wait $reader 2>/dev/null
	rdma statistic qp set link "$DEV_A/1" auto off || rc=1
	return $rc
}
run_ok "objects come and go beside readers of netlink" come_and_go
points details
none_left() { ! rdma resource show qp link "$DEV_A/1" type RC | grep -q lqpn; }
if wait_for 10 none_left; then
	ok "no QP is left of a killed process"
else
	not_ok "no QP is left of a killed process"
	diag "$(rdma resource show qp)"
fi

# A process with little CPU time prepares rings of a queue pair, under its lock. The list does
# not wait for it.
lists_beside_slow_user() {
	local log=$lib_tmp/slow from took rc=0

	start host "$log" "env CAIRN_B=$DEV_A crowd prepare 131072"
	wait_for 60 grep -q ready "$log" || { lib_show "$log"; return 1; }
	echo "$started" >$slow/cgroup.procs || return
	for _ in {1..12}; do
		from=${EPOCHREALTIME/./}
		rdma resource show qp link "$DEV_A/1" >/dev/null || rc=1
		took=$(((${EPOCHREALTIME/./} - from) / 1000))
		echo "took $took"
	done
	kill -0 "$started" || rc=1
	echo max >$slow/cpu.max
	stop "$started"
	return $rc
}
if slow_begin; then
	run_ok "queue pairs are listed beside a process with little CPU time" lists_beside_slow_user
	longest=$(output | sed -n 's/^took //p' | sort -n | tail -n 1)
	diag "at most $longest ms"
	expect_that "... without a wait for it" "${longest:-1000000} < 2000 * ${CAIRN_TIMEOUT_SCALE:-1}"
	slow_end
else
	skip "queue pairs are listed beside a process with little CPU time" "no bandwidth of control groups"
fi
