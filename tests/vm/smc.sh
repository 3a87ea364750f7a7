#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 90
# kernels: 6.1 6.12
# once: 6.12
#
# SMC-R, version 2: sockets of AF_SMC between the two ends. An unmodified TCP program
# uses them by preloading, as smc_run does.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

modprobe smc || skip_all "this kernel has no module smc"
smc=$(dirname "$0")/smc.py

run_ok "a common identity, and a network for each device" /usr/bin/python3 "$smc" \
	ueid CAIRN.TEST pnet NETA ib "$DEV_A" pnet NETB ib "$DEV_B"
run_ok "a's interface is in its network" in_a /usr/bin/python3 "$smc" pnet NETA eth $IF_A
run_ok "b's interface is in its network" in_b /usr/bin/python3 "$smc" pnet NETB eth $IF_B
# a slow handshake on a busy machine falls back to TCP: then try once more
bytes=0 size=500000
echo="LD_PRELOAD=$PROGS/smc_preload.so /usr/bin/python3 ${smc%/*}/echo.py"
before=$(counter "$DEV_B" rx_bytes)
for _ in 1 2 3 4 5 6 7 8; do
	PAIR_READY=ready pair_run "a TCP program over SMC" \
		"$echo server $IP_B 7472 $size" "$echo client $IP_B 7472 $size" || break
	bytes=$(($(counter "$DEV_B" rx_bytes) - before))
	[ $bytes -lt $size ] || break
done
expect_that "its bytes went through the device" "$bytes >= $size"
# SMC keeps its connections for ten minutes for the next socket
run_ok "the device is deleted while they are idle" rdma link delete "$DEV_A"
run_ok "... and the other one" rdma link delete "$DEV_B"
run_ok "the module unloads" wait_for 30 rmmod smc
in_a rdma link add "$DEV_A" type cairn netdev $IF_A
in_b rdma link add "$DEV_B" type cairn netdev $IF_B
wait_for 20 port_is "$DEV_A" ACTIVE && wait_for 20 port_is "$DEV_B" ACTIVE ||
	bail "the devices do not come back"
