#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 600
# kernels: 6.1 6.12
# once: 6.12
# boot: own
# icount: yes
#
# UC and UD on a netdev that is slower than the CPU: nothing is lost on the sender's own
# host, queue pairs have room in turn, and those that wait end with their netdev.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

modprobe -a sch_tbf sch_netem || skip_all "no sch_tbf or sch_netem"

# dropped by the qdiscs of the sender's netdev
refused() { in_a tc -s qdisc show dev "$IF_A" | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | sort -n | tail -n 1; }

# over NAME 'QDISC...' [OPTION]...
over() {
	local name=$1 qdisc=$2

	shift 2
	# shellcheck disable=SC2086
	if ! in_a tc qdisc replace dev "$IF_A" root $qdisc; then
		not_ok "$name: tc $qdisc"
		return
	fi
	run_ok "$name" in_a slow_netdev "$@"
	diag "$(output | grep '^# ' | tr -d '#' | tr '\n' ',') dropped $(refused)," \
		"waits $(counter "$DEV_A" room_waits)"
	expect "$name: no packet is dropped at home" "$(refused)" 0
	in_a tc qdisc del dev "$IF_A" root
}

SLOW="tbf rate 4mbit burst 16kb limit 100kb"
MIDDLE="tbf rate 40mbit burst 16kb limit 100kb"
FAST="tbf rate 400mbit burst 64kb limit 400kb"

waits=$(counter "$DEV_A" room_waits)
over "UC SEND, 4 Mbit/s" "$SLOW" -n 64
over "UD SEND, 4 Mbit/s" "$SLOW" -u -n 64
over "UC WRITE, 40 Mbit/s" "$MIDDLE" -w -n 256
over "UD SEND, 40 Mbit/s" "$MIDDLE" -u -n 256
over "UC messages of many packets" "$MIDDLE" -n 16 -s 65536
over "small datagrams" "$MIDDLE" -u -n 1024 -s 256
over "UC SEND, 400 Mbit/s" "$FAST" -n 512
over "UD SEND, 400 Mbit/s" "$FAST" -u -n 512
over "two queue pairs in turn, UC" "$MIDDLE" -q 2 -n 128
over "sixteen in turn, UD" "$MIDDLE" -u -q 16 -n 32
over "a delay" "netem delay 20ms limit 2000" -u -q 2 -n 128
over "others go on when queue pairs end, UC" "$SLOW" -d -q 4 -n 24
over "others go on when queue pairs end, UD" "$SLOW" -u -d -q 4 -n 24
expect_that "queue pairs have waited" "$(counter "$DEV_A" room_waits) > $waits"

# A netem keeps a reference to the socket of packets that do not count any more.
in_a tc qdisc replace dev "$IF_A" root netem delay 40s limit 2000
run_ok "packets that are delayed for long" in_a slow_netdev -l -u -n 8
run_fail "the module cannot be removed while a netem has them" rmmod cairn
in_a tc qdisc del dev "$IF_A" root
run_ok "... and can be when they have gone" wait_for 10 rmmod cairn
modprobe cairn && links_again || bail "no devices"

# ends NAME COMMAND...: queue pairs wait while COMMAND changes the netdev
ends() {
	local name=$1

	shift
	# shellcheck disable=SC2086
	in_a tc qdisc replace dev "$IF_A" root $SLOW
	start a "$lib_tmp/sender" "exec slow_netdev -l -u -q 4 -n 256"
	wait_for 20 grep -q posted "$lib_tmp/sender" || not_ok "$name: nothing is posted"
	in_a "$@"
	expect_exit "$name" 40 "$started" 0
	diag "$(grep '^# ' "$lib_tmp/sender")"
}

ends "the netdev goes down" ip link set "$IF_A" down
in_a ip link set "$IF_A" up
in_a tc qdisc del dev "$IF_A" root
wait_for 20 port_is "$DEV_A" ACTIVE
over "it is up again" "$MIDDLE" -n 64
ends "the device is deleted" rdma link delete "$DEV_A"
in_a tc qdisc del dev "$IF_A" root
in_a rdma link add "$DEV_A" type cairn netdev "$IF_A"
wait_for 20 port_is "$DEV_A" ACTIVE
over "the device is made again" "$MIDDLE" -n 64
ip netns add slow_elsewhere
ends "the netdev moves to another namespace" ip link set "$IF_A" netns slow_elsewhere
ip -n slow_elsewhere link set "$IF_A" netns a
ip netns del slow_elsewhere
in_a ip addr add "$IP_A/24" dev "$IF_A"
in_a ip addr add "$IP6_A/64" dev "$IF_A" nodad
in_a ip link set "$IF_A" up
# packets that waited were freed with their queue
run_ok "the module can be removed" rmmod cairn
modprobe cairn && links_again || bail "no devices"
over "after all that" "$MIDDLE" -n 64

# Packets that stay in the network stack, as a receiver on this host can make them.
in_a tc qdisc replace dev "$IF_A" root tbf rate 1kbit burst 16kb limit 100kb
start a "$lib_tmp/sender" "exec slow_netdev -l -u -q 4 -n 256"
wait_for 20 grep -q posted "$lib_tmp/sender" || not_ok "nothing is posted"
run_ok "packets stay: the link is deleted" in_a timeout 20 rdma link delete "$DEV_A"
expect_exit "... and the sender ends" 40 "$started" 0
run_fail "... and the module stays" timeout 20 rmmod cairn
expect_that "... as rmmod says" "$(output | grep -c 'in use') > 0"
in_a tc qdisc del dev "$IF_A" root
run_ok "... until they have gone" wait_for 20 rmmod cairn
modprobe cairn && links_again || bail "no devices"
