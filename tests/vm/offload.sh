#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 540
# kernels: 6.1 6.12
# full: 6.12 (6.1: no bridge, no tap, no mirror, no rules)
# boot: shared
#
# Trains over netdevs of all kinds: every packet on the wire is right, no matter which
# layer segments it. Then trains with mirrors and filter rules.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

WIRE=${BASH_SOURCE[0]%/*}/wire.py
PMTU=1024
modprobe -a tun bridge || skip_all "no tun or bridge"
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad

# --- wires between va in namespace a and vb in namespace b -------------------

wire_veth() {
	ip link add va netns a type veth peer name vb netns b
}

# the stack segments before the driver gets the packets
wire_veth_plain() {
	wire_veth && in_a ethtool -K va tx-udp-segmentation off &&
		in_b ethtool -K vb tx-udp-segmentation off
}

# ... and the receiving one puts them together again; veth asks for no TSO
wire_gro() {
	local gro="gro on rx-udp-gro-forwarding on tso off gso off"

	# shellcheck disable=SC2086
	wire_veth_plain && in_a ethtool -K va $gro && in_b ethtool -K vb $gro
}

wire_bridge() {
	ip link add br0 mtu 9000 type bridge && ip link set br0 up &&
		ip link add va netns a type veth peer name pa &&
		ip link add vb netns b type veth peer name pb &&
		ip link set pa mtu 9000 master br0 up &&
		ip link set pb mtu 9000 master br0 up
}

# Two more hosts between them, in namespace r. A wire of taps leads to the first, which has
# single packets; the second makes trains of them and forwards those.
wire_forward() {
	local dev

	ip netns add r
	start - "$lib_tmp/tap" "exec $WIRE tap a va r pa $PMTU"
	tap=$started
	wait_for 20 grep -q ready "$lib_tmp/tap" || return
	lib_in r ip link add qa type veth peer name qb &&
		lib_in r ip link add pb type veth peer name vb netns b &&
		lib_in r ip link add br0 mtu 9000 type bridge &&
		lib_in r ip link add br1 mtu 9000 type bridge &&
		lib_in r ethtool -K qa tso off gso off &&
		lib_in r ethtool -K qb gro on rx-udp-gro-forwarding on &&
		# the tap's packets come one by one: wait 1 ms for others
		ip netns exec r sh -c "echo 1000000 >/sys/class/net/qb/gro_flush_timeout" || return
	for dev in pa:br0 qa:br0 qb:br1 pb:br1; do
		lib_in r ip link set "${dev%:*}" mtu 9000 master "${dev#*:}" up || return
	done
	lib_in r ip link set br0 up && lib_in r ip link set br1 up
}

wire_tap() {
	start - "$lib_tmp/tap" "exec $WIRE tap a va b vb $PMTU"
	tap=$started
	wait_for 20 grep -q ready "$lib_tmp/tap"
}

end_up() {
	lib_in "$1" sh -ec "
		echo 0 >/proc/sys/net/ipv6/conf/$2/accept_dad
		ip link set lo up
		ip link set $2 mtu 9000 up
		ip addr add $3/24 dev $2
		ip addr add $4/64 dev $2 nodad"
}

devices_up() {
	in_a rdma link add "$DEV_A" type cairn netdev va &&
		in_b rdma link add "$DEV_B" type cairn netdev vb &&
		wait_for 20 port_is "$DEV_A" ACTIVE && wait_for 20 port_is "$DEV_B" ACTIVE &&
		wait_for 20 gid_index "$DEV_A" $IP6_A && wait_for 20 gid_index "$DEV_B" $IP6_B
}

connect() {
	ip netns add a && ip netns add b && "wire_$1" &&
		end_up a va $IP_A $IP6_A && end_up b vb $IP_B $IP6_B && devices_up
}

disconnect() {
	rdma link del "$DEV_A"
	rdma link del "$DEV_B"
	[ -z "${tap:-}" ] || stop "$tap"
	tap=
	in_a ip link del va 2>/dev/null
	in_b ip link del vb 2>/dev/null
	ip link del br0 2>/dev/null
	ip netns del r 2>/dev/null
	ip netns del a
	ip netns del b
}

# --- watching ---------------------------------------------------------------

# watch_on a|b INTERFACE
watch_on() {
	start "$1" "$lib_tmp/watch" "exec $WIRE watch $2 $PMTU"
	watcher=$started
	wait_for 20 grep -q ready "$lib_tmp/watch"
}

# told LOG PID: ask the watcher to report, and wait until it has
told() {
	kill -TERM -- "-$2"
	wait_for 20 grep -q packets= "$1"
	stop "$2"
}

value() { sed -n "s/.*$2=\([0-9]*\).*/\1/p" "$1"; }

# all_right NAME LOG MINIMUM
all_right() {
	expect_that "$1: $(value "$2" packets) packets, $(value "$2" trains) trains" \
		"$(value "$2" packets) >= $3"
	expect "$1: all of them right" "$(value "$2" bad)" 0
	[ "$(value "$2" bad)" = 0 ] || lib_show "$2"
}

traffic() {
	local before

	ahead=$(counter "$DEV_B" out_of_sequence)
	before=$(counter "$DEV_B" rx_trains)
	run_ok "$1: IPv4" in_a verbs_verify -n 30 -m $PMTU -s 20000 -d 4
	trains4=$(($(counter "$DEV_B" rx_trains) - before))
	run_ok "$1: IPv6" in_a verbs_verify -n 30 -m $PMTU -s 20000 -d 4 -f 6
	trains6=$(($(counter "$DEV_B" rx_trains) - before - trains4))
	ahead=$(($(counter "$DEV_B" out_of_sequence) - ahead))
}

# over NAME WIRE
over() {
	if ! connect "$2"; then
		not_ok "$1: no wire"
		disconnect
		return
	fi
	if [ "$2" = tap ]; then
		traffic "$1"
		told "$lib_tmp/tap" "$tap"
		tap=
		all_right "$1" "$lib_tmp/tap" 300
	else
		watch_on b vb
		traffic "$1"
		wrong=$(counter "$DEV_B" rx_icrc_errors)
		told "$lib_tmp/watch" "$watcher"
		all_right "$1" "$lib_tmp/watch" 300
	fi
	disconnect
}

over "veth without segmentation" veth_plain
expect "... so there are no trains" "$(value "$lib_tmp/watch" trains)" 0
expect "... nor are any received" "$trains4 $trains6" "0 0"
over "receive offload" gro
expect_that "... which made trains: $trains4 of IPv4, $trains6 of IPv6" \
	"trains4 > 0 && trains6 > 0"
expect "... all of them right" "$wrong" 0
expect "... and no packet overtook another" "$ahead" 0
full || exit 0
over "bridge" bridge
expect_that "... which trains pass whole" "$(value "$lib_tmp/watch" trains) > 0"
over "tap" tap

# Damage on the first wire, with a corrected UDP checksum: the ICRC must reveal it, also in
# packets that another part of this host put together.
modprobe -a act_pedit act_csum cls_u32 sch_ingress
if connect forward && lib_in r tc qdisc add dev pa clsact; then
	traffic "forwarded trains"
	expect_that "... which were made on the way: $trains4 of IPv4" "trains4 > 0"
	expect "... all of them right" "$(counter "$DEV_B" rx_icrc_errors)" 0
	# a byte of the content of some WRITE MIDDLE packets, by PSN: most are in trains
	lib_in r tc filter add dev pa ingress protocol ip u32 \
		match ip protocol 17 0xff match u8 0x07 0xff at 28 match u8 0 0x07 at 39 \
		action pedit munge offset 128 u8 invert pipe csum udp
	run_fail "damaged ones do not arrive" in_a verbs_verify -n 300 -m $PMTU -s 20000 -d 4 -t 12
	expect_that "... and are counted" "$(counter "$DEV_B" rx_icrc_errors) > 0"
	expect "... none was believed" "$(output | grep -cE '(remote|local) data')" 0
else
	not_ok "forwarded trains: no wire"
fi
disconnect

# --- a mirror, and rules ----------------------------------------------------

connect veth || bail "no wire"
modprobe -a act_mirred cls_matchall sch_ingress
if in_a sh -ec "
	ip link add m0 type veth peer name m1
	ethtool -K m0 tx-udp-segmentation off
	ip link set m0 mtu 9000 up; ip link set m1 mtu 9000 up
	tc qdisc add dev va clsact
	tc filter add dev va egress matchall action mirred egress mirror dev m0
	tc filter add dev va ingress matchall action mirred egress mirror dev m0"; then
	watch_on a m1
	traffic "a mirror"
	told "$lib_tmp/watch" "$watcher"
	all_right "packets of the mirror" "$lib_tmp/watch" 300
	expect "... packet by packet" "$(value "$lib_tmp/watch" trains)" 0
else
	not_ok "a mirror"
fi
in_a tc qdisc del dev va clsact
in_a ip link del m0

# rule a|b HOOK VERDICT
rule() {
	lib_in "$1" nft -f - <<-END
	table inet cairn {
		chain c {
			type filter hook $2 priority 0;
			udp dport 4791 counter $3
		}
	}
	END
}

no_rule() { lib_in "$1" nft delete table inet cairn; }

rule_packets() {
	lib_in "$1" nft list table inet cairn | sed -n 's/.*counter packets \([0-9]*\).*/\1/p'
}

counted() { [ "$(rule_packets "$1")" -gt "$2" ]; }

# stops NAME a|b HOOK: no packet passes while the rule is there, all do afterwards
stops() {
	local before after packets

	start a "$lib_tmp/traffic" "verbs_verify -T 3 -m $PMTU -s 20000 -t 17 -w 60 -f $4"
	if ! wait_for 30 grep -q running "$lib_tmp/traffic" || ! rule "$2" "$3" drop; then
		not_ok "$1"
		lib_show "$lib_tmp/traffic"
		return
	fi
	wait_for 20 counted "$2" 3
	packets=$(rule_packets "$2")
	# packets sent before the rule have arrived by the third packet
	before=$(counter "$DEV_B" rx_packets)
	wait_for 20 counted "$2" $((packets + 2))
	after=$(counter "$DEV_B" rx_packets)
	expect "$1: no packet passes" "$after" "$before"
	no_rule "$2"
	if lib_wait $((90 * ${CAIRN_TIMEOUT_SCALE:-1})) "$started"; then
		ok "$1: afterwards all goes on"
	else
		not_ok "$1: afterwards all goes on"
		lib_show "$lib_tmp/traffic"
	fi
	stop "$started"
}

if rule b input accept; then
	traffic "a rule that accepts"
	expect_that "... sees the packets" "$(rule_packets b) > 50"
	no_rule b
	stops "input rule" b input 4
	before=$(counter "$DEV_A" tx_dropped)
	stops "output rule" a output 6
	expect_that "... and the device counts them" "$(counter "$DEV_A" tx_dropped) > $before"
else
	skip "rules" "no nftables"
fi
disconnect
