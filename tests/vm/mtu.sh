#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 540
# kernels: 6.1 6.12
# once: 6.12
# boot: reload
#
# The netdev's MTU and link state, and traffic while they change.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

active_mtu() {
	ibv_devinfo -d "$1" | sed -n 's/.*active_mtu:[^0-9]*\([0-9]*\).*/\1/p'
}

set_mtu() {
	in_a ip link set "$IF_A" mtu "$1" && in_b ip link set "$IF_B" mtu "$1"
}

mtu_is() { [ "$(active_mtu "$DEV_A")" = "$1" ] && [ "$(active_mtu "$DEV_B")" = "$1" ]; }

# --- MTU ------------------------------------------------------------------

for pair in 4200:4096 2200:2048 1500:1024 9000:4096; do
	set_mtu "${pair%:*}"
	if wait_for 5 mtu_is "${pair#*:}"; then
		ok "netdev MTU ${pair%:*}, active MTU ${pair#*:}"
	else
		not_ok "netdev MTU ${pair%:*}: active MTU $(active_mtu "$DEV_A"), not ${pair#*:}"
	fi
done

set_mtu 1500
run_fail "a path MTU beyond the active one is refused" in_a verbs_verify -n 10 -m 2048 -w 5
run_ok "path MTU 1024 at MTU 1500" in_a verbs_verify -n 50 -m 1024
set_mtu 9000

it_is() { [ $SECONDS -ge "$1" ]; }
traffic_start -T 10 -m 1024
for mtu in 1500 9000 4000 9000 1500 9000; do
	set_mtu $mtu
	wait_for 3 it_is $((SECONDS + 1))
done
traffic_ends "traffic of path MTU 1024 goes on while the MTU changes"

# Packets that do not fit any more are sent again: 8 tries, 2.1 s (2^19 * 4.096 us)
# apart, last longer than a slow emulated machine takes to change the MTU back
traffic_start -T 5 -m 4096 -t 19 -w 60
set_mtu 1500
wait_for 5 mtu_is 1024
set_mtu 9000
traffic_ends "traffic of path MTU 4096 survives a short MTU of 1500"

# --- ICMP messages --------------------------------------------------------

# too_big: b, which cannot know, tells a that packets to b are too big. The stack believes
# such a message if it cites an echo reply.
too_big() {
	in_b /usr/bin/python3 - "$here" "$IP_A" "$IP_B" "$IP6_A" "$IP6_B" <<-'PY'
	import socket, struct, sys
	here, a4, b4, a6, b6 = sys.argv[1:]
	sys.dont_write_bytecode = True
	sys.path.insert(0, here)
	import wire
	cited = struct.pack('>BBHHHBBH4s4sBBHHH', 0x45, 0, 9000, 0, 0x4000, 64, 1, 0,
	                    socket.inet_aton(a4), socket.inet_aton(b4), 0, 0, 0, 1, 1)
	message = struct.pack('>BBHHH', 3, 4, 0, 0, 700) + cited
	message = message[:2] + struct.pack('>H', 0xffff ^ wire.ones_sum(message)) + message[4:]
	socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).sendto(message, (a4, 0))
	cited = struct.pack('>IHBB16s16sBBHHH', 6 << 28, 8960, 58, 64,
	                    socket.inet_pton(socket.AF_INET6, a6),
	                    socket.inet_pton(socket.AF_INET6, b6), 129, 0, 0, 1, 1)
	socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58).sendto(
	    struct.pack('>BBHI', 2, 0, 0, 1280) + cited, (a6, 0))
	PY
}

# route_mtu FAMILY ADDRESS: what the stack of a believes, if it is not the netdev's
route_mtu() { in_a ip "-$1" route get "$2" | sed -n 's/.* mtu \([0-9]*\).*/\1/p'; }

believed() { [ "$(route_mtu 4 "$IP_B")/$(route_mtu 6 "$IP6_B")" = 700/1280 ]; }

