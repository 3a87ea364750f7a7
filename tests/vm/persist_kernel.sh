#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 120
# kernels: 6.1 6.12
# nvdimm: 256M
#
# WRITE_PERSIST between two queue pairs of the kernel: the calls of
# include/rdma/cairn.h, both completion modes, host flush, tokens, refusals, NIC flush
# into persistent memory.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# user-mode Linux writes nothing back: the other tests run there
pmem=0
if ! usermode; then
	need_devdax
	pmem=$(cat /sys/bus/dax/devices/dax0.0/resource) || bail "the devdax has no address"
fi

consumer() {
	echo "cairn_kapi begins" >/dev/kmsg
	insmod "$(kmod cairn_kapi_test)" a="$DEV_A" b="$DEV_B" pmem="$pmem"
	dmesg | awk '/cairn_kapi begins/ { n = 0 }
		sub(/.*cairn_kapi: /, "") { line[n++] = $0 }
		END { for (i = 0; i < n; i++) print line[i] }'
	rmmod cairn_kapi_test
}

bad=$(counter "$DEV_B" persist_bad_tokens)
points consumer
expect_that "tokens that the kernel's consumer may not use are counted" \
	"$(counter "$DEV_B" persist_bad_tokens) == $bad + 5"
