#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 540
# kernels: 6.1 6.12
# full: 6.12 (6.1: sizes, modes, connections, cmtime, rcopy, rsocket preloaded)
# boot: shared
#
# Connections made by rdma_cm, and sockets over RDMA.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"


for f in 4 6; do
	rping_pair $f -C 20
	if full; then
		rping_pair $f -C 10 -v -S 4000
		rping_pair $f -C 5 -S 65000
		rping_pair $f -C 5 -q
	fi
	cm "ucmatose -b @ -C 20 -S 2000" "ucmatose -s @ -C 20 -S 2000" $f
	cm "udaddy -b @ -C 20 -S 500" "udaddy -s @ -C 20 -S 500" $f
	cm "rstream -b @ -C 50 -S 10000 -T v" "rstream -s @ -C 50 -S 10000 -T v" $f
done
full || exit 0
rping_pair 4 -C 3 -S 30
cm "ucmatose -b @ -c 10 -C 5" "ucmatose -s @ -c 10 -C 5"
cm "udaddy -b @ -c 5 -C 5" "udaddy -s @ -c 5 -C 5"
for mode in b n; do
	cm "rstream -b @ -C 20 -S 3000 -T $mode" "rstream -s @ -C 20 -S 3000 -T $mode"
done
cm "riostream -b @ -C 20 -S 10000 -T v" "riostream -s @ -C 20 -S 10000 -T v"

cm "rdma_server -s @" "rdma_client -s @"
cm "rdma_xserver -c r" "rdma_xclient -s @ -c r"

# its server never ends
connections=20
[ "${CAIRN_SOAK:-0}" != 1 ] || connections=1000
start b "$lib_tmp/cmtime" "cmtime -b $IP_B -c $connections"
server=$started
wait_for 20 cm_listens || diag "cmtime does not listen"
run_ok "cmtime: $connections connections" in_a cmtime -s "$IP_B" -c $connections
stop "$server"

# a file through the library's own copy program
# shellcheck disable=SC2154
file=$lib_tmp/file
head -c 300000 /dev/urandom >"$file"
start b "$lib_tmp/rcopy" "rcopy"
server=$started
if wait_for 20 cm_listens; then
	run_ok "rcopy sends a file" in_a rcopy "$file" "$IP_B:$lib_tmp/copy"
	run_ok "rcopy's file is the same" cmp "$file" "$lib_tmp/copy"
else
	not_ok "rcopy listens"
	lib_show "$lib_tmp/rcopy"
fi
stop "$server"

# programs without RDMA: sockets by preloading rsocket
preload=/usr/lib/$(uname -m)-linux-gnu/rsocket/librspreload.so
echo="LD_PRELOAD=$preload /usr/bin/python3 $(dirname "$0")/echo.py"
PAIR_READY=ready cm "$echo server @ 7471 200000" "$echo client @ 7471 200000"