too_big
wait_for 5 believed
expect "the stack believes what an ICMP message says of the path MTU" \
	"$(route_mtu 4 "$IP_B")/$(route_mtu 6 "$IP6_B")" 700/1280
for transport in rc uc ud; do
	for family in 4 6; do
		run_ok "path MTU 4096 after it: $transport, IPv$family" in_a verbs_verify -n 30 -c $transport \
			-f $family -m 4096 -w 20
	done
done
in_a ip link set "$IF_A" mtu 4000
wait_for 5 mtu_is 2048
run_ok "path MTU 2048 after it, at a shorter MTU" in_a verbs_verify -n 30 -m 2048 -f 6
set_mtu 9000
in_a ip route flush cache
in_a ip -6 route flush cache

# an MTU of the administrator counts
in_a ip route add "$IP_B/32" dev "$IF_A" mtu 1500
in_a ip -6 route add "$IP6_B/128" dev "$IF_A" mtu 1500
for family in 4 6; do
	before=$(counter "$DEV_A" tx_dropped)
	run_fail "IPv$family: a path MTU beyond that of the route fails" in_a verbs_verify -n 5 \
		-c uc -f $family -m 4096 -s 4000 -w 3
	expect_that "... and its packets are counted" \
		"$(counter "$DEV_A" tx_dropped) > $before"
done
in_a ip route del "$IP_B/32" dev "$IF_A"
in_a ip -6 route del "$IP6_B/128" dev "$IF_A"

# --- link state -----------------------------------------------------------

events=$lib_tmp/events
start a "$events" "stdbuf -oL ibv_asyncwatch -d $DEV_A"
wait_for 20 grep -q 'async event FD' "$events" || lib_show "$events"

for i in "$IF_A:a" "$IF_B:b"; do
	lib_in "${i#*:}" sysctl -qw "net.ipv6.conf.${i%:*}.keep_addr_on_down=1"
done
in_a ip link set "$IF_A" down
wait_for 10 port_is "$DEV_A" DOWN
expect "link down: its port is down" "$(port_state "$DEV_A")" DOWN
wait_for 10 port_is "$DEV_B" DOWN
expect "link down: the peer's port is down" "$(port_state "$DEV_B")" DOWN
expect "ibv_devinfo says so" "$(ibv_devinfo -d "$DEV_A" | grep -c PORT_DOWN)" 1
wait_for 10 grep -qi 'port error\|PORT_ERR' "$events"
expect_that "event: port error" "$(grep -ci 'port error\|PORT_ERR' "$events") >= 1"
in_a ip link set "$IF_A" up
wait_for 10 port_is "$DEV_A" ACTIVE
expect "link up: its port is active" "$(port_state "$DEV_A")" ACTIVE
wait_for 10 port_is "$DEV_B" ACTIVE
expect "link up: the peer's port is active" "$(port_state "$DEV_B")" ACTIVE
wait_for 10 grep -qi 'port active\|PORT_ACTIVE' "$events"
expect_that "event: port active" "$(grep -ci 'port active\|PORT_ACTIVE' "$events") >= 1"
diag "$(cat "$events")"
wait_for 10 gid_index "$DEV_A" "$IP6_A"
run_ok "traffic after that" in_a verbs_verify -n 50
run_ok "... over IPv6" in_a verbs_verify -n 50 -f 6

traffic_start -T 6 -t 19 -w 60
in_a ip link set "$IF_A" down
wait_for 10 port_is "$DEV_B" DOWN
in_a ip link set "$IF_A" up
traffic_ends "traffic survives a short outage"

# a GID comes and goes with its address
in_a ip addr add 10.77.0.77/24 dev "$IF_A"
if wait_for 10 gid_index "$DEV_A" 10.77.0.77; then
	ok "an address gives a GID"
else
	not_ok "an address gives a GID"
fi
in_a ip addr del 10.77.0.77/24 dev "$IF_A"
gone() { ! gid_index "$DEV_A" 10.77.0.77; }
if wait_for 10 gone; then
	ok "the GID goes with the address"
else
	not_ok "the GID goes with the address"
fi
