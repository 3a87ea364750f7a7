#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 540
# kernels: 6.1 6.12
# once: 6.12
# full: 6.12 (6.1: two sizes, two path MTUs)
# boot: shared
#
# libibverbs' own ping-pongs: transports, sizes, events, path MTUs, families.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

find_gids
for f in 4 6; do
	for kind in rc uc ud; do
		pingpong $kind $f -n 200 -s 1024 -e
	done
	full || continue
	pingpong rc $f -n 20 -s 1000000
	pingpong uc $f -n 20 -s 100000 -r 20
	pingpong ud $f -n 100 -s 4096
done
for mtu in $(full && echo 256 512 1024 2048 4096 || echo 256 4096); do
	pingpong rc 4 -n 30 -s 50000 -m $mtu
	pingpong uc 6 -n 30 -s 50000 -m $mtu -r 20
done
full || exit 0
# one byte more and less than a packet, and sizes within one packet
for size in 1 3 1023 1025 2049; do
	pingpong rc 4 -n 50 -s $size -m 1024
done
pingpong rc 4 -n 100 -s 4096 -N
pingpong rc 4 -n 100 -s 4096 -t
