#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 600
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# A fabric: two devices in two network namespaces hand packets to each other. Rights,
# names, captures, equal addresses in two networks, a device that pretends to have another
# one's address. Changes of the fabric and of a netdev under traffic. A third host that has no
# part in it.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((120 * ${CAIRN_TIMEOUT_SCALE:-1}))

has() { counter "$1" "$2"; }
between() { export CAIRN_A=$1 CAIRN_B=$2; }
mac() { lib_in "$1" cat "/sys/class/net/$2/address"; }

# both GIDs of a peer are resolved from now on, in both directions
resolve() {
	lib_in "$1" ping -q -c 1 -w 30 10.77.0.2 >/dev/null &&
		lib_in "$1" ping -q -c 1 -w 30 fd77::2 >/dev/null
}

sent=0 handed=0
note() {
	sent=$(($(has "$CAIRN_A" tx_packets) + $(has "$CAIRN_B" tx_packets)))
	handed=$(($(has "$CAIRN_A" fabric_packets) + $(has "$CAIRN_B" fabric_packets)))
}

# stack NAME [OPTION]..., fabric NAME [OPTION]...: messages, and the way that they take
stack() {
	note
	run_ok "$1" verbs_verify -n 30 "${@:2}"
	now=$handed
	expect_that "... by the IP stack" "$(has "$CAIRN_A" tx_packets) + $(has "$CAIRN_B" tx_packets) > $sent"
	note
	expect "... and nothing else" "$handed" "$now"
}
fabric() {
	note
	run_ok "$1" verbs_verify -n 30 "${@:2}"
	now=$sent
	expect_that "... by the fabric" \
		"$(has "$CAIRN_A" fabric_packets) + $(has "$CAIRN_B" fabric_packets) > $handed"
	note
	expect "... and nothing else" "$sent" "$now"
}
shows() { expect "$1" "$(cairn_set "$2" | grep -x "$3")" "$3"; }

between "$DEV_A" "$DEV_B"
run_ok "the ends know each other" resolve a

# --- rights and names ------------------------------------------------------------------

as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
chmod 666 /dev/infiniband/uverbs*
run_fail "a user makes no fabric" as_nobody cairn_set "$DEV_A" fabric=one
expect "... for want of rights" "$(output | grep -c 'not permitted')" 1
run_fail "nor does root of a user namespace" as_nobody unshare -Urn cairn_set "$DEV_A" fabric=one
run_fail "a user does not hide packets from captures" as_nobody cairn_set "$DEV_A" capture=keep
for bad in "a b" "a/b" "a-name-of-16-byt" $'a\n' $'\xe9'; do
	run_fail "no name: '$bad'" cairn_set "$DEV_A" fabric="$bad"
done
shows "nothing has changed" "$DEV_A" fabric=
shows "... at all" "$DEV_A" capture=yield

# --- members ---------------------------------------------------------------------------

stack "two devices without a fabric"
run_ok "a fabric is made" cairn_set "$DEV_A" fabric=one
shows "the device says so" "$DEV_A" fabric=one
stack "one device in a fabric"
run_ok "another one" cairn_set "$DEV_B" fabric=two
stack "devices of two fabrics"
run_ok "the other one changes" cairn_set "$DEV_B" fabric=one
fabric "two devices of a fabric"
fabric "... over IPv6, large messages" -f 6 -s 200000 -m 4096
fabric "... datagrams" -c ud -m 2048
fabric "... UC" -c uc
fabric "... with 4 QPs and events" -q 4 -e

# --- captures --------------------------------------------------------------------------

# see NAMESPACE NETDEV: a packet socket counts the packets until it gets a signal
cat >"$lib_tmp/see.py" <<'END'
import signal
import socket
import sys

sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
sock.bind((sys.argv[1], 0))
sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
seen = 0


