#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 540
# kernels: 6.1 6.12
# once: 6.12
# full: 6.12 (6.1: 200 connections)
# boot: shared
#
# A thousand connections, each with verified data, and the kernel's memory for each.
# CAIRN_SOAK=1: 16384 queue pairs in one process.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((170 * ${CAIRN_TIMEOUT_SCALE:-1}))
echo 3 >/proc/sys/vm/drop_caches
pairs=1000
full || pairs=200
if [ "${CAIRN_SOAK:-0}" = 1 ]; then
	pairs=8192
	RUN_TIMEOUT=3600
fi
case ${KVER:-} in uml | kcsan | rt) export CAIRN_DEBUG_KERNEL=1 ;; esac
points manyqps $pairs
