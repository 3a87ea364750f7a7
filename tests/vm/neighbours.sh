#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: none
# timeout: 180
# kernels: 6.1 6.12
# boot: shared
#
# A process in one network namespace uses the device of another.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

exclusive() { rdma system set netns exclusive; }
shared() { rdma system set netns shared; }
no_spaces() { [ -z "$(ip netns list)" ] && exclusive; }

up() {
	ip netns add n1 && ip netns add n2 || return
	ip link add nv0 netns n1 type veth peer nv1 netns n2 || return
	ip -n n1 addr add 10.78.0.1/24 dev nv0
	ip -n n1 link set nv0 up && ip -n n2 link set nv1 up
	ip netns exec n1 rdma link add cairn_n type cairn netdev nv0
}

down() {
	rdma link delete cairn_n 2>/dev/null || ip netns exec n1 rdma link delete cairn_n
	ip netns del n1
	ip netns del n2
}

# user NAMESPACE ADDRESS
user() { ip netns exec "$1" gid_user cairn_n "$2" | tail -n 1; }
gone() { [ ! -e /sys/class/net/nv1 ] && shared; }

modprobe -a cairn macvlan
if wait_for 20 no_spaces; then
	up || bail "no device"
	expect "exclusive: its own namespace opens a device" "$(user n1 10.78.0.1)" "rtr 0 ah 0"
	expect "exclusive: another namespace cannot" "$(user n2 10.78.0.1)" "no device"
	# the netdev stays, and with it the address
	run_ok "the device is given to that namespace" \
		ip netns exec n1 rdma dev set cairn_n netns n2
	expect "... which opens it" "$(user n2 10.78.0.1)" "rtr 0 ah 0"
	expect "... and the first cannot" "$(user n1 10.78.0.1)" "no device"
	run_ok "... and back" ip netns exec n2 rdma dev set cairn_n netns n1
	expect "... where it is opened" "$(user n1 10.78.0.1)" "rtr 0 ah 0"
	down
	run_ok "back to shared" wait_for 20 gone
else
	skip "exclusive namespaces" "namespaces are left"
fi

# An address of a macvlan in n2 is a GID of the device in n1. The index of its netdev
# names another netdev in n1.
up || bail "no device"
ip -n n1 link add mc0 link nv0 type macvlan mode bridge
ip -n n1 link set mc0 netns n2
ip -n n2 addr add 10.78.0.2/24 dev mc0
ip -n n2 link set mc0 up
has_gid() { [[ $(user n2 10.78.0.2) == rtr* ]]; }
wait_for 10 has_gid
expect "a GID of another namespace's macvlan is of no use" "$(user n2 10.78.0.2)" "rtr 22 ah 22"
expect "the namespace's own is" "$(user n1 10.78.0.1)" "rtr 0 ah 0"
down
