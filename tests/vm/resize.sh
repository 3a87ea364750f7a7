#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 540
# kernels: 6.1 6.12
# boot: shared
#
# Resizing of queues, idle and under load.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

seconds=8
[ -z "${CAIRN_SOAK:-}" ] || seconds=120
RUN_TIMEOUT=$(((120 + seconds) * ${CAIRN_TIMEOUT_SCALE:-1}))
points resize $seconds
run_ok "the devices work as before" verbs_verify -n 100
