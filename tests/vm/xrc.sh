#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 180
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# XRC: connections that reach the shared receive queues of several processes.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/tools.sh
. "$(dirname "$0")/tools.sh"

points xrc
find_gids
between 4 "ibv_xsrq_pingpong -d %d -g %g -n 100" ibv_xsrq_pingpong
cm "rdma_xserver -c x" "rdma_xclient -s @ -c x"
