#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: interop
# nvdimm: 256M
# timeout: 120
# kernels: 6.1 6.12
# boot: shared
#
# The guard of the RoCE port in a namespace that also has rdma_rxe: the packets of rdma_rxe
# leave by sockets of the kernel, and pass. A user's datagrams do not. It uses no NVDIMM, but
# shares a boot with tests that do.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

# shellcheck disable=SC2119
find_gids
ip link add gd type dummy && ip link set gd up
run_ok "a device beside rdma_rxe" rdma link add cairn_g type cairn netdev gd
refused() { cat /sys/class/infiniband/cairn_g/ports/1/hw_counters/tx_spoofed; }
run_ok "RC" verbs_verify -n 100
run_ok "RC over IPv6" verbs_verify -f 6 -n 50
run_ok "UD" verbs_verify -c ud -n 50
expect "nothing was refused" "$(refused)" 0
# shellcheck disable=SC2016
run_fail "a user may not send" setpriv --reuid 65534 --regid 65534 --clear-groups \
	bash -c 'echo >"/dev/udp/$0/4791"' "$IP_B"
expect "... and is counted" "$(refused)" 1

# A datagram that is forwarded, and gets the address of a device by a masquerade.
modprobe -a nf_nat nft_masq nft_chain_nat 2>/dev/null
masquerade='table inet guard { chain post {
	type nat hook postrouting priority srcnat; oifname gd masquerade; }; }'
if nft "$masquerade" 2>/dev/null; then
	ip netns add g
	ip link add gv type veth peer name gw netns g
	ip link set gv up
	ip -n g link set gw up
	ip -n g addr add 10.79.1.2/24 dev gw
	ip -n g addr add fd79:1::2/64 dev gw nodad
	ip -n g route add default via 10.79.1.1
	ip -n g route add default via fd79:1::1
	forwarding=$(cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding)
	echo 1 >/proc/sys/net/ipv4/ip_forward
	echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
	# an IPv6 address does not survive a change of the VRF
	addresses() {
		ip addr replace 10.79.1.1/24 dev gv
		ip addr replace fd79:1::1/64 dev gv nodad
		ip addr replace 10.79.2.1/24 dev gd
		ip addr replace fd79:2::1/64 dev gd nodad
	}
	# forwarded NAME ADDRESS
	forwarded() {
		local before

		before=$(refused)
		# shellcheck disable=SC2016
		ip netns exec g bash -c 'echo >"/dev/udp/$0/4791"' "$2"
		grew() { [ "$(refused)" = $((before + 1)) ]; }
		run_ok "one that is forwarded is refused, $1" wait_for 10 grew
	}
	addresses
	forwarded IPv4 10.79.2.9
	forwarded IPv6 fd79:2::9
	if modprobe -q vrf && ip link add gr type vrf table 79; then
		ip link set gr up
		ip link set gv master gr
		ip link set gd master gr
		addresses
		forwarded "IPv4 in a VRF" 10.79.2.9
		forwarded "IPv6 in a VRF" fd79:2::9
		ip link delete gr
	else
		skip "in a VRF" "no VRF in this kernel"
	fi
	nft delete table inet guard
	echo "${forwarding%%$'\n'*}" >/proc/sys/net/ipv4/ip_forward
	echo "${forwarding##*$'\n'}" >/proc/sys/net/ipv6/conf/all/forwarding
	ip link delete gv
	ip netns del g
else
	skip "datagrams that are forwarded" "no nftables"
fi
rdma link delete cairn_g
ip link delete gd
