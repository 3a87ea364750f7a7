#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# topology: pair
# timeout: 600
# kernels: 6.1 6.12
# once: 6.12
# boot: shared
#
# The statements of Documentation/conformance.rst that have programs of their own.

# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

RUN_TIMEOUT=$((120 * ${CAIRN_TIMEOUT_SCALE:-1}))
for topic in device states requests completions datagrams memory extended cm; do
	points conform_$topic
done
expect "no malformed packet" "$(counter_of_both rx_malformed)" 0
