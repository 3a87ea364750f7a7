#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 600
# kernels: 6.1 6.12
# boot: shared
#
# Programs written for hardware: fork, attributes and their limits.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((180 * ${CAIRN_TIMEOUT_SCALE:-1}))
points attributes
points forked
