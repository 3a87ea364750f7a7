#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 180
# kernels: 6.1 6.12
#
# The rules of ib_verbs.h that storage drivers and file systems in the kernel rely on,
# one point for each.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

consumer() {
	insmod "$(kmod cairn_ulp_test)" a="$DEV_A" b="$DEV_B"
	dmesg | sed -n 's/.*cairn_ulp: //p'
	rmmod cairn_ulp_test
}

# one test takes the interface down
in_a sysctl -qw net.ipv6.conf.$IF_A.keep_addr_on_down=1
RUN_TIMEOUT=$((RUN_TIMEOUT * 3))
points consumer
