#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 400
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# The features of Documentation/features.rst, each tried in the shortest way. Other tests try
# them thoroughly. The same command gives the columns of rdma_rxe, a point that fails is a "no":
# CAIRN_LINK_TYPE=rxe scripts/vm/run --kernel NAME -- tests/vm/features.sh

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((150 * ${CAIRN_TIMEOUT_SCALE:-1}))
type=${CAIRN_LINK_TYPE:-cairn}
netdevs=$(dirname "$0")/netdevs.py

modprobe -q udmabuf
points features

# --- sysfs ------------------------------------------------------------------------

sysfs=/sys/class/infiniband/$DEV_A
run_ok "standard counters of the port" cat "$sysfs/ports/1/counters/port_xmit_data"
expect "the netdev in sysfs" "$(cat "$sysfs/parent" 2>/dev/null)" "$IF_A"

# --- links: for cairn conform_links.sh tries them, with traffic -------------------
[ "$type" != cairn ] || exit 0

# link KIND NETDEV [NAMESPACE]
link() {
	run_ok "a link on $1" ip netns exec "${3:-features}" \
		rdma link add features type "$type" netdev "$2" && rdma link delete features
}

# link_on KIND MODULE COMMAND...: on the netdev over, which COMMAND makes
link_on() {
	local kind=$1

	if ! modprobe -q "$2" || ! ip netns exec features sh -ec "$3" >/dev/null 2>&1; then
		skip "a link on $kind" "not in this kernel"
		return
	fi
	ip -n features link set over up
	link "$kind" over
	ip -n features link delete over
}

ip netns add features || bail "no namespace"
ip -n features link set lo up
ip -n features link add low type veth peer name peer && ip -n features link set low up ||
	bail "no veth"
link "a veth of another namespace" low
link lo lo
link_on dummy dummy "ip link add over type dummy"
link_on macvlan macvlan "ip link add link low name over type macvlan mode bridge"
link_on ipvlan ipvlan "ip link add link low name over type ipvlan mode l2"
link_on vxlan vxlan "ip link add over type vxlan id 7 dstport 4789 dev low"
link_on GRE ip_gre "ip link add over type gre local 10.79.0.1 remote 10.79.0.2"
link_on "an IP tunnel" ipip "ip link add over type ipip local 10.79.0.1 remote 10.79.0.2"
link_on "a bridge" bridge "ip link add over type bridge"
link_on "a bond" bonding "ip link add over type bond mode active-backup"
link_on "a team" team "ip link add over type team; $netdevs team over"
link_on tun tun "ip tuntap add mode tun over"
link_on wireguard wireguard "ip link add over type wireguard"
link_on netkit netkit "ip link add over type netkit"
if modprobe -q vrf && ip -n features link add red type vrf table 10; then
	ip -n features link set low master red
	link "a port of a VRF" low
fi
ip netns delete features
modprobe -r ip_gre ipip
