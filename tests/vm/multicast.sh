#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 300
# kernels: 6.1 6.12
# boot: shared
#
# Multicast: groups of verbs over both IP versions, and those of rdma_cm (which has
# them for RoCE v2 over IPv4 only). Shares of users in them and in other objects.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

points mcast
points mcast 6
taken=$(kmod cairn_taken)
[ ! -e "$taken" ] || insmod "$taken" || bail "no module that counts objects"
points shares
[ ! -e "$taken" ] || rmmod cairn_taken

# its output says when it has joined, if it is not buffered
PAIR_READY='joined dgid' pair_run "mckey: a member sends" \
	"stdbuf -oL mckey -m 239.7.7.7 -b $IP_B" \
	"mckey -m 239.7.7.7 -b $IP_A -s"
PAIR_READY='joined dgid' pair_run "mckey: sends without being a member" \
	"stdbuf -oL mckey -m 239.7.7.8 -b $IP_B" \
	"mckey -m 239.7.7.8 -b $IP_A -s -o"
