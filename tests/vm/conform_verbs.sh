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
insmod "$(kmod cairn_taken)" || bail "no module that counts objects"
points attributes
rmmod cairn_taken
points forked
