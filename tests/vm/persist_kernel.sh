#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 120
# kernels: 6.1 6.12
#
# WRITE_PERSIST between two queue pairs of the kernel: the calls of
# include/rdma/cairn.h, both completion modes, host flush, tokens, refusals.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

consumer() {
	insmod "$(kmod cairn_kapi_test)" a="$DEV_A" b="$DEV_B"
	dmesg | sed -n 's/.*cairn_kapi: //p'
	rmmod cairn_kapi_test
}

bad=$(counter "$DEV_B" persist_bad_tokens)
points consumer
expect_that "tokens that the kernel's consumer may not use are counted" \
	"$(counter "$DEV_B" persist_bad_tokens) == $bad + 5"
