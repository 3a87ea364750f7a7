#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 900
# kernels: 6.1 6.12
# full: 6.12 (6.1: one size, few options)
# boot: shared
#
# perftest's programs, each with few iterations, as emulation is slow: they must work,
# their speed does not matter.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

find_gids
if ! full; then
	for op in send write read; do
		perftest ${op}_lat -s 64 -n 100
		perftest ${op}_bw -s 65536 -n 30
	done
	perftest atomic_bw -n 100
	perftest write_lat -c UC -s 64 -n 100
	perftest send_bw -c UD -s 2048 -n 100
	perftest send_bw -n 100 -e
	perftest write_bw -s 4096 -n 50 -R
	exit 0
fi

# Each operation with each option that makes it another one, and not all of their products.
# One program tries every size to 8 MiB; verbs_verify tries sizes of the other operations.
perftest write_bw -a -n 5
for op in send write read; do
	perftest ${op}_bw -s 1000001 -n 5
done
perftest send_bw -s 4096 -n 100 -q 4
perftest read_bw -s 4096 -n 100 -q 4
perftest write_bw -s 65536 -n 30 -b
perftest send_bw -s 65536 -n 30 -b
perftest write_lat -s 64 -n 100 --ipv6
perftest atomic_lat -n 200
perftest atomic_lat -n 200 -A CMP_AND_SWAP
perftest atomic_bw -n 200 -A CMP_AND_SWAP -q 4
perftest atomic_bw -n 100 -b
perftest send_lat -c UC -s 64 -n 200
perftest write_bw -c UC -s 4096 -n 200
perftest send_lat -s 256 -n 200 -I 256
perftest write_bw -s 512 -n 200 -I 512
perftest send_bw -s 20000 -n 50 -m 1024
perftest send_lat -c UD -s 64 -n 200
perftest send_bw -c UD -s 2048 -n 200
# a WRITE has no events
for op in send read atomic; do
	perftest ${op}_bw -n 200 -e
done
perftest send_lat -s 64 -n 100 -e
perftest read_lat -s 64 -n 100 -e
perftest write_bw -s 4096 -n 100 -R
perftest send_bw -s 4096 -n 100 -R -b
perftest send_bw -s 64 -n 400 -l 8 -q 2
perftest write_bw -s 64 -n 400 -Q 16 --use_old_post_send
