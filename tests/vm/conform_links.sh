#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 720
# kernels: 6.1 6.12
# once: 6.12
# full: 6.12 (rping)
# boot: own
#
# Links on every kind of netdev that carries IP packets, and traffic over them.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

netdevs=$(dirname "$0")/netdevs.py

# ends NAME COMMAND: in both namespaces; @ stands for "a" and "b", # for 1 and 2, % for
# the number of the other end
ends() {
	local name=$1 command end

	shift
	for end in "a 1 2" "b 2 1"; do
		# shellcheck disable=SC2086
		set -- "$1" $end
		command=${1//@/$2}
		command=${command//#/$3}
		lib_in "$2" sh -ec "${command//%/$4}" && continue
		not_ok "$name: netdevs"
		return 1
	done
}

links() {
	in_a rdma link add "$DEV_A" type cairn netdev "$1" &&
		in_b rdma link add "$DEV_B" type cairn netdev "$2" &&
		wait_for 20 port_is "$DEV_A" ACTIVE && wait_for 20 port_is "$DEV_B" ACTIVE
}

unlink_both() {
	rdma link delete "$DEV_A" && rdma link delete "$DEV_B"
}

# no_cm KIND: cma_validate_port() of ib_core finds GIDs of RoCE at Ethernet netdevs only
no_cm() {
	run_ok "$1: rdma_cm gets ENODEV" in_a sh -c \
		"rping -s -a 10.78.0.1 -C 1 2>&1 | grep 'rdma_bind_addr: No such device'"
}

# try KIND NETDEV_A NETDEV_B [cm|no_cm]: both get an address and a link
try() {
	local kind=$1 cm=${4:-}

	in_a ip addr add 10.78.0.1/24 dev "$2"
	in_b ip addr add 10.78.0.2/24 dev "$3"
	in_a ip link set "$2" up
	in_b ip link set "$3" up
	if ! links "$2" "$3"; then
		not_ok "$kind: links"
	elif ! wait_for 20 gid_index "$DEV_A" 10.78.0.1 ||
		! wait_for 20 gid_index "$DEV_B" 10.78.0.2; then
		not_ok "$kind: GIDs"
	else
		# a busy machine takes long for the first ARP, longer than the tools try
		wait_for 20 in_a ping -c 1 -W 1 10.78.0.2
		# one process is both ends: to start programs takes longest in emulation
		run_ok "$kind: messages" in_a verbs_verify -n 50
		run_ok "$kind: datagrams" in_a verbs_verify -n 30 -c ud
		[ "$cm" != no_cm ] || no_cm "$kind"
		[ "$cm" != cm ] || ! full || PAIR_CM=1 pair_run "$kind: rping" "rping -s -a 10.78.0.2 -V -C 5" \
			"rping -c -a 10.78.0.2 -V -C 5"
	fi
	unlink_both
}

# beside_ethernet KIND NETDEV: an Ethernet device of namespace a reaches NETDEV, which has
# its address from try(). ib_core asks for a MAC address there.
beside_ethernet() {
	# this kernel has no hook for ARP, in which cairn would answer
	[ "${KVER:-}" != uml ] || return 0
	in_a ip addr add 10.78.0.3/24 dev ta
	if in_a rdma link add "$DEV_A" type cairn netdev ta &&
		in_a rdma link add "$DEV_B" type cairn netdev "$2" &&
		wait_for 20 port_is "$DEV_A" ACTIVE && wait_for 20 port_is "$DEV_B" ACTIVE; then
		run_ok "$1: an Ethernet device of the same host" in_a verbs_verify -n 50
	else
		not_ok "$1: links of the same host"
	fi
	unlink_both
	in_a ip addr del 10.78.0.3/24 dev ta
}

# with_itself KIND NETDEV [cm]: one device is both ends
with_itself() {
	local server

	if ! in_a rdma link add "$DEV_A" type cairn netdev "$2" ||
		! wait_for 20 port_is "$DEV_A" ACTIVE; then
		not_ok "$1: link"
		return
	fi
	ok "$1: link"
	run_ok "$1: traffic with itself" in_a env CAIRN_B="$DEV_A" verbs_verify -n 100
	run_ok "$1: datagrams to itself" in_a env CAIRN_B="$DEV_A" verbs_verify -n 50 -c ud
	run_ok "$1: ... over IPv6" in_a env CAIRN_B="$DEV_A" verbs_verify -n 50 -f 6
	if [ -n "${3:-}" ]; then
		# shellcheck disable=SC2154
		start a "$lib_tmp/rping" "rping -s -a 10.78.0.1 -V -C 5"
		server=$started
		wait_for 20 cm_listens
		run_ok "$1: rping to itself" in_a rping -c -a 10.78.0.1 -V -C 5
		stop "$server"
	fi
	rdma link delete "$DEV_A"
}

# A device has the addresses of netdevs above its own, too: the lower ones get none.
unlink_both || bail "no devices"
ip link add ta type veth peer name tb && ip link set ta netns a && ip link set tb netns b ||
	bail "no second pair of veths"
ends veth "ip link set t@ up"
# only the netdev that has an address answers ARP for it, not the one below it
ends veth "echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
	echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce"

in_a ip link set lo up
with_itself lo lo
if modprobe dummy; then
	in_a sh -ec 'ip link add dm type dummy; ip link set dm up
		ip addr add 10.78.0.1/24 dev dm; ip addr add fd78::1/64 dev dm nodad'
	with_itself dummy dm cm
	in_a ip link delete dm
else
	skip "dummy" "no module"
fi

if modprobe macvlan; then
	ends macvlan "ip link add link v@ name up@ type macvlan mode bridge" &&
		try macvlan upa upb cm
	ends macvlan "ip link delete up@"
fi
if modprobe ipvlan; then
	ends ipvlan "ip link add link v@ name up@ type ipvlan mode l2" && try ipvlan upa upb cm
	ends ipvlan "ip link delete up@"
fi
if modprobe vxlan; then
	ends vxlan "ip link add up@ type vxlan id 7 local 10.77.0.# remote 10.77.0.% \
		dstport 4789 dev v@" && try vxlan upa upb cm
	ends vxlan "ip link delete up@"
fi
if modprobe ip_gre; then
	ends gre "ip link add up@ type gre local 10.77.0.# remote 10.77.0.%" && try gre upa upb no_cm
	ends gre "ip link delete up@"
fi
if modprobe ipip; then
	ends ipip "ip link add up@ type ipip local 10.77.0.# remote 10.77.0.%" && try ipip upa upb no_cm
	ends ipip "ip link delete up@"
fi
if modprobe bridge; then
	ends bridge "ip link add up@ type bridge; ip link set t@ master up@" &&
		try bridge upa upb cm
	ends bridge "ip link delete up@"
fi
if modprobe bonding; then
	ends bond "ip link add up@ type bond mode active-backup; ip link set t@ down
		ip link set t@ master up@" && try bond upa upb cm
	ends bond "ip link delete up@; ip link set t@ up"
fi
if modprobe -a team team_mode_roundrobin; then
	ends team "ip link add up@ type team; $netdevs team up@
		ip link set t@ down; ip link set t@ master up@" && try team upa upb cm
	ends team "ip link delete up@; ip link set t@ up"
fi
# a port of a VRF: rdma_cm looks into the main table only
if modprobe vrf; then
	ends vrf "ip link add up@ type vrf table 10; ip link set up@ up
		ip link set t@ master up@" && try "port of a VRF" ta tb
	# the receive hook sees the VRF, not the port
	in_a ip link set va master upa
	in_a rdma link add cairn_c type cairn netdev va
	in_a ip addr flush dev ta
	in_b ip addr flush dev tb
	try "port of a VRF, with a device on another port" ta tb
	rdma link delete cairn_c
	# that takes its IPv6 addresses away
	in_a ip link set va nomaster
	in_a ip -6 addr add "$IP6_A/64" dev va nodad
	ends vrf "ip addr flush dev t@; ip link delete up@"
fi
if ip -n a link add nka type netkit; then
	ip -n a link set nk0 netns b
	try netkit nka nk0 cm
	ip -n a link delete nka
else
	skip netkit "not in this kernel"
fi

# rdma_cm connects over a VXLAN that such a netdev carries
if modprobe tun; then
	# shellcheck disable=SC2154
	start a "$lib_tmp/tun" "$netdevs tun a/tna b/tnb"
	tun=$started
	if wait_for 20 grep -q ready "$lib_tmp/tun"; then
		try tun tna tnb no_cm
		if modprobe vxlan; then
			ends vxlan "ip addr flush dev tn@; ip addr add 10.79.0.#/24 dev tn@
				ip link add up@ type vxlan id 7 local 10.79.0.# \
				remote 10.79.0.% dstport 4789 dev tn@" &&
				try "VXLAN over tun" upa upb cm
			ends vxlan "ip link delete up@"
		fi
	else
		not_ok "tun: netdevs"
		lib_show "$lib_tmp/tun"
	fi
	stop "$tun"
else
	skip tun "no module"
fi
if modprobe wireguard; then
	if ip -n a link add upa type wireguard && ip -n b link add upb type wireguard &&
		in_a "$netdevs" wireguard upa own 10.77.0.2 &&
		in_b "$netdevs" wireguard upb other 10.77.0.1; then
		try wireguard upa upb no_cm
		beside_ethernet wireguard upa
	else
		not_ok "wireguard: netdevs"
	fi
	ends wireguard "ip link delete up@"
else
	skip wireguard "no module"
fi

# --- what is refused --------------------------------------------------------

# refused KIND NETDEV REASON: in a; the kernel log says why
refused() {
	run_fail "$1 is refused" in_a rdma link add "$DEV_A" type cairn netdev "$2"
	dmesg | grep -q "$2: cairn: $3" && ok "... and the kernel log says why" ||
		not_ok "... and the kernel log says why"
}

if modprobe 8021q; then
	ip -n a link add link va name va.7 type vlan id 7
	refused "a VLAN" va.7 "GIDs of a VLAN belong to the device of its parent, va: make the link there"
	ip -n a link delete va.7
fi
if modprobe vcan; then
	ip -n a link add can7 type vcan
	refused "CAN" can7 "no RoCE over netdevs of type 280: take an Ethernet netdev"
	ip -n a link delete can7
fi
ip -n a link delete ta
modprobe -r ip_gre ipip
links_again && ok "the devices of before" || not_ok "the devices of before"
