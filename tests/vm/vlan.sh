#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 360
# kernels: 6.1 6.12
# once: 6.1
# boot: shared
#
# GIDs of VLAN interfaces, and traffic over them.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

# vlan a|b INTERFACE HOST
vlan() {
	lib_in "$1" sh -ec "
		ip link add link $2 name $2.100 type vlan id 100
		echo 0 >/proc/sys/net/ipv6/conf/$2.100/accept_dad
		ip link set $2.100 up
		ip addr add 10.78.0.$3/24 dev $2.100
		ip addr add fd78::$3/64 dev $2.100 nodad"
}

modprobe 8021q || skip_all "no 802.1Q"
vlan a "$IF_A" 1 && vlan b "$IF_B" 2 || bail "no VLAN interfaces"

declare -A index_a index_b
for f in 4 6; do
	address=([4]=10.78.0. [6]=fd78::)
	if wait_for 20 gid_index "$DEV_A" "${address[$f]}1" &&
		wait_for 20 gid_index "$DEV_B" "${address[$f]}2"; then
		ok "IPv$f GIDs of the VLAN interfaces"
	else
		not_ok "IPv$f GIDs of the VLAN interfaces"
		continue
	fi
	index_a[$f]=$(gid_index "$DEV_A" "${address[$f]}1")
	index_b[$f]=$(gid_index "$DEV_B" "${address[$f]}2")
done
expect "its netdev is the VLAN's" \
	"$(in_a cat "/sys/class/infiniband/$DEV_A/ports/1/gid_attrs/ndevs/${index_a[4]}")" "$IF_A.100"

# the packets that arrive at the far end with tag 100
# shellcheck disable=SC2154
start b "$lib_tmp/tagged" "tcpdump -n -c 20 -i $IF_B vlan 100 and udp port 4791"
tagged=$started
wait_for 20 grep -q 'listening on' "$lib_tmp/tagged"
for f in 4 6; do
	g=${index_a[$f]},${index_b[$f]}
	run_ok "RC over IPv$f on the VLAN" in_a verbs_verify -n 100 -g "$g"
	run_ok "UC over IPv$f on the VLAN" in_a verbs_verify -n 50 -c uc -g "$g"
	run_ok "UD over IPv$f on the VLAN" in_a verbs_verify -n 50 -c ud -g "$g"
done
if lib_wait $((20 * ${CAIRN_TIMEOUT_SCALE:-1})) "$tagged"; then
	ok "the packets carry the tag"
else
	not_ok "the packets carry the tag"
	lib_show "$lib_tmp/tagged"
fi
stop "$tagged"
run_ok "untagged traffic beside it" in_a verbs_verify -n 50
cm_over_vlan() {
	pair_run "$1" "rping -s -a $2 -C 10 -V" "rping -c -a $2 -C 10 -V"
}
cm_over_vlan "rping over IPv4 on the VLAN" 10.78.0.2
cm_over_vlan "rping over IPv6 on the VLAN" fd78::2

in_a ip link del "$IF_A.100"
in_b ip link del "$IF_B.100"
gone() { ! gid_index "$DEV_A" 10.78.0.1; }
if wait_for 10 gone; then
	ok "the GIDs are removed with the interface"
else
	not_ok "the GIDs are removed with the interface"
fi
run_ok "untagged traffic goes on" in_a verbs_verify -n 50
