#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 360
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# A queue pair receives packets of its own network only, and only if the host's IPsec
# policy admits them.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

# inject INTERFACE QPN [SOURCE DESTINATION]: send a SEND from a to that QP of b over the
# interface; a datagram to the GSI QP, RC to others
inject() {
	in_a /usr/bin/python3 - "$here" "$1" "$2" "$(in_b cat "/sys/class/net/$IF_B/address")" \
		"${3:-$IP_A}" "${4:-$IP_B}" <<-'PY'
	import socket, struct, sys, zlib
	here, interface, qpn, mac, source, destination = sys.argv[1:]
	sys.dont_write_bytecode = True
	sys.path.insert(0, here)
	import wire
	gsi = struct.pack('>II', 0x80010000, 1) + bytes(256)
	body = struct.pack('>BBHII', 0x64 if qpn == '1' else 4, 0, 0xffff, int(qpn), 0x80123456) + \
	       (gsi if qpn == '1' else bytes(8))
	udp = struct.pack('>HHHH', 50000, wire.ROCE, 8 + len(body) + 4, 0)
	if ':' in source:
	    ip = struct.pack('>IHBB', 6 << 28, len(udp) + len(body) + 4, 17, 64) + \
	         socket.inet_pton(socket.AF_INET6, source) + \
	         socket.inet_pton(socket.AF_INET6, destination)
	else:
	    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp) + len(body) + 4, 0, 0x4000,
	                     64, 17, 0, socket.inet_aton(source), socket.inet_aton(destination))
	    ip = ip[:10] + struct.pack('>H', 0xffff ^ wire.ones_sum(ip)) + ip[12:]
	covered = wire.headers_for_icrc(ip, udp) + body[:4] + b'\xff' + body[5:]
	s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
	s.bind((interface, 0))
	s.send(bytes.fromhex(mac.replace(':', '')) + s.getsockname()[4] +
	       (b'\x86\xdd' if ':' in source else b'\x08\x00') + ip + udp + body +
	       struct.pack('<I', zlib.crc32(covered)))
	PY
}

# rises NAME COUNTER INTERFACE QPN [SOURCE DESTINATION]: a packet raises the counter
rises() {
	local before

	before=$(counter "$DEV_B" "$2")
	inject "${@:3}" || diag "not injected"
	more() { [ "$(counter "$DEV_B" "$2")" -gt "$before" ]; }
	if wait_for 10 more "$@"; then
		ok "$1"
	else
		not_ok "$1"
		diag "$2 stays at $before"
	fi
}

# policy add|delete SOURCE: for packets that b receives from there
policy() {
	local to=$IP_B

	[[ $2 != *:* ]] || to=$IP6_B
	in_b ip xfrm policy "$1" dir in src "$2" dst "$to" proto udp dport 4791 "${@:3}"
}

# refused NAME SOURCE COMMAND...: it works, but not while the policy requires IPsec
refused() {
	local before name=$1 source=$2

	shift 2
	before=$(counter "$DEV_B" rx_policy_drops)
	policy add "$source" tmpl proto esp mode transport level required
	run_fail "$name does not work without IPsec where that is required" "$@"
	expect_that "... and its packets are counted" \
		"$(counter "$DEV_B" rx_policy_drops) > $before"
	policy delete "$source"
	run_ok "... and works without the policy" "$@"
}

# Routing rules know the user of a process, as with a socket.
as_nobody() { in_a setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
# UC: a sender does not wait for answers to packets without a route. IPv4 takes the
# destination for on-link where the lookup names a netdev and a rule refuses it, as for a
# socket that is bound to a netdev.
if in_a ip -6 rule add pref 100 uidrange 65534-65534 prohibit; then
	before=$(counter "$DEV_A" tx_noroute)
	if as_nobody timeout -k 1 5 verbs_verify -n 1 -c uc -f 6 >/dev/null 2>&1; then
		not_ok "a rule stops a user's packets"
	else
		ok "a rule stops a user's packets"
	fi
	expect_that "... and they have no route" "$(counter "$DEV_A" tx_noroute) > $before"
	run_ok "... but not those of others" in_a verbs_verify -n 20 -f 6
	in_a ip -6 rule del pref 100
	run_ok "without the rule the user's packets leave" as_nobody verbs_verify -n 20
else
	skip "a rule stops a user's packets" "this kernel has no routing rules"
fi

modprobe 8021q || skip_all "no 802.1Q"
for end in a b; do
	lib_in $end sh -ec "ip link add link v$end name v$end.100 type vlan id 100
		ip link set v$end.100 up" || bail "no VLAN interfaces"
done
start a "$lib_tmp/traffic" "verbs_verify -T 100000 -m 1024 -q 1 -s 64 -w 100 -p 5"
traffic=$started
wait_for 30 grep -q running "$lib_tmp/traffic" || bail "no traffic"
qpn=$(rdma resource show qp link "$DEV_B" | sed -n '/type RC/s/.*lqpn \([0-9]*\).*/\1/p' | head -1)
# a number that no QP has
no_qpn=$((qpn ^ 0x800000))

rises "a packet of a VLAN is not for a QP of the netdev below" rx_wrong_qp va.100 "$qpn"
rises "nor is a datagram of a VLAN for an address of the netdev below" rx_wrong_qp va.100 1
rises "nor is one over IPv6" rx_wrong_qp va.100 1 "$IP6_A" "$IP6_B"
rises "untagged, it comes in" rx_packets va 1
rises "over IPv6, too" rx_no_qp va "$no_qpn" "$IP6_A" "$IP6_B"
rises "but not with a source address of this host" rx_wrong_qp va "$no_qpn" "$IP6_B" "$IP6_B"
rises "untagged, the QP sees it" rx_packets va "$qpn"
kill -0 "$traffic" && alive=1 || alive=0
expect "the connection goes on" $alive 1
stop "$traffic"

if policy add "$IP_A" tmpl proto esp mode transport level required; then
	rises "IPsec is required: a plain packet is refused" rx_policy_drops va "$no_qpn"
	policy delete "$IP_A"
	rises "without the policy it comes in" rx_no_qp va "$no_qpn"
	refused "a connection" "$IP_A" in_a verbs_verify -n 10
	refused "a connection over IPv6" "$IP6_A" in_a verbs_verify -n 10 -f 6
	# the kernel excepts lo, unless it is told otherwise
	in_b sysctl -qw net.ipv4.conf.lo.disable_policy=0
	refused "a connection of a device with itself" "$IP_B" \
		in_b env CAIRN_A="$DEV_B" CAIRN_B="$DEV_B" verbs_verify -n 10
else
	skip "IPsec policy" "no xfrm"
fi
in_a ip link del va.100
in_b ip link del vb.100