def end(_signal, _frame):
    print('seen', seen, flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
print('watching', flush=True)
while True:
    if b'\x12\xb7' == sock.recv(65536)[36:38]:
        seen += 1
END
see() {
	start "$1" "$lib_tmp/see" "exec /usr/bin/python3 $lib_tmp/see.py $2"
	wait_for 30 grep -q watching "$lib_tmp/see" || lib_show "$lib_tmp/see"
}
seen() {
	kill -TERM -- "-$started"
	wait "$started" 2>/dev/null
	seen=$(awk '/^seen/ { print $2 }' "$lib_tmp/see")
}
watched=$(($(has "$DEV_A" fabric_watched) + $(has "$DEV_B" fabric_watched)))
see b "$IF_B"
stack "while a packet socket listens at one end"
seen
expect_that "... it saw packets" "${seen:-0} > 0"
expect_that "... which is counted" \
	"$(has "$DEV_A" fabric_watched) + $(has "$DEV_B" fabric_watched) > $watched"
fabric "when it has ended"
cairn_set "$DEV_A" capture=keep >/dev/null && cairn_set "$DEV_B" capture=keep >/dev/null
see a "$IF_A"
fabric "a capture that the administrator lets miss them"
seen
expect "... misses them" "$seen" 0
cairn_set "$DEV_A" capture=yield >/dev/null && cairn_set "$DEV_B" capture=yield >/dev/null
if modprobe -qa sch_ingress cls_matchall act_gact; then
	in_a tc qdisc add dev "$IF_A" clsact
	run_ok "a filter of traffic control" in_a tc filter add dev "$IF_A" ingress matchall action pass
	stack "while it is at one end"
	in_a tc qdisc del dev "$IF_A" clsact
	fabric "when it has gone"
else
	skip "a filter of traffic control" "this kernel has none"
fi

# --- the same addresses in another network ---------------------------------------------

other_network() {
	ip netns add c && ip netns add d || return
	ip link add vc netns c mtu 9000 type veth peer name vd netns d mtu 9000 || return
	lib_in c ip addr add 10.77.0.1/24 dev vc && lib_in d ip addr add 10.77.0.2/24 dev vd || return
	lib_in c ip addr add fd77::1/64 dev vc nodad && lib_in d ip addr add fd77::2/64 dev vd nodad || return
	lib_in c ip link set vc up && lib_in d ip link set vd up || return
	lib_in c rdma link add cairn_c type cairn netdev vc || return
	lib_in d rdma link add cairn_d type cairn netdev vd || return
	wait_for 30 port_is cairn_c ACTIVE && wait_for 30 port_is cairn_d ACTIVE &&
		resolve c && cairn_set cairn_c fabric=one && cairn_set cairn_d fabric=one
}
run_ok "another network with the same addresses" other_network
fabric "the first one, beside it"
elsewhere=$(($(has cairn_c loopback_packets) + $(has cairn_d loopback_packets)))
expect "... the other one got nothing" "$elsewhere" 0
between cairn_c cairn_d
fabric "the other one"

# c pretends: it has the address of a, and says where b is
lib_in c ip neigh replace 10.77.0.2 lladdr "$(mac b "$IF_B")" dev vc nud permanent
between cairn_c "$DEV_B"
note
run_fail "a device with the address of another one reaches no peer" verbs_verify -n 1 -w 5
expect "... by the fabric" "$(has cairn_c fabric_packets)" "$(has cairn_c loopback_packets)"
was=$(has cairn_c fabric_packets)
run_fail "... nor a second time" verbs_verify -n 1 -w 5
expect "... nothing was handed over" "$(has cairn_c fabric_packets)" "$was"

# refused DEVICE WHAT: it sends as a, and nothing is handed over
refused() {
	between "$1" "$DEV_B"
	was=$(has "$1" fabric_packets)
	run_fail "$2 reaches no peer" verbs_verify -n 1 -w 5
	expect "... nothing was handed over" "$(has "$1" fabric_packets)" "$was"
}
# its MAC address, too: the receiver knows that one
own=$(mac c vc)
lib_in c ip link set vc address "$(mac a "$IF_A")"
refused cairn_c "a device that takes the MAC address of another one"
between "$DEV_A" "$DEV_B"
fabric "... and the other one is not disturbed"
# the administrator puts it into the fabric only then
cairn_set cairn_c fabric=one >/dev/null
refused cairn_c "a device with both addresses of another one"
between "$DEV_A" "$DEV_B"
stack "the other one, which cannot be told from it"
lib_in c ip link set vc address "$own"
cairn_set cairn_c fabric=one >/dev/null
fabric "... when it has its own again"

# the same MAC address, too: which one is meant?
lib_in d ip link set vd address "$(mac b "$IF_B")"
cairn_set cairn_d fabric=one >/dev/null
between "$DEV_A" "$DEV_B"
was=$(has "$DEV_A" fabric_packets)
run_ok "two devices that both fit" verbs_verify -n 30
expect "... get nothing by the fabric" "$(has "$DEV_A" fabric_packets)" "$was"
rdma link delete cairn_d
fabric "when one of them has gone"

# --- changes under traffic -------------------------------------------------------------

traffic_start -T 100000 -E -w 60 -q 2
going() { wait_for 60 more_than "$(has "$DEV_A" "$1")" "$DEV_A" "$1"; }
more_than() { [ "$(has "$2" "$3")" -gt "$1" ]; }
run_ok "traffic of a fabric" going fabric_packets
cairn_set "$DEV_B" fabric= >/dev/null
run_ok "... goes on without it" going tx_packets
cairn_set "$DEV_B" fabric=one >/dev/null
run_ok "... and with it" going fabric_packets
# readers of a list of devices may be at this one
often() {
	local _

	for _ in {1..40}; do
		cairn_set "$DEV_B" fabric= fabric=two fabric=one || return
	done
}
run_ok "... while the device changes its fabric" often
run_ok "... and after that" going fabric_packets
see a "$IF_A"
run_ok "... and under a capture" going tx_packets
seen
expect_that "... which sees it" "${seen:-0} > 0"
run_ok "... and after it" going fabric_packets
rdma link delete "$DEV_B"
traffic_ends "a device of the fabric is deleted under traffic"
device_gone() { [ ! -e "/sys/class/infiniband/$DEV_B" ]; }
run_ok "... and is removed" wait_for 30 device_gone

rdma link delete cairn_c
ip netns del c
ip netns del d

# again: b has its device again, in the fabric
again() {
	in_b rdma link add "$DEV_B" type cairn netdev "$IF_B" && wait_for 20 port_is "$DEV_B" ACTIVE &&
		resolve a && cairn_set "$DEV_A" fabric=one && cairn_set "$DEV_B" fabric=one
}
run_ok "the device is made again" again

# addresses: those that b loses when its netdev is down or moved
addresses() {
	in_b ip addr replace 10.77.0.2/24 dev "$1" && in_b ip addr replace fd77::2/64 dev "$1" nodad
}

# back: its port is active, and a finds it
back() { wait_for 20 port_is "$DEV_B" ACTIVE && in_a ip neigh flush all && resolve a; }

# A connection may or may not survive what comes now.
traffic_start -T 100000 -E -w 60 -q 2
run_ok "traffic of a fabric, again" going fabric_packets
renamed() {
	in_b ip link set "$1" down && in_b ip link set "$1" name "$2" && in_b ip link set "$2" up &&
		addresses "$2" && back
}
run_ok "the netdev goes down and gets another name" renamed "$IF_B" other
fabric "... and has its part in the fabric"
run_ok "... and its name again" renamed other "$IF_B"
own=$(mac b "$IF_B")
run_ok "it gets another MAC address" in_b ip link set "$IF_B" address 02:00:00:77:77:77
run_ok "... and is found" back
stack "... the fabric does not know"
cairn_set "$DEV_B" fabric=one >/dev/null
fabric "... until it is set again"
in_b ip link set "$IF_B" address "$own" && back && cairn_set "$DEV_B" fabric=one >/dev/null
fabric "its own address again"

moved_away() {
	ip netns add c && in_b ip link set "$IF_B" netns c && wait_for 30 device_gone
}
run_ok "it moves to another namespace, and its device ends" moved_away
traffic_ends "... and the traffic"
home_again() {
	lib_in c ip link set "$IF_B" netns b && in_b ip link set "$IF_B" up && addresses "$IF_B" &&
		ip netns del c && again
}
run_ok "it comes back" home_again
fabric "... into the fabric"

# --- a third host -------------------------------------------------------------------------

three_hosts() {
	local i

	ip netns add sw && lib_in sw ip link add br0 type bridge && lib_in sw ip link set br0 up || return
	for i in 1 2 3; do
		ip netns add "h$i" &&
			ip link add "t$i" netns "h$i" mtu 9000 type veth peer name "p$i" netns sw mtu 9000 &&
			lib_in sw ip link set "p$i" master br0 up && lib_in "h$i" ip link set "t$i" up &&
			lib_in "h$i" ip addr add "10.77.0.$i/24" dev "t$i" &&
			lib_in "h$i" ip addr add "fd77::$i/64" dev "t$i" nodad &&
			lib_in "h$i" rdma link add "cairn_h$i" type cairn netdev "t$i" &&
			wait_for 30 port_is "cairn_h$i" ACTIVE || return
	done
	resolve h1 && resolve h3 && cairn_set cairn_h1 fabric=pods && cairn_set cairn_h2 fabric=pods
}
if modprobe -q bridge; then
	run_ok "three hosts at a bridge, of which two share a fabric" three_hosts
	between cairn_h1 cairn_h2
	fabric "the two"
	between cairn_h3 cairn_h2
	stack "the third one with one of them"
	traffic_start -T 100000 -E -w 60 -q 2
	between cairn_h1 cairn_h2
	was=$(has cairn_h3 tx_packets) sent=$(has cairn_h1 tx_packets)
	run_ok "the two, while the third one sends" verbs_verify -n 30
	expect "... not by the IP stack" "$(has cairn_h1 tx_packets)" "$sent"
	run_ok "... the third one by the stack" wait_for 60 more_than "$was" cairn_h3 tx_packets
	expect "... and not by the fabric" "$(has cairn_h3 fabric_packets)" 0
	for i in 1 2 3; do
		rdma link delete "cairn_h$i"
	done
	traffic_ends "its traffic ends with its device"
	for i in sw h1 h2 h3; do
		ip netns del "$i"
	done
else
	skip "a third host" "this kernel has no bridge"
fi
cairn_set "$DEV_A" fabric= >/dev/null
cairn_set "$DEV_B" fabric= >/dev/null
